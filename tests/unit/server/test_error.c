#include "server/http/error.h"

#include <stdio.h>

#include "base/defs.h"
#include "json/read.h"
#include "log/store.h"
#include "support/test.h"

static void donep(struct sv_exchange *x)
{
    sv_reply_done(&x->reply);
}

TEST(error_statuses)
{
    static const struct {
        int code;
        const char *cause;
        uint64_t retry;
        int status;
    } cases[] = {
        {UPP_ENOTFOUND, "", 0, 404}, {UPP_EINVALID, "", 0, 400},     {UPP_EBUSY, "", 0, 400},
        {UPP_EREFUSED, "", 0, 400},  {UPP_ELIMIT, "", 0, 400},       {UPP_ELIMIT, "", 1, 429},
        {UPP_ESTORE, "", 0, 500},    {UPP_ESTORE, "ENOSPC", 0, 507}, {UPP_ESTORE, WL_DISK_FULL, 0, 507},
        {UPP_ENOMEM, "", 0, 503},    {UPP_EAUTH, "", 0, 401},        {UPP_ECANCELED, "", 0, 503},
        {UPP_EBUG, "", 0, 500},      {UPP_ETIMEOUT, "", 0, 504},     {UPP_ERATE, "", 0, 429},
        {UPP_EPROVIDER, "", 0, 502}, {UPP_EWAIT, "", 0, 500},        {999, "", 0, 500},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {.code = cases[i].code, .retry_after_ms = cases[i].retry};
        (void)snprintf(err.cause, sizeof err.cause, "%s", cases[i].cause);
        test_note("code %d", cases[i].code);
        CHECK_INT(sv_error_status(NULL, &err), cases[i].status);
    }
}

/* No code is forgotten, and none is a conflict that clients would try again. */
TEST(error_every_code_has_a_status)
{
    for (int code = 1; code <= UPP_EBUG; code++) {
        struct upp_err err = {.code = code};
        int s = sv_error_status(NULL, &err);
        CHECK((s >= 400 && s < 500 && s != 409) || s == 500 || s == 502 || s == 503 || s == 504);
        CHECK(s != 500 || code == UPP_ESTORE || code == UPP_EWAIT || code == UPP_EBUG);
    }
}

TEST(error_object)
{
    WB_CLEANUP(donep) struct sv_exchange x = {0};
    struct upp_err err;
    sv_reply_init(&x.reply);
    (void)upp_fail(&err, UPP_EINVALID, "expected a \"string\"");
    (void)snprintf(err.where, sizeof err.where, "/messages/0");
    wb_buf_add(&x.reply.body, UPP_STR("half an ans"));
    sv_error_reply(&x, NULL, &err);
    CHECK_INT(x.reply.status, 400);
    CHECK_STR(wb_buf_str(&x.reply.body), UPP_STR("{\"error\":{\"message\":\"expected a \\\"string\\\"\",\"type\":"
                                                 "\"invalid_request_error\",\"param\":\"/messages/0\",\"code\":"
                                                 "\"invalid_request\"}}"));
    CHECK_STR(wb_buf_str(&x.reply.headers), UPP_STR(""));

    /* What went wrong inside is not told. */
    (void)upp_fail(&err, UPP_ESTORE, "/var/secret/place is broken");
    sv_error_reply(&x, NULL, &err);
    CHECK_STR(wb_buf_str(&x.reply.body),
              UPP_STR("{\"error\":{\"message\":\"the store failed\",\"type\":\"server_error\","
                      "\"param\":null,\"code\":\"store_error\"}}"));

    /* That the disk is full is; where its files are is not. */
    (void)upp_fail(&err, UPP_ESTORE, "the disk is full");
    (void)snprintf(err.where, sizeof err.where, "/var/weft.db");
    (void)snprintf(err.cause, sizeof err.cause, WL_DISK_FULL);
    sv_error_reply(&x, NULL, &err);
    CHECK_INT(x.reply.status, 507);
    CHECK_STR(wb_buf_str(&x.reply.body),
              UPP_STR("{\"error\":{\"message\":\"the disk is full\",\"type\":\"server_error\","
                      "\"param\":null,\"code\":\"insufficient_storage\"}}"));

    (void)upp_fail(&err, UPP_ELIMIT, "slow down");
    err.retry_after_ms = 1001;
    sv_error_reply(&x, NULL, &err);
    CHECK_INT(x.reply.status, 429);
    CHECK_STR(wb_buf_str(&x.reply.headers), UPP_STR("Retry-After: 2\r\n"));

    sv_error_refuse(&x, NULL, 431, "too much");
    CHECK_STR(wb_buf_str(&x.reply.body),
              UPP_STR("{\"error\":{\"message\":\"too much\",\"type\":\"invalid_request_error\","
                      "\"param\":null,\"code\":\"headers_too_large\"}}"));
}

/* A door may have statuses and a form of its own, in which it may name the request. */
static void write_plain(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out)
{
    wb_buf_addf(out, "%s: %d %s %.*s", x->request_id, e->status, e->code, UPP_FMT(e->message));
}

TEST(error_of_a_door)
{
    static const struct sv_status statuses[] = {{UPP_EBUSY, 409}, {0, 0}};
    static const struct sv_door door = {.name = "own", .prefix = "/own", .error = write_plain, .statuses = statuses};
    WB_CLEANUP(donep) struct sv_exchange x = {.request_id = "req-1"};
    struct upp_err err;
    sv_reply_init(&x.reply);
    (void)upp_fail(&err, UPP_EBUSY, "another run holds it");
    sv_error_reply(&x, &door, &err);
    CHECK_INT(x.reply.status, 409);
    CHECK_STR(wb_buf_str(&x.reply.body), UPP_STR("req-1: 409 conflict another run holds it"));
    CHECK_INT(sv_error_status(NULL, &err), 400);
    (void)upp_fail(&err, UPP_ENOTFOUND, "no thread");
    CHECK_INT(sv_error_status(&door, &err), 404);
    sv_error_refuse(&x, &door, 405, "this route has other methods");
    CHECK_STR(wb_buf_str(&x.reply.body), UPP_STR("req-1: 405 method_not_allowed this route has other methods"));
}
