/* runtime/config_value.c — reads scalars of a configuration, expands variables, and writes YAML as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hooks.h"
#include "json/number.h"
#include "json/value.h"
#include "json/write.h"
#include "runtime/config_read.h"

enum { MAX_JSON = 256 << 10, MAX_VALUE = 1 << 20, MAX_NAME = 128, MAX_URL = 2048 };

static const char *const kinds[] = {"a value", "a list", "a map"};

bool wc_null(const struct wc_node *n)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; n->kind == WC_SCALAR && n->plain && i < WB_LEN(words); i++)
        if (wb_str_eq(n->text, wb_cstr(words[i])))
            return true;
    return false;
}

/* Describes a value for messages. Always the text of the file: `${NAME}` is not replaced. */
static const char *found(const struct wc_node *n, char *buf, size_t size)
{
    if (n->kind != WC_SCALAR)
        return kinds[n->kind];
    return wc_null(n) ? "nothing" : wj_quote(n->text, buf, size);
}

bool wc_is(struct wc_reader *r, const struct wc_node *n, enum wc_kind kind, const char *what)
{
    static const char *const types[] = {"string\",\"number\",\"boolean", "array", "object"};
    char quoted[WJ_QUOTED];
    if (wc_described(r, "{\"type\":[\"%s\"]}", types[kind]))
        return false;
    if (n->kind == kind)
        return true;
    wc_mistake(r, n, "%s must be %s, not %s", what, kinds[kind], found(n, quoted, sizeof quoted));
    return false;
}

/* ---- Variables --------------------------------------------------------------------------------------------- */

const char *wc_env(struct wc_reader *r, const char *name)
{
    const struct wc_config *before = r->opts->previous;
    for (size_t i = 0; before && i < before->n_values; i++)
        if (wb_str_eq(before->values[i].name, wb_cstr(name)) && !before->values[i].from_file)
            return wb_secret_reveal(before->values[i].value).p;
    const char *value = r->opts->env ? r->opts->env(r->opts->arg, name) : getenv(name);
    return value || !r->dotenv ? value : wc_dotenv_get(r->dotenv, name);
}

static bool has_variables(struct upp_str s)
{
    return wb_str_find(s, UPP_STR("${"), 0) != SIZE_MAX;
}

bool wc_has_variables(const struct wc_node *n)
{
    if (n->kind == WC_SCALAR)
        return has_variables(n->text);
    for (const struct wc_item *i = n->first; i; i = i->next) /* the parser limits the depth */
        if (wc_has_variables(i->value))
            return true;
    return false;
}

/* Appends the value of the variable whose name begins at s.p[at], after "${". Returns where the text continues; 0: a
 * mistake. */
static size_t put_variable(struct wc_reader *r, const struct wc_node *n, size_t at, struct wb_buf *to)
{
    char name[MAX_NAME];
    size_t end = wb_str_find(n->text, UPP_STR("}"), at);
    if (end == SIZE_MAX || end == at || end - at >= sizeof name || memchr(n->text.p + at, 0, end - at)) {
        wc_mistake(r, n, "'${' without a name and '}' behind it; write '$${' for the characters themselves");
        return 0;
    }
    memcpy(name, n->text.p + at, end - at);
    name[end - at] = 0;
    const char *value = wc_env(r, name);
    if (!value) {
        char quoted[WJ_QUOTED];
        wc_mistake(r, n, "the environment variable %s is not set", wj_quote(wb_cstr(name), quoted, sizeof quoted));
        return 0;
    }
    wb_buf_add(to, wb_cstr(value));
    return wc_hide(r, wb_cstr(name), wb_cstr(value)) ? end + 1 : 0;
}

static bool expand(struct wc_reader *r, const struct wc_node *n, struct wb_buf *to)
{
    struct upp_str s = n->text;
    for (size_t at = 0; at < s.n;) {
        size_t next = wb_str_find(s, UPP_STR("${"), at);
        if (next == SIZE_MAX)
            next = s.n;
        bool escaped = next < s.n && next > at && s.p[next - 1] == '$';
        wb_buf_add(to, wb_str_sub(s, at, next - at - escaped));
        at = next;
        if (escaped) {
            wb_buf_add(to, UPP_STR("${"));
            at = next + 2;
        } else if (next < s.n) {
            at = put_variable(r, n, next + 2, to);
            if (at == 0)
                return false;
        }
    }
    int code = wb_buf_check(to, r->err);
    if (code == -UPP_ELIMIT)
        wc_mistake(r, n, "too long once its variables are put in");
    else
        wc_fail(r, code);
    return code == 0;
}

bool wc_text(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAX_VALUE);
    if (wc_described(r, WC_SCHEMA_TEXT) || !wc_is(r, n, WC_SCALAR, what))
        return false;
    if (wc_null(n)) {
        wc_mistake(r, n, "%s is empty", what);
        return false;
    }
    if (!has_variables(n->text)) {
        *ret = n->text; /* nodes are in the configuration's arena */
        return true;
    }
    if (!expand(r, n, &b))
        return false;
    *ret = wb_arena_dup(&r->config->arena, wb_buf_str(&b));
    return ret->p != NULL;
}

bool wc_url(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret)
{
    struct upp_str url;
    if (!wc_text(r, n, what, &url))
        return false;
    if ((!wb_str_starts(url, UPP_STR("https://")) && !wb_str_starts(url, UPP_STR("http://"))) || url.n > MAX_URL ||
        memchr(url.p, 0, url.n)) {
        wc_mistake(r, n, "%s begins with https:// or http:// and has at most %d bytes", what, MAX_URL);
        return false;
    }
    *ret = url;
    return true;
}

bool wc_cstr(struct wc_reader *r, const struct wc_node *n, const char *what, const char **ret)
{
    struct upp_str text;
    if (!wc_text(r, n, what, &text))
        return false;
    if (memchr(text.p, 0, text.n)) {
        wc_mistake(r, n, "%s has a NUL inside", what);
        return false;
    }
    *ret = wb_arena_printf(&r->config->arena, "%.*s", UPP_FMT(text)).p;
    return *ret != NULL;
}

bool wc_texts(struct wc_reader *r, const struct wc_node *n, const char *what, size_t max, struct upp_str **ret,
              size_t *ret_n)
{
    if (wc_described(r, "{\"type\":\"array\",\"maxItems\":%zu,\"items\":" WC_SCHEMA_TEXT "}", max) ||
        !wc_is(r, n, WC_LIST, what))
        return false;
    if (n->n > max) {
        wc_mistake(r, n, "%s has more than %zu names", what, max);
        return false;
    }
    *ret = wb_new_n(&r->config->arena, struct upp_str, n->n + 1);
    *ret_n = 0;
    for (const struct wc_item *i = n->first; *ret && i; i = i->next)
        if (!wc_text(r, i->value, "a name", &(*ret)[(*ret_n)++]))
            return false;
    return *ret != NULL;
}

static void wipe(struct wb_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->cap);
    wb_buf_done(b);
}

bool wc_secret(struct wc_reader *r, const struct wc_node *n, const char *what, const struct wb_secret **ret,
               struct upp_str *text)
{
    WB_CLEANUP(wipe) struct wb_buf b = WB_BUF(WB_SECRET_MAX);
    struct wc_config *c = r->config;
    *ret = NULL;
    if (!wc_is(r, n, WC_SCALAR, what))
        return false;
    if (!has_variables(n->text)) {
        *text = n->text;
        return true;
    }
    if (!wb_buf_reserve(&b, WB_SECRET_MAX) || !expand(r, n, &b)) {
        wc_fail(r, b.failed == -UPP_ENOMEM ? upp_fail(r->err, UPP_ENOMEM, "no memory for a secret") : 0);
        return false;
    }
    struct wb_secret **more = wb_realloc(c->secrets, (c->n_secrets + 1) * sizeof(struct wb_secret *));
    if (!more) {
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a secret"));
        return false;
    }
    c->secrets = more;
    int code = wb_secret_new(wb_buf_str(&b), &c->secrets[c->n_secrets], r->err);
    wc_fail(r, code);
    if (code < 0)
        return false;
    *ret = c->secrets[c->n_secrets++];
    return true;
}

/* ---- Numbers, booleans, words -------------------------------------------------------------------------------- */

bool wc_number(struct wc_reader *r, const struct wc_node *n, const char *what, uint64_t min, uint64_t max,
               uint64_t *ret)
{
    struct upp_str text;
    char quoted[WJ_QUOTED];
    uint64_t value;
    if (wc_describe_number(r, "integer", (double)min, (double)max) || !wc_text(r, n, what, &text))
        return false;
    if (!wb_str_u64(text, &value) || value < min || value > max) {
        wc_mistake(r, n, "%s must be a whole number from %llu to %llu, not %s", what, (unsigned long long)min,
                   (unsigned long long)max, found(n, quoted, sizeof quoted));
        return false;
    }
    *ret = value;
    return true;
}

/* A number of seconds as a person would write it: "90s", "24h", "7d". */
static const char *write_duration(uint64_t ms, char out[32])
{
    static const struct {
        uint64_t ms;
        char unit;
    } units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}};
    uint64_t of = 1000;
    char unit = 's';
    for (size_t i = 0; i < WB_LEN(units) && unit == 's'; i++)
        if (ms % units[i].ms == 0) {
            of = units[i].ms;
            unit = units[i].unit;
        }
    (void)snprintf(out, 32, "%llu%c", (unsigned long long)(ms / of), unit);
    return out;
}

/* 0: the text is no duration, or too long for the number. */
static uint64_t read_duration(struct upp_str text)
{
    static const struct {
        char unit;
        uint64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    uint64_t n;
    if (text.n < 2 || !wb_str_u64(wb_str_sub(text, 0, text.n - 1), &n))
        return 0;
    for (size_t i = 0; i < WB_LEN(units); i++)
        if (text.p[text.n - 1] == units[i].unit)
            return n <= UINT64_MAX / units[i].ms ? n * units[i].ms : 0;
    return 0;
}

bool wc_duration(struct wc_reader *r, const struct wc_node *n, const char *what, uint64_t min, uint64_t max,
                 uint64_t *ret)
{
    struct upp_str text;
    char quoted[WJ_QUOTED], least[32], most[32];
    if (wc_described(r, WC_SCHEMA_DURATION) || !wc_text(r, n, what, &text))
        return false;
    uint64_t ms = read_duration(text);
    if (ms < min || ms > max) {
        wc_mistake(r, n, "%s must be a time from %s to %s, such as 90s, 30m, 24h or 7d, not %s", what,
                   write_duration(min, least), write_duration(max, most), found(n, quoted, sizeof quoted));
        return false;
    }
    *ret = ms;
    return true;
}

bool wc_decimal(struct wc_reader *r, const struct wc_node *n, const char *what, double min, double max, double *ret)
{
    struct upp_str text;
    char quoted[WJ_QUOTED];
    double value;
    if (wc_describe_number(r, "number", min, max) || !wc_text(r, n, what, &text))
        return false;
    if (!wj_num_valid(text) || !wj_num_f64(text, &value) || value < min || value > max) {
        wc_mistake(r, n, "%s must be a number from %.10g to %.10g, not %s", what, min, max,
                   found(n, quoted, sizeof quoted));
        return false;
    }
    *ret = value;
    return true;
}

bool wc_word(struct wc_reader *r, const struct wc_node *n, const char *what, const char *const *words, unsigned *ret)
{
    struct upp_str text;
    struct wc_guess guess = {0};
    struct wj_list list = {0};
    char quoted[WJ_QUOTED];
    if (wc_describe_words(r, words) || !wc_text(r, n, what, &text))
        return false;
    for (unsigned i = 0; words[i]; i++) {
        if (wb_str_eq(text, wb_cstr(words[i]))) {
            *ret = i;
            return true;
        }
        wc_guess(&guess, n->text, wb_cstr(words[i]));
        wj_list_add(&list, ", ", "'", wb_cstr(words[i]));
    }
    wc_mistake(r, n, "%s is one of %s, not %s%s", what, list.p, found(n, quoted, sizeof quoted), wc_guessed(&guess));
    return false;
}

bool wc_truth(struct wc_reader *r, const struct wc_node *n, const char *what, bool *ret)
{
    static const char *const words[] = {"false", "true", NULL};
    unsigned which;
    if (wc_described(r, WC_SCHEMA_TRUTH) || !wc_word(r, n, what, words, &which))
        return false;
    *ret = which == 1;
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

struct json_out {
    struct wc_reader *reader;
    struct wj_writer w;
    const char *what;
    bool wrong;
};

static bool is_word(struct upp_str s, const char *a, const char *b, const char *c)
{
    return wb_str_eq(s, wb_cstr(a)) || wb_str_eq(s, wb_cstr(b)) || wb_str_eq(s, wb_cstr(c));
}

/* An unquoted scalar by the common part of YAML 1.2's core schema: JSON's numbers, null, true and false. */
static void write_scalar(struct json_out *o, const struct wc_node *n)
{
    struct upp_str s = n->text;
    if (wc_null(n))
        wj_write_null(&o->w);
    else if (n->plain && is_word(s, "true", "True", "TRUE"))
        wj_write_bool(&o->w, true);
    else if (n->plain && is_word(s, "false", "False", "FALSE"))
        wj_write_bool(&o->w, false);
    else if (n->plain && wj_num_valid(s))
        wj_write_num(&o->w, s);
    else if (has_variables(s)) { /* values of variables are always strings */
        if (wc_text(o->reader, n, o->what, &s))
            wj_write_str(&o->w, s);
        else
            o->wrong = true;
    } else
        wj_write_str(&o->w, s);
}

/* Recursive: the parser limits the depth. */
static void write_node(struct json_out *o, const struct wc_node *n)
{
    if (n->kind == WC_SCALAR) {
        write_scalar(o, n);
        return;
    }
    if (n->kind == WC_MAP && n->n > WC_MAX_NAMED) {
        wc_mistake(o->reader, n, "%s has a map of more than %d keys", o->what, WC_MAX_NAMED);
        o->wrong = true;
        return;
    }
    wj_write_open(&o->w, n->kind == WC_MAP ? '{' : '[');
    for (const struct wc_item *i = n->first; i && !o->wrong && !o->w.out->failed; i = i->next) {
        if (i->key && wc_repeated(n, i)) {
            char quoted[WJ_QUOTED];
            wc_mistake(o->reader, i->key, "%s is there a second time", wj_quote(i->key->text, quoted, sizeof quoted));
            o->wrong = true;
        }
        if (i->key)
            wj_write_name(&o->w, i->key->text);
        write_node(o, i->value);
    }
    wj_write_close(&o->w, n->kind == WC_MAP ? '}' : ']');
}

bool wc_json(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAX_JSON);
    struct json_out o = {.reader = r, .what = what};
    struct upp_err err;
    wj_writer_init(&o.w, &b, &err);
    write_node(&o, n);
    int code = wj_writer_check(&o.w);
    if (o.wrong)
        return false;
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for %s", what));
    else if (code == -UPP_ELIMIT)
        wc_mistake(r, n, "%s is longer than %d KiB as JSON", what, MAX_JSON >> 10);
    else if (code < 0)
        wc_mistake(r, n, "%s: %s", what, err.msg);
    if (code < 0)
        return false;
    *ret = wb_arena_dup(&r->config->arena, wb_buf_str(&b));
    return ret->p != NULL;
}

/* ---- Schemas ----------------------------------------------------------------------------------------------------- */

/* Is `step`, a token of a JSON pointer with ~0 and ~1, this name? */
static bool is_step(struct upp_str step, struct upp_str name)
{
    size_t k = 0;
    for (size_t i = 0; i < step.n; i++, k++) {
        bool escaped = step.p[i] == '~' && i + 1 < step.n;
        char c = escaped ? step.p[++i] == '1' ? '/' : '~' : step.p[i];
        if (k >= name.n || name.p[k] != c)
            return false;
    }
    return k == name.n;
}

/* The node that a JSON pointer leads to, or the last one on the way. */
static const struct wc_node *follow(const struct wc_node *n, struct upp_str pointer)
{
    struct upp_str step;
    (void)wb_str_split(&pointer, '/', &step); /* the text before the first slash is empty */
    while (pointer.p && wb_str_split(&pointer, '/', &step)) {
        const struct wc_item *i = n->kind == WC_SCALAR ? NULL : n->first;
        uint64_t k = 0;
        if (n->kind == WC_LIST && !wb_str_u64(step, &k))
            return n;
        while (i && !(n->kind == WC_MAP ? is_step(step, i->key->text) : k-- == 0))
            i = i->next;
        if (!i)
            return n;
        n = i->value;
    }
    return n;
}

bool wc_schema(struct wc_reader *r, const struct wc_node *n, const char *what, struct upp_str *json,
               struct upp_schema **ret)
{
    struct upp_schema *s = NULL;
    struct upp_err err = {0};
    if (!wc_is(r, n, WC_MAP, what) || !wc_json(r, n, what, json))
        return false;
    int code = upp_schema_new(*json, &s, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a schema"));
    else if (code < 0)
        wc_mistake(r, follow(n, wb_cstr(err.where)), "%s: %s", what,
                   wc_has_variables(n) ? "no JSON Schema that can be used; look at its variables" : err.msg);
    if (ret)
        *ret = s;
    else
        upp_schema_free(s);
    return code == 0;
}

struct upp_str wc_path(struct wc_reader *r, struct upp_str path)
{
    struct upp_str folder = r->config->folder;
    if (path.n && path.p[0] == '/')
        return path;
    while (wb_str_starts(path, UPP_STR("./")))
        path = wb_str_sub(path, 2, path.n);
    if (!folder.n)
        return wb_arena_printf(&r->config->arena, "./%.*s", UPP_FMT(path));
    return wb_arena_printf(&r->config->arena, "%.*s/%.*s", UPP_FMT(folder), UPP_FMT(path));
}
