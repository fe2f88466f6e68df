/* upp/client/tool.c — what a tool receives and returns: arguments by name, values. */
#include <upp/tool.h>

#include "base/err.h"
#include "base/utf8.h"
#include "json/compact.h"
#include "json/number.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/write.h"
#include "upp/client/talk.h"

void upp__value_done(struct upp_value *v)
{
    wb_buf_done(&v->json);
    wb_buf_done(&v->spare);
}

/* Makes `spare` the current value, unless writing failed. */
static int set_value(struct upp_value *v, int r)
{
    if (r < 0)
        return r;
    struct wb_buf old = v->json;
    v->json = v->spare;
    v->spare = old;
    v->set = true;
    return 0;
}

static size_t most(const struct upp_value *v)
{
    return v->max ? v->max : UPP__RESULT_BYTES;
}

static int too_long(const struct upp_value *v, struct upp_err *err)
{
    return upp_fail(err, UPP_ELIMIT, "the result is longer than %zu bytes", most(v));
}

static int write_text(struct upp_value *v, struct upp_str text, struct upp_err *err)
{
    struct wj_writer w;
    wb_buf_clear(&v->spare);
    wj_writer_init(&w, &v->spare, err);
    wj_write_str(&w, text.p ? text : UPP_STR(""));
    return set_value(v, wj_writer_check(&w));
}

static int write_cut(struct upp_value *v, struct upp_str text, struct upp_err *err)
{
    static const struct upp_str mark = UPP_STR_INIT(" [cut: the result was longer]");
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(v->max + mark.n);
    wb_buf_add(&b, wb_str(text.p, wb_utf8_cut(text, v->max)));
    wb_buf_add(&b, mark);
    int r = wb_buf_check(&b, err);
    return r < 0 ? r : write_text(v, wb_buf_str(&b), err);
}

int upp_value_text(struct upp_value *v, struct upp_str text, struct upp_err *err)
{
    if (text.n <= most(v))
        return write_text(v, text, err);
    return v->max ? write_cut(v, text, err) : too_long(v, err);
}

int upp_value_json(struct upp_value *v, struct upp_str json, struct upp_err *err)
{
    struct wj_syntax found;
    if (json.n > most(v))
        return too_long(v, err);
    int r = wj_syntax(json.p ? json : UPP_STR(""), WJ_MAX_DEPTH, &found, err);
    if (r < 0)
        return upp_wrap(err, r, "the result");
    wb_buf_clear(&v->spare);
    wb_buf_add(&v->spare, wb_str_trim(json));
    return set_value(v, wb_buf_check(&v->spare, err));
}

int upp_value_printf(struct upp_value *v, struct upp_err *err, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(UPP__RESULT_BYTES);
    va_list args;
    va_start(args, fmt);
    wb_buf_vaddf(&b, fmt, args);
    va_end(args);
    int r = wb_buf_check(&b, err);
    return r < 0 ? r : upp_value_text(v, wb_buf_str(&b), err);
}

void upp_value_error(struct upp_value *v)
{
    v->is_error = true;
}

struct upp_str upp_value_get(const struct upp_value *v)
{
    return v->set ? wb_buf_str(&v->json) : UPP_STR("null");
}

bool upp__arguments_ok(struct upp_str text)
{
    struct wj_syntax found;
    struct upp_str bare = wb_str_trim(text);
    return !bare.n || (bare.p[0] == '{' && wj_syntax(text, WJ_MAX_DEPTH, &found, NULL) >= 0);
}

int upp__call_read(struct upp__call *c, struct upp_err *err)
{
    struct upp_str text = c->pub.arguments;
    if (c->args && c->read.p == text.p && c->read.n == text.n)
        return 0;
    /* Keeps what was parsed before: callers may use its texts until the call ends, and the arguments may be one of
     * them. */
    c->args = NULL;
    int r = wj_read(&c->scratch, text, NULL, &c->args, err);
    if (r >= 0 && !yyjson_is_obj(c->args))
        r = upp_fail(err, UPP_EINVALID, "the arguments are not a JSON object");
    if (r < 0)
        c->args = NULL;
    c->read = text;
    return r < 0 ? r : 0;
}

/* Written as the writer does, unless they are. The values stay those that were read. */
static int write_canonical(struct upp__call *c, struct wb_arena *a, struct upp_err *err)
{
    if (wj_is_compact(c->pub.arguments, NULL))
        return 0;
    int r = wj_value_text(a, c->args, &c->pub.arguments, err);
    if (r >= 0)
        c->read = c->pub.arguments;
    return r;
}

int upp__call_take(struct upp__call *c, struct wb_arena *a, struct upp_err *err)
{
    static const struct wj_read_opts once = {.size = sizeof once, .flags = WJ_UNIQUE};
    struct upp_err why;
    struct upp_str text = c->pub.arguments;
    wb_err_init(&why);
    if (!wb_str_trim(text).n)
        text = c->pub.arguments = UPP_STR("{}");
    if (c->args && c->read.p == text.p && c->read.n == text.n)
        return 0;
    c->args = NULL;
    int r = wj_read(&c->scratch, text, &once, &c->args, &why);
    if (r == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for the arguments of a call");
    if (r >= 0 && yyjson_is_obj(c->args)) {
        c->read = text;
        return write_canonical(c, a, err);
    }
    c->args = NULL;
    if (r == -UPP_EINVALID && why.where[0] == '/') /* a pointer: it is JSON */
        return upp_fail(err, UPP_EINVALID, "the arguments have a member twice: %s", why.where);
    if (r == -UPP_ELIMIT)
        return upp_fail(err, UPP_EINVALID, "the arguments are too long, or nested too deep");
    return upp_fail(err, UPP_EINVALID, "the arguments are not a JSON object");
}

/* Finds an argument: NULL: none. */
static int find_argument(struct upp_call *pub, const char *name, yyjson_val **ret, struct upp_err *err)
{
    struct upp__call *c = WB_OUTER(pub, struct upp__call, pub);
    int r = upp__call_read(c, err);
    if (r < 0)
        return r;
    yyjson_val *key = unsafe_yyjson_get_first(c->args);
    *ret = NULL;
    for (size_t n = unsafe_yyjson_get_len(c->args); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, wb_cstr(name)))
            *ret = key + 1; /* the last of a name counts, in arguments that the program made */
    return 0;
}

static int wrong(const char *name, const char *expected, yyjson_val *v, struct upp_err *err)
{
    char found[WJ_QUOTED];
    if (!v)
        return upp_fail(err, UPP_EINVALID, "the argument '%s' is missing", name);
    return upp_fail(err, UPP_EINVALID, "the argument '%s' must be %s, and is %s", name, expected,
                    wj_found(v, found, sizeof found));
}

int upp_call_arg_str(struct upp_call *c, const char *name, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = find_argument(c, name, &v, err);
    if (r < 0)
        return r;
    if (!v || !yyjson_is_str(v))
        return wrong(name, "a string", v, err);
    *ret = wj_text(v);
    return 0;
}

int upp_call_arg_i64(struct upp_call *c, const char *name, int64_t *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = find_argument(c, name, &v, err);
    if (r < 0)
        return r;
    return v && yyjson_is_raw(v) && wj_num_i64(wj_text(v), ret) ? 0 : wrong(name, "a whole number", v, err);
}

int upp_call_arg_f64(struct upp_call *c, const char *name, double *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = find_argument(c, name, &v, err);
    if (r < 0)
        return r;
    return v && yyjson_is_raw(v) && wj_num_f64(wj_text(v), ret) ? 0 : wrong(name, "a number", v, err);
}

int upp_call_arg_bool(struct upp_call *c, const char *name, bool *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = find_argument(c, name, &v, err);
    if (r < 0)
        return r;
    if (!v || !yyjson_is_bool(v))
        return wrong(name, "true or false", v, err);
    *ret = yyjson_is_true(v);
    return 0;
}

int upp_call_arg(struct upp_call *c, const char *name, struct upp_str *ret, struct upp_err *err)
{
    struct upp__call *call = WB_OUTER(c, struct upp__call, pub);
    yyjson_val *v;
    int r = find_argument(c, name, &v, err);
    if (r < 0 || !v)
        return r;
    r = wj_value_text(&call->scratch, v, ret, err);
    return r < 0 ? r : 1;
}
