#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/defs.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
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
    int r = upp_fail(&err, UPP_ENOTFOUND, "no such file");
    r = upp_wrap(&err, r, "message %d", 3);
    r = upp_wrap(&err, r, "thread '%s'", "t1");
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
    char text[600];
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

/* The list is part of the interface: numbers are compiled into programs, names are in stored documents. */
TEST(err_codes_stay_what_they_are)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8192);
    for (int code = 1; strcmp(upp_code_name(code), "UNKNOWN") != 0; code++)
        wb_buf_addf(&b, "%d %s: %s\n", code, upp_code_name(code), upp_code_text(code));
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK_GOLDEN("errors/codes.txt", wb_buf_str(&b));
}

/* Context may take half of a message, and is marked too where it does not fit. */
TEST(err_wrap_marks_context_that_was_cut)
{
    char text[300];
    for (size_t n = 120; n < sizeof text; n++) {
        struct upp_err err;
        memset(text, 'x', n);
        text[n] = 0;
        int r = upp_fail(&err, UPP_EPROTO, "the cause");
        r = upp_wrap(&err, r, "%s", text);
        CHECK_INT(r, -UPP_EPROTO);
        CHECK(wb_str_ends(wb_cstr(err.msg), n <= 128 ? UPP_STR("xx: the cause") : UPP_STR("xx...: the cause")));
        CHECK_INT(strlen(err.msg), WB_MIN(n, (size_t)128) + sizeof ": the cause" - 1);
    }
}

/* A file name or a provider's text may be any bytes; a message is UTF-8 and can be written as JSON. */
TEST(err_messages_are_utf8_whatever_was_put_in)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"caf\xe9.txt", "caf?.txt"},          {"\x80\xff\xc0\xaf", "????"},
        {"a\xed\xa0\xbdz", "a\xef\xbf\xbdz"}, {"\xf0\x9f\x98\x80 \xf0\x9f\x98", "\xf0\x9f\x98\x80 ???"},
        {"\xf4\x90\x80\x80", "????"},
    };
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        (void)upp_fail(&err, UPP_EPROTO, "%s", cases[i].in);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].out));
        wb_err_where(&err, wb_cstr(cases[i].in));
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].out));
    }
    char text[400];
    unsigned x = 1;
    for (int k = 0; k < 2000; k++) { /* bytes at random, most of them pieces of longer characters */
        size_t n = (size_t)k % sizeof text;
        for (size_t i = 0; i < n; i++) {
            x = x * 1103515245u + 12345u;
            text[i] = "\xed\xa0\x80\xbd\xf0\x9f\x98\x80\xc3\xa9\xe2\xff\x01 ab"[x >> 16 & 15];
        }
        text[n] = 0;
        (void)upp_fail(&err, UPP_EPROTO, "%s", text);
        CHECK(wb_utf8_valid(wb_cstr(err.msg), NULL));
        (void)upp_wrap(&err, -UPP_EPROTO, "%s", text);
        CHECK(wb_utf8_valid(wb_cstr(err.msg), NULL));
        (void)wb_fail_sys(&err, -ENOENT, UPP_ESTORE, "%s", text);
        CHECK(wb_utf8_valid(wb_cstr(err.msg), NULL));
        wb_err_where(&err, wb_str(text, n));
        CHECK(wb_utf8_valid(wb_cstr(err.where), NULL));
    }
}

TEST(err_codes_have_names)
{
    CHECK_STR(wb_cstr(upp_code_name(-UPP_ERATE)), UPP_STR("RATE_LIMITED"));
    CHECK_STR(wb_cstr(upp_code_name(UPP_ECANCELED)), UPP_STR("CANCELLED"));
    CHECK_STR(wb_cstr(upp_code_name(0)), UPP_STR("UNKNOWN"));
    CHECK_STR(wb_cstr(upp_code_text(-UPP_EWAIT)), UPP_STR("waiting for an answer from outside"));
    CHECK_STR(wb_cstr(upp_code_text(9999)), UPP_STR("unknown error"));
}

TEST(err_where_keeps_the_end)
{
    struct upp_err err = {0};
    char path[400];
    wb_err_where(&err, UPP_STR("/a/b"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/a/b"));
    wb_err_where(&err, UPP_STR("/a\n\0b"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/a  b"));
    for (size_t n = 100; n < sizeof path; n++) { /* every alignment of a 3-byte character at the cut */
        for (size_t i = 0; i < n; i++)
            path[i] = "\xe2\x82\xac"[i % 3];
        memcpy(path + n - n % 3, "/end", n % 3);
        wb_err_where(&err, wb_str(path, n));
        size_t got = strlen(err.where);
        CHECK(n < sizeof err.where ? got == n : got > sizeof err.where - 4 && got < sizeof err.where);
        CHECK(n < sizeof err.where || wb_str_starts(wb_cstr(err.where), UPP_STR("...\xe2\x82\xac")));
        CHECK(memcmp(err.where + got - 6, path + n - 6, 6) == 0);
    }
    wb_err_where(&err, (struct upp_str){0});
    CHECK_STR(wb_cstr(err.where), UPP_STR(""));
    wb_err_where(NULL, UPP_STR("x"));
}

TEST(err_says_what_the_system_said)
{
    static const struct {
        int number;
        int code;
        const char *msg, *cause;
    } cases[] = {
        {ENOENT, UPP_ENOTFOUND, "cannot open x: no such file or directory", "ENOENT"},
        {EACCES, UPP_EREFUSED, "cannot open x: permission denied", "EACCES"},
        {ENOMEM, UPP_ENOMEM, "cannot open x: cannot allocate memory", "ENOMEM"},
        {ENOSPC, UPP_ESTORE, "cannot open x: no space left on device", "ENOSPC"},
        {EMFILE, UPP_ELIMIT, "cannot open x: too many open files", "EMFILE"},
        {EAGAIN, UPP_EBUSY, "cannot open x: resource temporarily unavailable", "EAGAIN"},
        {EDOTDOT, UPP_ESTORE, "cannot open x: RFS specific error", "EDOTDOT"},
        {98765, UPP_ESTORE, "cannot open x: unknown error", "errno 98765"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err;
        CHECK_INT(wb_fail_sys(&err, -cases[i].number, UPP_ESTORE, "cannot open %s", "x"), -cases[i].code);
        CHECK_INT(err.code, cases[i].code);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
        CHECK_STR(wb_cstr(err.cause), wb_cstr(cases[i].cause));
        CHECK_INT(wb_fail_sys(NULL, -cases[i].number, UPP_ESTORE, "x"), -cases[i].code);
    }
}
