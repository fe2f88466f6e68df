/* Errors of vendors, normalised, and when they say to try again. */
#include "upp/providers/provider_error.h"

#include <stdio.h>
#include <upp/provider.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"

#define NOW INT64_C(1789000000000) /* 2026-09-10T00:26:40Z */

/* covers: UPP-9/1 */
TEST(trouble_code_comes_from_the_body_then_from_the_status)
{
    static const struct {
        int status;
        const char *type, *code, *reason, *message;
        int want;
    } cases[] = {
        /* Statuses alone. */
        {400, 0, 0, 0, "no", UPP_EINVALID},
        {409, 0, 0, 0, "no", UPP_EINVALID},
        {422, 0, 0, 0, "no", UPP_EINVALID},
        {401, 0, 0, 0, "no", UPP_EAUTH},
        {403, 0, 0, 0, "no", UPP_EAUTH},
        {402, 0, 0, 0, "no", UPP_EQUOTA},
        {404, 0, 0, 0, "no", UPP_ENOMODEL},
        {408, 0, 0, 0, "no", UPP_ETIMEOUT},
        {504, 0, 0, 0, "no", UPP_ETIMEOUT},
        {413, 0, 0, 0, "no", UPP_ECONTEXT},
        {429, 0, 0, 0, "no", UPP_ERATE},
        {451, 0, 0, 0, "no", UPP_EFILTERED},
        {499, 0, 0, 0, "no", UPP_ECANCELED},
        {500, 0, 0, 0, "no", UPP_EPROVIDER},
        {502, 0, 0, 0, "no", UPP_EPROVIDER},
        {503, 0, 0, 0, "no", UPP_EPROVIDER},
        {529, 0, 0, 0, "no", UPP_EPROVIDER},
        {599, 0, 0, 0, "no", UPP_EPROVIDER},
        {418, 0, 0, 0, "no", UPP_EPROVIDER}, /* everything else */
        {302, 0, 0, 0, "no", UPP_EPROVIDER},
        {0, 0, 0, 0, 0, UPP_EPROVIDER},

        /* Anthropic. */
        {400, "invalid_request_error", 0, 0, "messages: at least one message is required", UPP_EINVALID},
        {400, "invalid_request_error", 0, 0, "prompt is too long: 210000 tokens > 200000 maximum", UPP_ECONTEXT},
        {400, "invalid_request_error", 0, 0, "Prompt Is Too Long", UPP_ECONTEXT},
        {401, "authentication_error", 0, 0, "invalid x-api-key", UPP_EAUTH},
        {403, "permission_error", 0, 0, "no", UPP_EAUTH},
        {403, "billing_error", 0, 0, "no", UPP_EQUOTA},
        {404, "not_found_error", 0, 0, "model: claude-0", UPP_ENOMODEL},
        {413, "request_too_large", 0, 0, "Request exceeds the maximum size", UPP_EINVALID},
        {429, "rate_limit_error", 0, 0, "no", UPP_ERATE},
        {504, "timeout_error", 0, 0, "no", UPP_ETIMEOUT},
        {500, "api_error", 0, 0, "no", UPP_EPROVIDER},
        {529, "overloaded_error", 0, 0, "no", UPP_EPROVIDER},
        {0, "overloaded_error", 0, 0, "Overloaded", UPP_EPROVIDER}, /* in a stream */
        {0, "rate_limit_error", 0, 0, "no", UPP_ERATE},
        {0, "api_error", 0, 0, "no", UPP_EPROVIDER},
        {0, "authentication_error", 0, 0, "no", UPP_EAUTH},
        {0, "permission_error", 0, 0, "no", UPP_EAUTH},
        {0, "not_found_error", 0, 0, "no", UPP_ENOMODEL},
        {0, "invalid_request_error", 0, 0, "no", UPP_EINVALID},
        {0, "timeout_error", 0, 0, "no", UPP_ETIMEOUT},

        /* OpenAI: its type is invalid_request_error for nearly everything. */
        {400, "invalid_request_error", "context_length_exceeded", 0, "no", UPP_ECONTEXT},
        {400, "invalid_request_error", "unsupported_value", 0, "the context window is a parameter", UPP_EINVALID},
        {401, "invalid_request_error", "invalid_api_key", 0, "no", UPP_EAUTH},
        {404, "invalid_request_error", "model_not_found", 0, "no", UPP_ENOMODEL},
        {403, "invalid_request_error", "model_not_found", 0, "no", UPP_ENOMODEL},
        {429, "insufficient_quota", "insufficient_quota", 0, "no", UPP_EQUOTA},
        {429, "billing", "enforced_spend_limit_reached", 0, "no", UPP_EQUOTA},
        {429, "tokens", "rate_limit_exceeded", 0, "no", UPP_ERATE},
        {429, "invalid_request_error", 0, 0, "no", UPP_ERATE},
        {400, "invalid_request_error", "content_policy_violation", 0, "no", UPP_EFILTERED},
        {400, "image_generation_user_error", "image_content_policy_violation", 0, "no", UPP_EFILTERED},
        {400, 0, "content_filter", 0, "no", UPP_EFILTERED},
        {0, 0, "bio_policy", 0, "no", UPP_EFILTERED},
        {0, 0, "server_error", 0, "no", UPP_EPROVIDER},
        {0, 0, "rate_limit_exceeded", 0, "no", UPP_ERATE},
        {0, 0, "context_length_exceeded", 0, "no", UPP_ECONTEXT},
        {0, 0, "something_new", 0, "no", UPP_EPROVIDER},
        {0, 0, "something_new", 0, "too much for the context window", UPP_EPROVIDER}, /* there is a code */

        /* Google. */
        {400, "INVALID_ARGUMENT", 0, "API_KEY_INVALID", "API key not valid.", UPP_EAUTH},
        {400, "INVALID_ARGUMENT", 0, 0, "no", UPP_EINVALID},
        {400, "INVALID_ARGUMENT", 0, 0,
         "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", UPP_ECONTEXT},
        {400, "FAILED_PRECONDITION", 0, 0, "User location is not supported", UPP_EINVALID},
        {403, "PERMISSION_DENIED", 0, 0, "no", UPP_EAUTH},
        {404, "NOT_FOUND", 0, 0, "no", UPP_ENOMODEL},
        {429, "RESOURCE_EXHAUSTED", 0, 0, "no", UPP_ERATE},
        {429, "RESOURCE_EXHAUSTED", 0, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "no", UPP_ERATE},
        {429, "RESOURCE_EXHAUSTED", 0, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "no", UPP_EQUOTA},
        {499, "CANCELLED", 0, 0, "no", UPP_ECANCELED},
        {503, "UNAVAILABLE", 0, 0, "no", UPP_EPROVIDER},
        {504, "DEADLINE_EXCEEDED", 0, 0, "no", UPP_ETIMEOUT},
        {0, "DEADLINE_EXCEEDED", 0, 0, "no", UPP_ETIMEOUT},
        {0, "UNAUTHENTICATED", 0, 0, "no", UPP_EAUTH},
        {0, "PERMISSION_DENIED", 0, 0, "no", UPP_EAUTH},
        {0, "NOT_FOUND", 0, 0, "no", UPP_ENOMODEL},
        {0, "INVALID_ARGUMENT", 0, 0, "no", UPP_EINVALID},
        {0, "MALFORMED_FUNCTION_CALL", 0, 0, "no", UPP_EPROTO},

        /* Those that put the status into `code`: OpenRouter, vLLM, llama.cpp. */
        {0, 0, "429", 0, "no", UPP_ERATE},
        {0, 0, "402", 0, "no", UPP_EQUOTA},
        {0, 0, "502", 0, "no", UPP_EPROVIDER},
        {200, 0, "429", 0, "no", UPP_EPROVIDER}, /* a status that says something wins */
        {0, 0, "7", 0, "no", UPP_EPROVIDER},
        {403, 0, "403", "moderation", "no", UPP_EFILTERED},
        {400, "exceed_context_size_error", "400", 0, "no", UPP_ECONTEXT},
        {400, "BadRequestError", "400", 0, "This model's maximum context length is 4096 tokens.", UPP_ECONTEXT},
        {0, "BadRequestError", "400", 0, "This model's maximum context length is 4096 tokens.", UPP_ECONTEXT},
        {400, 0, 0, 0, "request (9000 tokens) exceeds the available context size (4096 tokens)", UPP_ECONTEXT},
        {413, 0, 0, 0, "context length", UPP_ECONTEXT},
        {503, "unavailable_error", "503", 0, "Loading model", UPP_EPROVIDER},

        /* Phrases are for those statuses alone. */
        {500, 0, 0, 0, "the context window of the server is closed", UPP_EPROVIDER},
        {404, 0, 0, 0, "no context window here", UPP_ENOMODEL},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err;
        struct upp__provider_error t = {.status = cases[i].status};
        test_note("case %zu", i);
        t.type = cases[i].type ? wb_cstr(cases[i].type) : t.type;
        t.code = cases[i].code ? wb_cstr(cases[i].code) : t.code;
        t.reason = cases[i].reason ? wb_cstr(cases[i].reason) : t.reason;
        t.message = cases[i].message ? wb_cstr(cases[i].message) : t.message;
        CHECK_INT(upp__provider_fail(&t, (struct upp_str){0}, &err), -cases[i].want);
        CHECK_INT(err.code, cases[i].want);
        CHECK_INT(upp__provider_fail(&t, (struct upp_str){0}, NULL), -cases[i].want);
    }
}

/* covers: UPP-9/2 */
TEST(trouble_error_keeps_what_the_vendor_said)
{
    struct upp_err err;
    struct upp__provider_error t = {
        .status = 429,
        .type = UPP_STR("rate_limit_error"),
        .code = UPP_STR("rate_limit_error"),
        .reason = UPP_STR("PerMinute"),
        .message = UPP_STR(" slow\ndown \xff "),
        .request_id = UPP_STR("req_1"),
        .retry_ms = 1500,
    };
    CHECK_INT(upp__provider_fail(&t, UPP_STR("sk-0123456789"), &err), -UPP_ERATE);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("slow down ?"));
    CHECK_STR(wb_cstr(err.cause), UPP_STR("rate_limit_error, PerMinute"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("req_1"));
    CHECK_INT(err.http, 429);
    CHECK_INT(err.retry_after_ms, 1500);

    t = (struct upp__provider_error){.status = 503, .message = UPP_STR(" \n"), .retry_ms = UINT64_MAX};
    CHECK_INT(upp__provider_fail(&t, (struct upp_str){0}, &err), -UPP_EPROVIDER);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("HTTP 503: the provider failed"));
    CHECK(err.retry_after_ms == UINT64_MAX && !err.cause[0] && !err.where[0] && !err.provider[0]);
    t = (struct upp__provider_error){.type = UPP_STR("overloaded_error")};
    CHECK_INT(upp__provider_fail(&t, (struct upp_str){0}, &err), -UPP_EPROVIDER);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the provider failed"));
    CHECK_STR(wb_cstr(err.cause), UPP_STR("overloaded_error"));
}

TEST(trouble_long_texts_are_cut)
{
    static char large[100000];
    struct upp_err err;
    memset(large, 'a', sizeof large);
    struct upp_str all = wb_str(large, sizeof large);
    struct upp__provider_error t = {
        .status = 500, .type = all, .code = wb_str(large, 500), .reason = wb_str(large, 400)};
    t.message = t.request_id = all;
    CHECK_INT(upp__provider_fail(&t, UPP_STR("0123456789"), &err), -UPP_EPROVIDER);
    CHECK_INT(strlen(err.msg), sizeof err.msg - 1);
    CHECK(wb_str_ends(wb_cstr(err.msg), UPP_STR("a...")));
    CHECK(strlen(err.cause) < sizeof err.cause && strlen(err.where) < sizeof err.where);
}

/* covers: UPP-9/4 */
TEST(trouble_never_shows_the_key)
{
    static const struct {
        const char *key, *message, *want;
    } cases[] = {
        {"sk-abc-0123456789", "Incorrect API key provided: sk-abc-0123456789.", "Incorrect API key provided: ***."},
        {"sk-abc-0123456789", "sk-abc-0123456789sk-abc-0123456789", "******"},
        {"sk-abc-0123456789", "wrong: sk-abc-01... ", "wrong: ***..."}, /* cut by the vendor */
        {"sk-abc-0123456789", "wrong: ...23456789", "wrong: ...***"},   /* its end */
        {"sk-abc-0123456789", "wrong: -abc-01234 no", "wrong: *** no"}, /* its middle */
        {"sk-abc-0123456789", "wrong: sk-abc-", "wrong: sk-abc-"},      /* seven bytes are no piece of it */
        {"sk-abc-0123456789", "sk-abc-sk-abc-0123456789", "sk-abc-***"},
        {"EMPTY", "the key EMPTY is wrong", "the key *** is wrong"}, /* shorter than a piece: as a whole */
        {"EMPTY", "the key EMPT is wrong", "the key EMPT is wrong"},
        {"x", "unexpected", "unexpected"}, /* no secret */
        {"", "nothing", "nothing"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err;
        struct upp_str message = wb_cstr(cases[i].message), key = wb_cstr(cases[i].key);
        struct upp__provider_error t = {.status = 401, .message = message, .code = message, .request_id = message};
        test_note("case %zu", i);
        CHECK_INT(upp__provider_fail(&t, key, &err), -UPP_EAUTH);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].want));
        CHECK(key.n < 4 || (!strstr(err.cause, cases[i].key) && !strstr(err.where, cases[i].key)));

        (void)upp_fail(&err, UPP_EAUTH, "%s", cases[i].message); /* one that was made without the key */
        (void)snprintf(err.cause, sizeof err.cause, "%s", cases[i].message);
        (void)snprintf(err.where, sizeof err.where, "%s", cases[i].message);
        upp__mask(&err, key);
        CHECK(strcmp(err.cause, err.msg) == 0 && strcmp(err.where, err.msg) == 0);
        CHECK_STR(wb_str_trim(wb_cstr(err.msg)), wb_cstr(cases[i].want));
    }
}

/* Wherever the end of the message comes to lie in the key, no eight bytes of it are left. */
TEST(trouble_key_is_masked_where_the_message_is_cut)
{
    static const char key[] = "sk-ant-0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t before = 180; before < 300; before++) {
        char message[512];
        struct upp_err err;
        struct upp__provider_error t = {.status = 401};
        memset(message, ' ', before);
        message[0] = '!';
        (void)snprintf(message + before, sizeof message - before, "%s!", key);
        t.message = wb_cstr(message);
        test_note("%zu bytes before it", before);
        CHECK_INT(upp__provider_fail(&t, wb_cstr(key), &err), -UPP_EAUTH);
        CHECK(!strstr(err.msg, "sk-ant-0"));
        (void)upp_fail(&err, UPP_EAUTH, "%s", message); /* cut already, with what there is of it */
        upp__mask(&err, wb_cstr(key));
        CHECK(!strstr(err.msg, "sk-ant-0"));
    }
}

TEST(trouble_durations)
{
    static const struct {
        const char *text;
        uint64_t ms; /* UINT64_MAX: none */
    } cases[] = {
        {"34.4s", 34400},
        {"34.400000000s", 34400},
        {"1s", 1000},
        {"6m0s", 360000},
        {"20ms", 20},
        {"1.5ms", 2}, /* up */
        {"1h2m3.5s", 3723500},
        {"0s", 0},
        {".5s", 500},
        {"5.s", 5000},
        {"1.1s", 1100},
        {"2.3s", 2300},
        {"0.0000000001s", 0}, /* finer than all digits that count */
        {"0.000000001s", 1},
        {"1000us", 1},
        {"1001us", 2},
        {"1\xc2\xb5s", 1},
        {"1\xce\xbcs", 1},
        {"1ns", 1},
        {"0.5ns", 1},
        {"2000000ns", 2},
        {"100h", 360000000},
        {"18446744073709551615ms", UINT64_MAX}, /* that is the number */
        {"18446744073709551616ms", UINT64_MAX},
        {"18446744073709551615ms1ms", UINT64_MAX},
        {"18446744073709551615s", UINT64_MAX},
        {"", UINT64_MAX},
        {"5", UINT64_MAX},
        {"s", UINT64_MAX},
        {".s", UINT64_MAX},
        {"-1s", UINT64_MAX},
        {"1 s", UINT64_MAX},
        {"1s ", UINT64_MAX},
        {"1d", UINT64_MAX},
        {"1s2", UINT64_MAX},
        {"1.2.3s", UINT64_MAX},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        uint64_t ms = UINT64_MAX;
        test_note("%s", cases[i].text);
        bool ok = upp__duration_ms(wb_cstr(cases[i].text), &ms);
        CHECK(ms == cases[i].ms);
        CHECK(ok == (ms != UINT64_MAX || i == 22));
    }
}

static uint64_t after(const char *name, const char *value)
{
    struct upp_header h = {wb_cstr(name), wb_cstr(value)};
    struct upp_http_head head = {.status = 429, .headers = &h, .n_headers = 1};
    return upp__retry_after(&head, NOW, 3600000);
}

/* covers: UPP-10/3 */
TEST(trouble_retry_after_in_all_its_spellings)
{
    static const struct {
        const char *name, *value;
        uint64_t ms;
    } cases[] = {
        {"x-should-retry", "false", UINT64_MAX},
        {"X-Should-Retry", "False", UINT64_MAX},
        {"x-should-retry", "true", 0},
        {"retry-after-ms", "1500", 1500},
        {"Retry-After-Ms", " 1500.2 ", 1501},
        {"retry-after-ms", "0", 1}, /* at once is something that was said */
        {"retry-after-ms", "-5", 0},
        {"retry-after-ms", "NaN", 0},
        {"retry-after-ms", "12x", 0},
        {"retry-after-ms", "2147483647", 3600000}, /* cut */
        {"retry-after-ms", "2147483648", 0},       /* nonsense */
        {"retry-after-ms", "99999999999999999999", 0},
        {"retry-after", "2", 2000},
        {"retry-after", "1.5", 1500},
        {"retry-after", "0.0001", 1},
        {"retry-after", "0", 1},
        {"retry-after", "-1", 0},
        {"retry-after", "", 0},
        {"retry-after", "soon", 0},
        {"retry-after", "3600", 3600000},
        {"retry-after", "3601", 3600000},
        {"retry-after", "2147483", 3600000},
        {"retry-after", "2147484", 0},
        {"retry-after", "99999999999999999999", 0},
        {"retry-after", "18446744073709551615", 0},
        {"retry-after", "30, 30", 30000}, /* two of them, joined */
        {"retry-after", "30s", 30000},
        {"retry-after", "1m30s", 90000},
        {"retry-after", "Thu, 10 Sep 2026 00:27:00 GMT", 20000},
        {"retry-after", "Thursday, 10-Sep-26 00:27:00 GMT", 20000},
        {"retry-after", "Thu Sep 10 00:27:00 2026", 20000},
        {"retry-after", "Thu, 10 sep 2026 00:27:00 UTC", 20000},
        {"retry-after", "Thu, 10 Sep 2026 00:26:60 GMT", 19000}, /* a leap second */
        {"retry-after", "2026-09-10T00:27:00Z", 20000},
        {"retry-after", "Thu, 10 Sep 2026 00:26:40 GMT", 1}, /* now */
        {"retry-after", "Thu, 10 Sep 2026 00:26:00 GMT", 1}, /* over */
        {"retry-after", "Sun Nov  6 08:49:37 1994", 1},
        {"retry-after", "Sunday, 06-Nov-94 08:49:37 GMT", 1},
        {"retry-after", "Thu, 10 Sep 2026 02:00:00 GMT", 3600000},
        {"retry-after", "Sun, 10 Sep 2056 00:27:00 GMT", 0}, /* nonsense */
        {"retry-after", "Thu, 31 Sep 2026 00:27:00 GMT", 0},
        {"retry-after", "Thu, 10 Foo 2026 00:27:00 GMT", 0},
        {"retry-after", "Thu, 10 Sep 2026 00:27:00 CET", 0},
        {"retry-after", "Thu, 10 Sep 2026 00:27:0 GMT", 0},
        {"retry-after", "Thu, 10 Sep 2026 24:27:00 GMT", 0},
        {"retry-after", "Thu, 10 Sep 99999 00:27:00 GMT", 0},
        {"retry-after", "Thu, 4294967306 Sep 2026 00:27:00 GMT", 0},
        {"retry-after", "Thu, 10 Sep 2026 00:27:00 GMT and more", 0},
        {"something-else", "5", 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%s: %s", cases[i].name, cases[i].value);
        CHECK(after(cases[i].name, cases[i].value) == cases[i].ms);
    }
}

TEST(trouble_years_of_two_digits_are_near)
{
    static const struct {
        int64_t now;
        const char *date;
        uint64_t ms;
    } cases[] = {
        {INT64_C(4102444795000), "Friday, 01-Jan-00 00:00:00 GMT", 5000}, /* five seconds before 2100 */
        {INT64_C(4102444805000), "Thursday, 31-Dec-99 23:59:59 GMT", 1},  /* just over */
        {INT64_C(946684795000), "Saturday, 01-Jan-00 00:00:10 GMT", 15000},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_header h = {UPP_STR("retry-after"), wb_cstr(cases[i].date)};
        struct upp_http_head head = {.headers = &h, .n_headers = 1};
        test_note("case %zu", i);
        CHECK_INT(upp__retry_after(&head, cases[i].now, 3600000), cases[i].ms);
    }
}

TEST(trouble_retry_headers_have_an_order)
{
    struct upp_header all[] = {
        {UPP_STR("retry-after"), UPP_STR("7")},
        {UPP_STR("retry-after-ms"), UPP_STR("1500")},
        {UPP_STR("x-should-retry"), UPP_STR("false")},
    };
    struct upp_http_head head = {.status = 429, .headers = all, .n_headers = 3};
    CHECK(upp__retry_after(&head, NOW, 3600000) == UINT64_MAX);
    all[2].value = UPP_STR("true");
    CHECK_INT(upp__retry_after(&head, NOW, 3600000), 1500);
    CHECK_INT(upp__retry_after(&head, NOW, 1000), 1000);
    all[1].value = UPP_STR("0");
    CHECK_INT(upp__retry_after(&head, NOW, 3600000), 7000);
    head.n_headers = 0;
    CHECK_INT(upp__retry_after(&head, NOW, 3600000), 0);
}

/* ---- Inside of a stream, where the adapter does not know the key ----------------------------- */

static int stub_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                     struct upp_http_call **ret, struct upp_err *err)
{
    (void)req, (void)wait, (void)err;
    *ret = arg; /* nobody but us looks at it */
    return 0;
}

static int stub_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    static const struct upp_header stream = {UPP_STR_INIT("content-type"), UPP_STR_INIT("text/event-stream")};

    (void)c, (void)err;
    *ret = (struct upp_http_head){200, &stream, 1};
    return 0;
}

static int stub_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    (void)err;
    *ret = wb_cstr((const char *)(const void *)c);
    return 1;
}

static void stub_close(struct upp_http_call *c)
{
    (void)c;
}

static int ask_stub(char *answer, struct upp_err *err)
{
    struct upp_transport t = {
        .size = sizeof t, .arg = answer, .send = stub_send, .head = stub_head, .read = stub_read, .close = stub_close};
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hi")};
    struct upp_message user = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list = &user;
    struct upp_request req = {.messages = &list, .n_messages = 1, .attempt = 1};
    struct upp_step_event ev;
    int r = upp_model_new(upp_openai("m", .api = "chat", .api_key = "sk-0123456789", .transport = &t), &m, err);
    if (r == 0)
        r = upp_step_open(m, &req, NULL, &step, err);
    while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0)
        ;
    return r;
}

TEST(trouble_in_a_stream_does_not_show_the_key)
{
    static char in_stream[] = "data: {\"error\":{\"message\":\"no: sk-0123456789\",\"code\":\"invalid_api_key\"}}\n\n";
    struct upp_err err = {0};
    CHECK_INT(ask_stub(in_stream, &err), -UPP_EAUTH);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no: ***"));
    CHECK_INT(ask_stub(in_stream, NULL), -UPP_EAUTH);
}
