#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "support/test.h"

TEST(err_fail_fills_everything_and_returns_the_code)
{
    struct upp_err err;
    memset(&err, 0xff, sizeof err);
    CHECK_INT(upp_fail(&err, UPP_EINVALID, "port '%s' is not 1..65535", "x"), -UPP_EINVALID);
    CHECK_INT(err.code, UPP_EINVALID);
    CHECK(err.http == 0 && err.retry_after_ms == 0 && !err.provider[0] && !err.where[0] && !err.cause[0]);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("port 'x' is not 1..65535"));
    CHECK_INT(upp_fail(NULL, UPP_ENOMEM, "%d", 1), -UPP_ENOMEM);
}

TEST(err_wrap_puts_context_before)
{
    struct upp_err err = {0};
    int            r   = upp_fail(&err, UPP_ENOTFOUND, "no such file");
    r                  = upp_wrap(&err, r, "message %d", 3);
    r                  = upp_wrap(&err, r, "thread '%s'", "t1");
    CHECK_INT(r, -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("thread 't1': message 3: no such file"));
    err = (struct upp_err){0};
    CHECK_INT(upp_wrap(&err, -UPP_ETIMEOUT, "asking"), -UPP_ETIMEOUT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("asking: timed out"));
    CHECK_INT(upp_wrap(NULL, -UPP_EBUSY, "x"), -UPP_EBUSY);
}

TEST(err_messages_are_one_line_and_cut_at_a_character)
{
    struct upp_err err;
    char           text[600];
    for (size_t lead = 0; lead < 4; lead++) { /* every alignment of a 3-byte character at the cut */
        memset(text, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        (void)upp_fail(&err, UPP_EPROTO, "%s", text);
        size_t n = strlen(err.msg);
        CHECK(n < sizeof err.msg && n > sizeof err.msg - 8);
        CHECK(wb_str_ends(wb_cstr(err.msg), UPP_STR("\xe2\x82\xac...")));
        (void)upp_wrap(&err, -UPP_EPROTO, "%s", text);
        CHECK(strlen(err.msg) < sizeof err.msg);
    }
    (void)upp_fail(&err, UPP_EPROTO, "a\nb\r\tc\x1b[0m");
    CHECK_STR(wb_cstr(err.msg), UPP_STR("a b  c [0m"));
}

TEST(err_codes_have_names)
{
    CHECK_STR(wb_cstr(upp_code_name(-UPP_ERATE)), UPP_STR("RATE_LIMITED"));
    CHECK_STR(wb_cstr(upp_code_name(UPP_ECANCELED)), UPP_STR("CANCELLED"));
    CHECK_STR(wb_cstr(upp_code_name(0)), UPP_STR("UNKNOWN"));
    CHECK_STR(wb_cstr(upp_code_text(-UPP_EWAIT)), UPP_STR("waiting for an answer from outside"));
    CHECK_STR(wb_cstr(upp_code_text(9999)), UPP_STR("unknown error"));
}
