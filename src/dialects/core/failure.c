/* dialects/core/failure.c — maps a run's error to the status, code and type of OpenAI's APIs. */
#include "dialects/core/failure.h"

#include <upp/base.h>

#include "base/defs.h"
#include "dialects/core/frame.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

/* What a client can do something about: wait, or send something else. A provider's refusal of our API key, or of a
 * model of the configuration, is the server's failure, not the client's. */
static const struct row {
    enum upp_code code;
    int status;
    const char *name, *type;
} rows[] = {
    {UPP_ERATE, 429, "rate_limit_exceeded", "rate_limit_error"},
    {UPP_EQUOTA, 429, "insufficient_quota", "rate_limit_error"},
    {UPP_ECONTEXT, 400, "context_length_exceeded", "invalid_request_error"},
    {UPP_EFILTERED, 400, "content_filter", "invalid_request_error"},
};
static const struct row overloaded = {UPP_EPROVIDER, 503, "overloaded", "server_error"};

/* 529: Anthropic's "overloaded". */
static bool is_overloaded(struct upp_str code, uint64_t status)
{
    return (status == 503 || status == 529) && wb_str_eq(code, wb_cstr(upp_code_name(UPP_EPROVIDER)));
}

static const struct row *row_of(struct upp_str code, uint64_t status)
{
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_eq(code, wb_cstr(upp_code_name(rows[i].code))))
            return &rows[i];
    return is_overloaded(code, status) ? &overloaded : NULL;
}

static uint64_t number_at(yyjson_val *v, const char *name)
{
    yyjson_val *n = yyjson_obj_get(v, name);
    uint64_t number;
    return n && yyjson_is_raw(n) && wj_num_u64(wj_text(n), &number) ? number : 0;
}

void wd_failure_read(struct wb_arena *a, uint8_t status, struct upp_str error, struct wd_failure *ret)
{
    yyjson_val *v = NULL;
    uint64_t http = 0;
    *ret = (struct wd_failure){.status = 500, .type = status == WM_FAILED ? "server_error" : "run_ended"};
    if (error.n && wj_read(a, error, NULL, &v, NULL) >= 0) {
        ret->message = wj_text_at(v, "message");
        ret->code = wj_text_at(v, "code");
        http = number_at(v, "statusCode");
        ret->retry_ms = number_at(v, "retryAfterMs");
    }
    const struct row *row = status == WM_FAILED ? row_of(ret->code, http) : NULL;
    if (row) {
        ret->code = wb_cstr(row->name);
        ret->type = row->type;
        ret->status = row->status;
        ret->refused = true;
    }
    if (!ret->code.p)
        ret->code = wb_cstr(wd_status_word(status));
    if (!ret->message.p)
        ret->message = wb_arena_printf(a, "the run is %s", wd_status_word(status));
    if (!ret->message.p)
        ret->message = UPP_STR("the run has failed");
}
