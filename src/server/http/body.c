/* server/http/body.c — reads the JSON body of a request, and reports a member that is wrong or unknown. */
#include "server/http/body.h"

#include <stdarg.h>

#include "base/err.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum { IGNORED_MAX = 16, IGNORED_NAME = 64 };

static bool knows(const char *const *known, struct upp_str name)
{
    for (; *known; known++)
        if (wb_str_eq(wb_cstr(*known), name))
            return true;
    return false;
}

/* Names that fit a header; any other shows as "?". */
static struct upp_str shown(struct upp_str name)
{
    static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    for (size_t i = 0; i < name.n; i++)
        if (!memchr(token, name.p[i], sizeof token - 1))
            return UPP_STR("?");
    return name.n && name.n <= IGNORED_NAME ? name : UPP_STR("?");
}

static void report_ignored(struct sv_exchange *x, const char *const *known, yyjson_val *root)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(IGNORED_MAX * (IGNORED_NAME + 2) + 8);
    size_t i, max, n = 0;
    yyjson_val *name, *v;
    yyjson_obj_foreach(root, i, max, name, v)
    {
        if (knows(known, wj_text(name)) || n > IGNORED_MAX)
            continue;
        wb_buf_addf(&out, "%s%.*s", n ? ", " : "", UPP_FMT(n < IGNORED_MAX ? shown(wj_text(name)) : UPP_STR("...")));
        n++;
    }
    if (n)
        sv_reply_header(&x->reply, "weft-ignored", wb_buf_str(&out));
}

int sv_body_read(struct sv_exchange *x, const char *const *known, struct sv_body *ret, struct upp_err *err)
{
    struct upp_str text = wb_buf_str(&x->request->body);
    yyjson_val *v;
    *ret = (struct sv_body){NULL};
    if (!wb_str_trim(text).n)
        return 0;
    int r = wj_read(&x->arena, text, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, err);
    if (r == -UPP_ELIMIT) { /* the client's fault: it should change the request, not retry */
        if (err)
            err->code = UPP_EINVALID;
        return -UPP_EINVALID;
    }
    if (r < 0)
        return r;
    if (!yyjson_is_obj(v)) {
        char found[WJ_QUOTED];
        return upp_fail(err, UPP_EINVALID, "the body is not an object but %s", wj_found(v, found, sizeof found));
    }
    ret->root = v;
    report_ignored(x, known, v);
    return 0;
}

yyjson_val *sv_member(yyjson_val *object, struct upp_str name)
{
    yyjson_val *v = object ? yyjson_obj_getn(object, name.p, name.n) : NULL;
    return v && yyjson_is_null(v) ? NULL : v;
}

int sv_body_wrong(const struct sv_body *b, const yyjson_val *at, struct upp_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_EINVALID, fmt, args);
    va_end(args);
    wj_pointer_err(err, b->root, at);
    return r;
}

static int wrong_kind(const struct sv_body *b, yyjson_val *v, const char *want, struct upp_err *err)
{
    char found[WJ_QUOTED];
    return sv_body_wrong(b, v, err, "expected %s, found %s", want, wj_found(v, found, sizeof found));
}

int sv_body_str(const struct sv_body *b, yyjson_val *object, struct upp_str name, struct upp_str *ret,
                struct upp_err *err)
{
    yyjson_val *v = sv_member(object, name);
    if (!v)
        return 0;
    if (!yyjson_is_str(v))
        return wrong_kind(b, v, "a string", err);
    *ret = wj_text(v);
    return 1;
}

int sv_body_bool(const struct sv_body *b, yyjson_val *object, struct upp_str name, bool *ret, struct upp_err *err)
{
    yyjson_val *v = sv_member(object, name);
    if (!v)
        return 0;
    if (!yyjson_is_bool(v))
        return wrong_kind(b, v, "true or false", err);
    *ret = yyjson_get_bool(v);
    return 1;
}

int sv_body_object(const struct sv_body *b, yyjson_val *object, struct upp_str name, yyjson_val **ret,
                   struct upp_err *err)
{
    yyjson_val *v = sv_member(object, name);
    if (!v)
        return 0;
    if (!yyjson_is_obj(v))
        return wrong_kind(b, v, "an object", err);
    *ret = v;
    return 1;
}

int sv_body_array(const struct sv_body *b, yyjson_val *object, struct upp_str name, yyjson_val **ret,
                  struct upp_err *err)
{
    yyjson_val *v = sv_member(object, name);
    if (!v)
        return 0;
    if (!yyjson_is_arr(v))
        return wrong_kind(b, v, "an array", err);
    *ret = v;
    return 1;
}

int sv_body_text(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    *ret = (struct upp_str){NULL, 0};
    return wj_value_text(a, v, ret, err);
}
