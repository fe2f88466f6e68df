/* support/vendor.c — a transport in memory that stores what it is sent, and refuses or answers. */
#include "support/vendor.h"

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "support/fibers.h"

static int vendor_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                       struct upp_http_call **ret, struct upp_err *err)
{
    struct vendor *v = arg;
    (void)wait;
    v->asked++;
    v->read = false;
    wb_buf_clear(&v->sent);
    wb_buf_add(&v->sent, req->body);
    *ret = (struct upp_http_call *)(void *)v;
    return wb_buf_check(&v->sent, err);
}

static bool answers(const struct vendor *v)
{
    return v->answer && v->asked == 1;
}

static int vendor_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    (void)err;
    *ret = (struct upp_http_head){.status = answers((const struct vendor *)(const void *)c) ? 200 : 400};
    return 0;
}

static int vendor_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct vendor *v = (struct vendor *)(void *)c;
    (void)err;
    if (v->read)
        return 0;
    v->read = true;
    *ret = answers(v) ? wb_cstr(v->answer) : UPP_STR("{\"error\":{\"message\":\"no\"}}");
    return 1;
}

static void vendor_close(struct upp_http_call *c)
{
    (void)c;
}

void vendor_init(struct vendor *v, const char *answer)
{
    *v = (struct vendor){.answer = answer,
                         .sent = WB_BUF(1u << 20),
                         .via = {.size = sizeof v->via,
                                 .arg = v,
                                 .send = vendor_send,
                                 .head = vendor_head,
                                 .read = vendor_read,
                                 .close = vendor_close}};
}

void vendor_done(struct vendor *v)
{
    wb_buf_done(&v->sent);
}

int vendor_model(struct vendor *v, const char *provider, const char *api, struct upp_model **ret, struct upp_err *err)
{
    return upp_model_new(
        (struct upp_model_ref){.provider = provider,
                               .name = "m",
                               .opts = UPP_OPTS(upp_provider_opts, .api = api, .api_key = "k", .transport = &v->via)},
        ret, err);
}

static yyjson_val *get(yyjson_val *object, const char *name)
{
    return yyjson_is_obj(object) ? yyjson_obj_get(object, name) : NULL;
}

/* Whichever of its roles a vendor goes by, should there be two. */
static bool speaks_as_system(yyjson_val *message)
{
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_obj_foreach(message, i, n, key, v)
    {
        struct upp_str role = yyjson_is_str(v) ? wb_str_trim(wj_text(v)) : (struct upp_str){0};
        if (wj_named(key, UPP_STR("role")) &&
            (wb_str_eq_nocase(role, UPP_STR("system")) || wb_str_eq_nocase(role, UPP_STR("developer"))))
            return true;
    }
    return false;
}

int vendor_told_system(const struct vendor *v, struct wb_buf *out, struct upp_err *err)
{
    static const char *const fields[] = {"system", "instructions", "system_instruction", "systemInstruction",
                                         "developer"};
    static const char *const lists[] = {"messages", "input", "contents"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    yyjson_val *root, *m;
    size_t i, n;
    wb_buf_clear(out);
    TRY(wj_read(&a, wb_buf_str(&v->sent), NULL, &root, err));
    for (size_t k = 0; k < WB_LEN(fields); k++)
        if (get(root, fields[k]))
            TRY(wj_write(get(root, fields[k]), out, err));
    for (size_t k = 0; k < WB_LEN(lists); k++) {
        yyjson_arr_foreach(get(root, lists[k]), i, n, m)
        {
            if (speaks_as_system(m))
                TRY(wj_write(m, out, err));
        }
    }
    return wb_buf_check(out, err);
}

bool vendor_has(struct upp_str text, const char *what)
{
    return wb_str_find(text, wb_cstr(what), 0) != SIZE_MAX;
}
