/* server/http/route.c — matches paths to routes, and decodes segments and queries. */
#include "server/http/route.h"

#include "base/err.h"
#include "json/write.h"

/* Removes the next segment from a path that begins with a slash. */
static struct upp_str segment(struct upp_str *rest)
{
    size_t n = 1;
    while (n < rest->n && rest->p[n] != '/')
        n++;
    struct upp_str s = wb_str(rest->p + 1, n - 1);
    *rest = wb_str(rest->p + n, rest->n - n);
    return s;
}

static bool matches(struct upp_str pattern, struct upp_str path, struct upp_str params[SV_PARAMS])
{
    size_t n = 0;
    while (pattern.n && path.n) {
        struct upp_str want = segment(&pattern), got = segment(&path);
        if (want.n && want.p[0] == '{') {
            if (!got.n || n == SV_PARAMS)
                return false;
            params[n++] = got;
        } else if (!wb_str_eq(want, got))
            return false;
    }
    return !pattern.n && !path.n;
}

const struct sv_door *sv_door_of(const struct sv_door *const *doors, struct upp_str path)
{
    const struct sv_door *best = NULL;
    size_t length = 0;
    for (; *doors; doors++) {
        struct upp_str prefix = wb_cstr((*doors)->prefix);
        if (prefix.n > length && wb_str_starts(path, prefix)) {
            best = *doors;
            length = prefix.n;
        }
    }
    return best;
}

/* Takes "/agents/NAME" off a path that goes on after it. */
static bool take_agent(struct upp_str *path, struct upp_str *agent)
{
    struct upp_str rest = *path;
    if (!wb_str_starts(rest, UPP_STR("/agents/")))
        return false;
    (void)segment(&rest);
    *agent = segment(&rest);
    if (!agent->n || !rest.n)
        return false;
    *path = rest;
    return true;
}

void sv_route_find(const struct sv_door *const *doors, uint8_t method, struct upp_str path, struct sv_match *ret)
{
    struct upp_str agent = {NULL, 0};
    bool below = take_agent(&path, &agent);
    *ret = (struct sv_match){.status = 404, .door = sv_door_of(doors, path)};
    if (!path.n || path.p[0] != '/')
        return;
    for (; *doors; doors++)
        for (size_t i = 0; i < (*doors)->n_routes && (!below || (*doors)->agents); i++) {
            const struct sv_route *r = &(*doors)->routes[i];
            struct upp_str params[SV_PARAMS] = {{NULL, 0}};
            if (!matches(wb_cstr(r->pattern), path, params))
                continue;
            uint8_t methods = r->methods | (r->methods & SV_GET ? SV_HEAD : 0);
            if (methods & method) {
                *ret =
                    (struct sv_match){.route = r, .door = *doors, .agent = below ? agent : (struct upp_str){NULL, 0}};
                memcpy(ret->params, params, sizeof params);
                return;
            }
            ret->status = 405;
            ret->door = *doors;
            ret->allow |= methods;
        }
}

struct upp_str sv_route_allow(uint8_t methods, char out[64])
{
    size_t n = 0;
    for (unsigned m = SV_GET; m < SV_OTHER; m <<= 1) {
        if (!(methods & m))
            continue;
        struct upp_str name = wb_cstr(sv_method_name((uint8_t)m));
        if (n) {
            memcpy(out + n, ", ", 2);
            n += 2;
        }
        memcpy(out + n, name.p, name.n); /* all of them together fit */
        n += name.n;
    }
    return wb_str(out, n);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sv_decode(struct wb_arena *a, struct upp_str s, bool plus, struct upp_str *ret, struct upp_err *err)
{
    char *p = wb_arena_alloc(a, s.n + 1, 1);
    if (!p)
        return wb_arena_check(a, err);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int high = s.n - i > 2 ? hex(s.p[i + 1]) : -1, low = s.n - i > 2 ? hex(s.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return upp_fail(err, UPP_EINVALID, "a %% without two hex digits in '%.*s'", UPP_FMT(s));
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus)
            c = ' ';
        if (!c)
            return upp_fail(err, UPP_EINVALID, "a NUL in '%.*s'", UPP_FMT(s));
        p[n++] = c;
    }
    p[n] = 0;
    *ret = wb_str(p, n);
    return 0;
}

/* A name that ends with [ stands for all with a key after it. */
static bool is_queried(const struct sv_exchange *x, struct upp_str name)
{
    for (size_t i = 0; i < x->n_queried; i++) {
        struct upp_str known = x->queried[i];
        if (wb_str_eq(known, name) || (known.n && known.p[known.n - 1] == '[' && wb_str_starts(name, known)))
            return true;
    }
    return false;
}

/* Names that are no plain words are not repeated in a header. */
static struct upp_str shown_name(struct upp_str name)
{
    bool plain = name.n > 0 && name.n <= 64;
    for (size_t i = 0; plain && i < name.n; i++)
        plain = (name.p[i] >= 'a' && name.p[i] <= 'z') || (name.p[i] >= 'A' && name.p[i] <= 'Z') ||
                (name.p[i] >= '0' && name.p[i] <= '9') || name.p[i] == '_' || name.p[i] == '-' || name.p[i] == '[' ||
                name.p[i] == ']';
    return plain ? name : UPP_STR("?");
}

void sv_query_report(struct sv_exchange *x)
{
    struct upp_str rest = x->request->query, pair, key;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2048);
    if (!rest.p || x->n_queried == SV_QUERIED)
        return;
    while (wb_str_split(&rest, '&', &pair)) {
        size_t at = wb_str_find(pair, UPP_STR("="), 0);
        if (sv_decode(&x->arena, wb_str_sub(pair, 0, at), true, &key, NULL) < 0 || !key.n || is_queried(x, key))
            continue;
        wb_buf_addf(&out, "%s%.*s", out.n ? ", " : "", UPP_FMT(shown_name(key)));
    }
    if (out.n && !out.failed)
        sv_reply_header(&x->reply, "weft-ignored", wb_buf_str(&out));
}

int sv_query(struct sv_exchange *x, struct upp_str name, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str rest = x->request->query, pair, key, value = {NULL, 0};
    int r, found = 0;
    if (!rest.p)
        return 0;
    if (!is_queried(x, name) && x->n_queried < SV_QUERIED)
        x->queried[x->n_queried++] = name;
    while (wb_str_split(&rest, '&', &pair)) {
        size_t at = wb_str_find(pair, UPP_STR("="), 0);
        r = sv_decode(&x->arena, wb_str_sub(pair, 0, at), true, &key, err);
        if (r < 0)
            return r;
        if (!wb_str_eq(key, name))
            continue;
        if (found++)
            return upp_fail(err, UPP_EINVALID, "'%.*s' is given twice", UPP_FMT(name));
        r = sv_decode(&x->arena, at == SIZE_MAX ? UPP_STR("") : wb_str_sub(pair, at + 1, SIZE_MAX), true, &value, err);
        if (r < 0)
            return r;
    }
    if (found)
        *ret = value;
    return found;
}

/* Decodes a parameter, if it is one of NAME[KEY]. 1; 0: it has another name. */
static int read_pair(struct sv_exchange *x, struct upp_str text, struct upp_str name, struct sv_pair *ret,
                     struct upp_err *err)
{
    size_t at = wb_str_find(text, UPP_STR("="), 0);
    struct upp_str key;
    int r = sv_decode(&x->arena, wb_str_sub(text, 0, at), true, &key, err);
    if (r < 0)
        return r;
    if (!wb_str_starts(key, name) || key.n == name.n || key.p[key.n - 1] != ']')
        return 0;
    ret->key = wb_str_sub(key, name.n, key.n - name.n - 1);
    r = sv_decode(&x->arena, at == SIZE_MAX ? UPP_STR("") : wb_str_sub(text, at + 1, SIZE_MAX), true, &ret->value, err);
    return r < 0 ? r : 1;
}

int sv_query_object(struct sv_exchange *x, const char *name, struct sv_pair *ret, size_t max, struct upp_err *err)
{
    struct upp_str rest = x->request->query, text;
    struct sv_pair pair;
    size_t n = 0;
    if (x->n_queried < SV_QUERIED)
        x->queried[x->n_queried++] = wb_cstr(name);
    while (rest.p && wb_str_split(&rest, '&', &text)) {
        int r = read_pair(x, text, wb_cstr(name), &pair, err);
        if (r < 0)
            return r;
        if (r == 0)
            continue;
        if (n == max)
            return upp_fail(err, UPP_EINVALID, "at most %zu parameters '%s...]'", max, name);
        for (size_t i = 0; i < n; i++)
            if (wb_str_eq(ret[i].key, pair.key))
                return upp_fail(err, UPP_EINVALID, "'%s%.*s]' is given twice", name, UPP_FMT(pair.key));
        ret[n++] = pair;
    }
    return (int)n;
}

int sv_finish(struct sv_exchange *x, struct wj_writer *w)
{
    x->reply.status = 200;
    return wj_writer_check(w);
}
