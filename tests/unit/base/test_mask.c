#include "base/mask.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "support/test.h"

WB_DEFINE_CLEANUP(struct wb_hidden, wb_unhide)

static struct upp_str masked(const char *text, char *out, size_t size)
{
    return wb_mask(wb_cstr(text), out, size);
}

TEST(mask_finds_every_form)
{
    static const struct {
        const char *secret, *text, *want;
    } cases[] = {
        {"gw-7Qk/29\"xW\\plm zT", "it is gw-7Qk/29\"xW\\plm zT!", "it is ***!"},
        {"gw-7Qk/29\"xW\\plm zT", "it is gw-7Qk%2F29%22xW%5Cplm%20zT!", "it is ***!"},
        {"gw-7Qk/29\"xW\\plm zT", "it is gw-7Qk%2f29%22xW%5cplm%20zT!", "it is ***!"},
        {"gw-7Qk/29\"xW\\plm zT", "it is gw-7Qk/29\\\"xW\\\\plm zT!", "it is ***!"},
        {"gw-7Qk/29\"xW\\plm zT", "it is gw-7Qk\\/29\\\"xW\\\\plm zT!", "it is ***!"},
        {"p\xc3\xa4ssw\xc3\xb6rter", "it is p\\u00e4ssw\\u00f6rter!", "it is ***!"},
        {"secret-of-mine", "Basic c2VjcmV0LW9mLW1pbmU=", "Basic ***U="},         /* alone */
        {"secret-of-mine", "Basic dTpzZWNyZXQtb2YtbWluZQ==", "Basic dTp***Q=="}, /* "u:" before it */
        {"secret-of-mine", "Basic eDp5OnNlY3JldC1vZi1taW5l", "Basic eDp5On***"}, /* "x:y:" */
        {"secret-of-mine", "Basic eXl5c2VjcmV0LW9mLW1pbmVlbmQ=", "Basic eXl5***VlbmQ="},
        /* Pieces, of those that look like keys. */
        {"sk-abc-0123456789", "wrong: sk-abc-01... ", "wrong: ***... "},
        {"sk-abc-0123456789", "wrong: ...23456789", "wrong: ...***"},
        {"sk-abc-0123456789", "wrong: sk-abc-", "wrong: sk-abc-"},
        {"https://host.example/v1", "https://other.example/v1", "https://other.example/v1"},
        {"https://host.example/v1", "at https://host.example/v1/chat", "at ***/chat"},
        {"https://host.example/v1", "at https://host.exam", "at ***"}, /* the text ends inside of it */
        {"two words of it here", "two words of no", "two words of no"},
        {"short-one", "a short-on and a short-one", "a short-on and a ***"},
        /* Short ones. */
        {"a", "a banana", "a banana"},
        {"abc", "abc", "abc"},
        {"8080", "port 8080, not 18080 or 80801", "port ***, not 18080 or 80801"},
        {"EMPTY", "EMPTY is EMPTYs \"EMPTY\"", "*** is EMPTYs \"***\""},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
        char out[256];
        struct upp_err err;
        test_note("case %zu: %s", i, cases[i].text);
        CHECK_INT(wb_hide(wb_cstr(cases[i].secret), &h, &err), 0);
        CHECK_STR(masked(cases[i].text, out, sizeof out), wb_cstr(cases[i].want));
        h = wb_unhide(h);
        CHECK_STR(masked(cases[i].text, out, sizeof out), wb_cstr(cases[i].text)); /* nothing is hidden any more */
    }
}

/* Whatever stands before it in base64, nothing of it can be read back. */
TEST(mask_base64_at_every_place)
{
    static const char secret[] = "0123456789-abcdefghij";
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    struct upp_err err;
    CHECK_INT(wb_hide(wb_cstr(secret), &h, &err), 0);
    for (size_t before = 0; before < 12; before++) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        char plain[64], text[128] = "", out[128];
        int n = snprintf(plain, sizeof plain, "%.*s%s:end", (int)before, "user:pass:word", secret);
        size_t to = 0;
        for (int bit = 0; bit + 6 <= n * 8; bit += 6) {
            unsigned v = (unsigned char)plain[bit / 8] << 8 | (unsigned char)plain[bit / 8 + 1];
            text[to++] = letters[v >> (10 - bit % 8) & 63];
        }
        struct upp_str shown = wb_mask(wb_str(text, to), out, sizeof out);
        test_note("%zu bytes before it: %s", before, text);
        CHECK(wb_str_find(shown, UPP_STR("***"), 0) != SIZE_MAX && shown.n <= to - 4 * sizeof secret / 3 + 8);
    }
}

TEST(mask_leaves_json_what_it_is)
{
    WB_CLEANUP(wb_unhidep) struct wb_hidden *number = NULL, *quote = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1024);
    struct upp_err err;
    CHECK_INT(wb_hide(UPP_STR("12345678"), &number, &err), 0);
    CHECK_INT(wb_hide(UPP_STR("ab\"cd\\ef\"gh\\ij-klmnop"), &quote, &err), 0);
    CHECK(wb_mask_add(&b, UPP_STR("{\"n\":12345678,\"s\":\"x 12345678\",\"q\":\"ab\\\"cd\\\\ef\\\"gh\\\\ij-klmnop\"}"),
                      true));
    CHECK_STR(wb_buf_str(&b), UPP_STR("{\"n\":12345678,\"s\":\"x ***\",\"q\":\"***\"}"));
    wb_buf_clear(&b);
    CHECK(wb_mask_add(&b, UPP_STR("{\"q\":\"ab\\\"cd\\\\ef\\\"\"}"), true)); /* a piece that ends before an escape */
    CHECK_STR(wb_buf_str(&b), UPP_STR("{\"q\":\"***\"}"));
    wb_buf_clear(&b);
    CHECK(!wb_mask_add(&b, UPP_STR("{\"q\":\"none\\\\\"} \"cut"), true));
    CHECK_STR(wb_buf_str(&b), UPP_STR("{\"q\":\"none\\\\\"} \"cut"));
}

static void keep_line(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)level;
    wb_buf_add(arg, line);
}

TEST(mask_keeps_the_log_and_errors_clean)
{
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64 << 10);
    struct upp_err err;
    char longest[3000];
    CHECK_INT(wb_hide(UPP_STR("sk-log-0123456789abcdef"), &h, &err), 0);
    (void)upp_fail(&err, UPP_EAUTH, "wrong: sk-log-0123456789abcdef");
    wb_err_where(&err, UPP_STR("at sk-log-0123456789abcdef"));
    wb_log_setup(WB_INFO, WB_LOG_JSON, -1);
    wb_log_to(keep_line, &out);
    wb_log(WB_INFO, "one", WB_LZ("value", "a sk-log-0123456789abcdef b"), WB_LERR(&err));
    for (size_t before = 980; before < 1060; before += 4) { /* wherever the value is cut */
        memset(longest, 'x', before);
        (void)snprintf(longest + before, sizeof longest - before, "sk-log-0123456789abcdef");
        wb_log(WB_INFO, "long", WB_LZ("value", longest));
    }
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    CHECK(out.failed || wb_str_find(wb_buf_str(&out), UPP_STR("a *** b"), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("sk-log-0"), 0) == SIZE_MAX);
    wb_mask_err(&err);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("wrong: ***"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("at ***"));
    wb_mask_err(NULL);
}

/* Any bytes, long ones too, many at once: nothing is read or written outside (ASan), and each is found. */
TEST(mask_takes_anything)
{
    enum { MANY = 32 };
    struct wb_hidden *all[MANY] = {NULL};
    static char text[8192]; /* frames are small */
    char out[64];
    struct upp_err err;
    int r = 0;
    for (size_t i = 0; i < MANY && r == 0; i++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)(k * 31 + i * 7 + k / 256);
        r = wb_hide(wb_str(text + i, i * 200), &all[i], &err);
    }
    for (size_t i = 5; i < MANY && r == 0; i++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)(k * 31 + i * 7 + k / 256);
        struct upp_str s = wb_mask(wb_str(text, sizeof text), out, sizeof out);
        CHECK(s.p == out && s.n <= sizeof out);
    }
    for (size_t i = 0; i < MANY; i++)
        (void)wb_unhide(all[i]);
    CHECK_INT(r, 0);
}

TEST(mask_environment_is_wiped)
{
    CHECK(setenv("WEFT_TEST_WIPED", "sk-wiped-0123456789", 1) == 0);
    char *value = getenv("WEFT_TEST_WIPED");
    CHECK(value && value[0] == 's');
    wb_env_wipe("WEFT_TEST_WIPED");
    CHECK(!getenv("WEFT_TEST_WIPED"));
    wb_env_wipe("WEFT_TEST_WIPED"); /* twice is fine */
}
