/* upp/providers/adapter_write.c — for adapters: addresses, headers, and the pieces that every request is made of. */
#include "base/buf.h"
#include "base/str.h"
#include "upp/providers/adapter.h"

/* How many bytes at the beginning of `path`, whole segments, `base` ends in already. */
static size_t overlap(struct upp_str base, struct upp_str path)
{
    for (size_t n = path.n; n > 0; n--)
        if ((n == path.n || path.p[n] == '/') && wb_str_ends(base, wb_str(path.p, n)))
            return n;
    return 0;
}

struct upp_str upp__endpoint(struct wb_arena *a, struct upp_str base_url, struct upp_str path)
{
    size_t mark = wb_str_find(base_url, UPP_STR("?"), 0);
    struct upp_str query = mark == SIZE_MAX ? UPP_STR("") : wb_str_sub(base_url, mark, SIZE_MAX);
    struct upp_str base = wb_str_sub(base_url, 0, mark);
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    struct upp_str rest = wb_str_sub(path, overlap(base, path), SIZE_MAX);
    return wb_arena_printf(a, "%.*s%.*s%.*s", UPP_FMT(base), UPP_FMT(rest), UPP_FMT(query));
}

void upp__header(struct upp__outgoing *out, const char *name, struct upp_str value)
{
    if (out->n_headers < UPP__HEADERS)
        out->headers[out->n_headers++] = (struct upp_header){wb_cstr(name), value};
    else
        out->body.failed = -UPP_ELIMIT;
}

static void put_bearer(struct upp__outgoing *out, struct upp_str key)
{
    static const struct upp_str word = UPP_STR_INIT("Bearer ");
    size_t n = word.n + key.n;
    char *p = wb_arena_alloc(out->arena, n, 1);
    if (!p)
        return;
    memcpy(p, word.p, word.n);
    memcpy(p + word.n, key.p, key.n);
    out->bearer = p;
    out->n_bearer = n;
    upp__header(out, "authorization", wb_str(p, n));
}

int upp__put_key(struct upp__outgoing *out, const struct upp__vendor *v, struct upp_str key, const char *own,
                 const char *other, struct upp_err *err)
{
    const char *way = own;
    if (v->auth.n && !wb_str_eq(v->auth, wb_cstr(own))) {
        if (!other)
            return upp_fail(err, UPP_EINVALID, "auth '%.*s': there is '%s'", UPP_FMT(v->auth), own);
        if (!wb_str_eq(v->auth, wb_cstr(other)))
            return upp_fail(err, UPP_EINVALID, "auth '%.*s': there are '%s' and '%s'", UPP_FMT(v->auth), own, other);
        way = other;
    }
    if (key.p && !strcmp(way, "bearer"))
        put_bearer(out, key);
    else if (key.p)
        upp__header(out, way, key);
    return 0;
}

void upp__write_text(struct wj_writer *w, struct upp_str s)
{
    wj_write_str(w, s.p ? s : UPP_STR(""));
}

static yyjson_val *read_json(struct wj_writer *w, struct wb_arena *a, struct upp_str json, const char *what)
{
    struct upp_err why = {0};
    yyjson_val *v = NULL;
    int r = wj_read(a, json, NULL, &v, &why);
    if (r < 0) {
        upp_fail(w->err, (enum upp_code) - r, "%s: %s", what, why.msg);
        wj_writer_fail(w, r);
        return NULL;
    }
    return v;
}

void upp__write_json(struct wj_writer *w, struct wb_arena *a, struct upp_str json)
{
    yyjson_val *v = read_json(w, a, json, "JSON in the request");
    if (v)
        wj_write_value(w, v);
}

/* Text that may be JSON. Where there is no memory to see it the arena has failed, and with it the request: else
 * something different would go out. */
static yyjson_val *look(struct wb_arena *a, struct upp_str text)
{
    static const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = UPP__JSON};
    yyjson_val *v = NULL;
    int r = wj_read(a, text, &opts, &v, NULL);
    if (r == -UPP_ENOMEM && !a->failed)
        a->failed = r;
    return r < 0 ? NULL : v;
}

void upp__write_arguments(struct wj_writer *w, struct wb_arena *a, struct upp_str arguments)
{
    yyjson_val *v = wb_str_trim(arguments).n ? look(a, arguments) : NULL;
    if (!wb_str_trim(arguments).n) {
        wj_write_open(w, '{');
        wj_write_close(w, '}');
    } else if (yyjson_is_obj(v)) {
        wj_write_value(w, v);
    } else {
        wj_write_open(w, '{');
        wj_put_str(w, "INVALID_JSON", arguments);
        wj_write_close(w, '}');
    }
}

struct upp_str upp__result_text(struct wb_arena *a, struct upp_str result)
{
    yyjson_val *v = look(a, result);
    if (yyjson_is_str(v))
        return wj_text(v);
    return result.p ? result : UPP_STR("");
}

static struct upp_str name_of_call(const struct upp_message *m, struct upp_str id)
{
    const struct upp_part *p = NULL;
    while ((p = upp_part_next(m, p, UPP_PARTS_CALLS)))
        if (wb_str_eq(p->id, id))
            return p->name;
    return (struct upp_str){0};
}

struct upp_str upp__tool_name(const struct upp_request *req, size_t message, const struct upp_part *result)
{
    struct upp_str name = result->name;
    for (size_t i = message; i-- > 0 && !name.n;)
        name = name_of_call(req->messages[i], result->id);
    return name.n ? name : UPP_STR("unknown");
}

void upp__loss(const struct upp_request *req, size_t message, size_t part, const char *what, const char *why)
{
    if (req->on_loss)
        req->on_loss(req->on_loss_arg, &(struct upp_loss){message, part, what, why});
}
