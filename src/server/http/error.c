/* server/http/error.c — maps an error to a status, and writes the body of its response. */
#include "server/http/error.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "json/write.h"
#include "log/store.h"

static const struct {
    int code, status;
    const char *name; /* "code" of the error object */
} rows[] = {
    {UPP_EAUTH, 401, "invalid_api_key"},
    {UPP_ERATE, 429, "rate_limit_exceeded"},
    {UPP_ECONTEXT, 400, "context_length_exceeded"},
    {UPP_ENOMODEL, 404, "model_not_found"},
    {UPP_EINVALID, 400, "invalid_request"},
    {UPP_EPROTO, 502, "invalid_response"},
    {UPP_EFILTERED, 400, "content_filtered"},
    {UPP_EQUOTA, 429, "insufficient_quota"},
    {UPP_EPROVIDER, 502, "provider_error"},
    {UPP_ENET, 502, "network_error"},
    {UPP_ETIMEOUT, 504, "timeout"},
    {UPP_ECANCELED, 503, "stopping"},
    {UPP_ENOTFOUND, 404, "not_found"},
    {UPP_ELIMIT, 400, "limit_reached"},
    {UPP_EBUSY, 400, "conflict"},
    {UPP_EREFUSED, 400, "refused"},
    {UPP_ENOMEM, 503, "out_of_memory"},
    {UPP_ESTORE, 500, "store_error"},
    {UPP_EWAIT, 500, "internal_error"},
    {UPP_EBUG, 500, "internal_error"},
};

static bool disk_full(const struct upp_err *err)
{
    static const char *const causes[] = {WL_DISK_FULL, "ENOSPC", "EDQUOT"};
    for (size_t i = 0; err->code == UPP_ESTORE && i < WB_LEN(causes); i++)
        if (strcmp(err->cause, causes[i]) == 0)
            return true;
    return false;
}

int sv_error_status(const struct sv_door *door, const struct upp_err *err)
{
    if (disk_full(err))
        return 507;
    if (err->code == UPP_EREFUSED && (strcmp(err->cause, SV_SCOPE) == 0 || strcmp(err->cause, SV_MEMBER) == 0))
        return 403;
    if (err->code == UPP_ELIMIT && err->retry_after_ms) /* wb_fail_full: nothing is wrong with the request */
        return 429;
    for (const struct sv_status *s = door ? door->statuses : NULL; s && s->code; s++)
        if (s->code == err->code)
            return s->status;
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (rows[i].code == err->code)
            return rows[i].status;
    return 500;
}

static const char *code_name(const struct upp_err *err)
{
    static const char *const named[] = {SV_CLIENT_SYSTEM, SV_INSTRUCTIONS, SV_SCOPE, SV_MEMBER};
    for (size_t i = 0; i < WB_LEN(named) && err->code == UPP_EREFUSED; i++)
        if (strcmp(err->cause, named[i]) == 0)
            return named[i];
    if (disk_full(err))
        return "insufficient_storage";
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (rows[i].code == err->code)
            return rows[i].name;
    return "internal_error";
}

static const char *type_of(int status)
{
    if (status == 401)
        return "authentication_error";
    if (status == 429)
        return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

static void write_openai(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out)
{
    (void)x;
    struct wj_writer w;
    wj_writer_init(&w, out, NULL);
    wj_write_open(&w, '{');
    wj_put_open(&w, "error", '{');
    wj_put_str(&w, "message", e->message);
    wj_put_str(&w, "type", wb_cstr(e->type));
    wj_put_str(&w, "param", e->param);
    wj_put_str(&w, "code", wb_cstr(e->code));
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
}

static void put_error(struct sv_exchange *x, const struct sv_door *door, int status, struct upp_str message,
                      struct upp_str param, const char *code)
{
    const struct sv_error e = {status, message, param, type_of(status), code};
    (door && door->error ? door->error : write_openai)(x, &e, &x->reply.body);
}

static void begin_error(struct sv_reply *reply, int status)
{
    wb_buf_clear(&reply->headers);
    wb_buf_done(&reply->body); /* an unfinished body may be long */
    reply->status = status;
    reply->type = NULL;
}

static void retry_after(struct sv_reply *reply, int status, uint64_t ms)
{
    char text[24];
    if (!ms && status != 503)
        return;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)(ms + 999) / 1000);
    sv_reply_header(reply, "Retry-After", ms ? wb_cstr(text) : UPP_STR("1"));
}

void sv_error_reply(struct sv_exchange *x, const struct sv_door *door, const struct upp_err *err)
{
    int status = sv_error_status(door, err);
    struct upp_str where = err->where[0] ? wb_cstr(err->where) : (struct upp_str){NULL, 0};
    bool inside = status == 500, ours = inside || status == 507; /* where: a file of the server */
    begin_error(&x->reply, status);
    retry_after(&x->reply, status, err->retry_after_ms);
    put_error(x, door, status, wb_cstr(inside ? upp_code_text(err->code) : err->msg),
              ours ? (struct upp_str){NULL, 0} : where, code_name(err));
}

/* `code` of a refusal of the HTTP layer. */
static const char *refusal_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {
        {401, "invalid_api_key"},    {403, "origin_not_allowed"}, {404, "not_found"},
        {405, "method_not_allowed"}, {408, "request_timeout"},    {413, "body_too_large"},
        {414, "url_too_long"},       {421, "unknown_host"},       {431, "headers_too_large"},
    };
    for (size_t i = 0; i < WB_LEN(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return status >= 500 ? "refused" : "bad_request";
}

void sv_error_refuse_as(struct sv_exchange *x, const struct sv_door *door, int status, const char *why,
                        const char *code, uint64_t retry_ms)
{
    begin_error(&x->reply, status);
    retry_after(&x->reply, status, retry_ms);
    put_error(x, door, status, wb_cstr(why), (struct upp_str){NULL, 0}, code);
}

void sv_error_refuse(struct sv_exchange *x, const struct sv_door *door, int status, const char *why)
{
    sv_error_refuse_as(x, door, status, why, refusal_name(status), 0);
}
