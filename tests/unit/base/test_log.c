#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "support/test.h"

/* ---- A log that can be looked at ------------------------------------------------------------- */

static int64_t stopped_clock(void)
{
    return 1770091506789654321; /* 2026-02-03T04:05:06.789 */
}

/* Lines are kept, a line feed after each; time stands still. Everything else of the hooks stays. */
struct rig {
    struct upp_hooks before;
    char seen[16384];
    size_t n, lines;
};

static void keep_line(void *arg, enum wb_log_level level, struct upp_str line)
{
    struct rig *r = arg;
    (void)level;
    if (EXPECT(line.n + 1 <= sizeof r->seen - r->n)) {
        memcpy(r->seen + r->n, line.p, line.n);
        r->n += line.n;
        r->seen[r->n++] = '\n';
        r->lines++;
    }
}

static struct rig *rig_up(enum wb_log_level level, enum wb_log_format format)
{
    static struct rig one;
    struct upp_hooks mine;
    one.before = mine = *wb_hooks();
    one.n = one.lines = 0;
    mine.wall_ns = stopped_clock;
    if (upp_global_init(&mine, NULL) < 0)
        return NULL;
    wb_log_setup(level, format, -1);
    wb_log_to(keep_line, &one);
    return &one;
}

static void rig_down(struct rig **r)
{
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    wb_log_to(NULL, NULL);
    if (*r && upp_global_init(&(*r)->before, NULL) < 0)
        (void)EXPECT(!"the hooks are back");
}

static struct upp_str seen(struct rig *r)
{
    struct upp_str s = wb_str(r->seen, r->n);
    r->n = r->lines = 0;
    return s;
}

#define RIG(level, format) WB_CLEANUP(rig_down) struct rig *rig = rig_up(level, format)
#define TIME_TEXT          "time=2026-02-03T04:05:06.789Z "
#define TIME_JSON          "{\"time\":\"2026-02-03T04:05:06.789Z\","

/* ---- A reader of JSON, just enough to say that a line is one object of plain values ------------ */

static bool read_string(struct upp_str s, size_t *at)
{
    if (*at >= s.n || s.p[(*at)++] != '"')
        return false;
    for (; *at < s.n; (*at)++) {
        unsigned char c = (unsigned char)s.p[*at];
        if (c == '"') {
            (*at)++;
            return true;
        }
        if (c < 0x20)
            return false;
        if (c == '\\') {
            (*at)++;
            if (*at >= s.n || !strchr("\"\\nrtu", s.p[*at]))
                return false;
            for (int i = 0; s.p[*at - (size_t)i] == 'u' && i < 4; i++)
                if (*at + 4 >= s.n || !strchr("0123456789abcdef", s.p[*at + 1 + (size_t)i]))
                    return false;
        }
    }
    return false;
}

static bool is_json_line(struct upp_str s)
{
    size_t at = 1;
    if (s.n < 2 || s.p[0] != '{' || s.p[s.n - 1] != '\n' || !wb_utf8_valid(s, NULL))
        return false;
    for (;;) {
        if (!read_string(s, &at) || at >= s.n || s.p[at++] != ':')
            return false;
        if (at < s.n && s.p[at] == '"') {
            if (!read_string(s, &at))
                return false;
        } else {
            size_t from = at;
            char *end;
            char text[64] = "";
            struct upp_str word;
            while (at < s.n && s.p[at] != ',' && s.p[at] != '}')
                at++;
            word = wb_str_sub(s, from, at - from);
            if (word.n == 0 || word.n >= sizeof text)
                return false;
            memcpy(text, word.p, word.n);
            (void)!strtod(text, &end);
            bool number = *end == 0 && strchr("-0123456789", text[0]);
            if (!number && strcmp(text, "true") != 0 && strcmp(text, "false") != 0 && strcmp(text, "null") != 0)
                return false;
        }
        if (at < s.n && s.p[at] == ',')
            at++;
        else
            return at + 2 == s.n && s.p[at] == '}';
    }
}

/* ---- Tests ----------------------------------------------------------------------------------- */

TEST(log_writes_text)
{
    RIG(WB_INFO, WB_LOG_TEXT);
    CHECK(rig);
    wb_log(WB_INFO, "started");
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"started\"\n"));
    struct upp_err err;
    (void)upp_fail(&err, UPP_ERATE, "slow down");
    err.http = 429;
    err.retry_after_ms = 1500;
    wb_log(WB_WARN, "asked", WB_LS("run", UPP_STR("2c1e")), WB_LI("step", -3), WB_LD("ms", 1.5), WB_LB("last", true),
           WB_LU("big", UINT64_MAX), WB_LI("small", INT64_MIN), WB_LZ("none", NULL), WB_LS("empty", UPP_STR("")),
           WB_LERR(&err));
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=warn msg=\"asked\" run=2c1e step=-3 ms=1.5 last=true "
                                           "big=18446744073709551615 small=-9223372036854775808 none=null empty=\"\" "
                                           "err=\"slow down\" code=RATE_LIMITED http=429 retry_after_ms=1500\n"));
    (void)upp_fail(&err, UPP_ENOTFOUND, "%s", "");
    (void)snprintf(err.where, sizeof err.where, "/etc/x y");
    (void)snprintf(err.cause, sizeof err.cause, "ENOENT");
    wb_log(WB_ERROR, "lost", WB_LERR(&err), WB_LERR(NULL), WB_LERR(&(struct upp_err){0}), WB_LI("n", 0));
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=error msg=\"lost\" err=\"not found\" code=NOT_FOUND "
                                           "where=\"/etc/x y\" cause=ENOENT n=0\n"));
    wb_log(WB_INFO, "numbers", WB_LD("a", NAN), WB_LD("b", -INFINITY), WB_LD("c", 1e300), WB_LD("d", -0.1),
           WB_LD("e", 3));
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"numbers\" a=nan b=-inf c=1e+300 d=-0.1 e=3\n"));
}

TEST(log_writes_json)
{
    RIG(WB_INFO, WB_LOG_JSON);
    CHECK(rig);
    struct upp_err err;
    (void)upp_fail(&err, UPP_EAUTH, "no \"key\"");
    wb_log(WB_ERROR, "asked", WB_LS("run", UPP_STR("2c1e")), WB_LI("step", 3), WB_LD("ms", 1.5), WB_LD("nan", NAN),
           WB_LB("last", false), WB_LZ("none", NULL), WB_LERR(&err));
    CHECK(is_json_line(wb_str(rig->seen, rig->n)));
    CHECK_STR(seen(rig),
              UPP_STR(TIME_JSON "\"level\":\"error\",\"msg\":\"asked\",\"run\":\"2c1e\",\"step\":3,\"ms\":1.5,"
                                "\"nan\":null,\"last\":false,\"none\":null,\"err\":\"no \\\"key\\\"\","
                                "\"code\":\"AUTHENTICATION_FAILED\"}\n"));
}

TEST(log_writes_durations)
{
    WB_CLEANUP(rig_down) struct rig *r = rig_up(WB_INFO, WB_LOG_JSON);
    CHECK(r);
    wb_log(WB_INFO, "m", WB_LMS("a", 0), WB_LMS("b", 7), WB_LMS("c", 1234567), WB_LMS("d", 20));
    struct upp_str line = seen(r);
    CHECK(wb_str_find(line, UPP_STR(",\"a\":0.000,\"b\":0.007,\"c\":1234.567,\"d\":0.020}"), 0) != SIZE_MAX);
}

TEST(log_values_cannot_forge)
{
    static const struct {
        struct upp_str value;
        const char *text, *json;
    } cases[] = {
        {UPP_STR_INIT("a b"), "\"a b\"", "a b"},
        {UPP_STR_INIT("x=1"), "\"x=1\"", "x=1"},
        {UPP_STR_INIT("\" level=error msg=\"oh"), "\"\\\" level=error msg=\\\"oh\"", "\\\" level=error msg=\\\"oh"},
        {UPP_STR_INIT("a\nlevel=error"), "\"a\\nlevel=error\"", "a\\nlevel=error"},
        {UPP_STR_INIT("a\r\n\tb"), "\"a\\r\\n\\tb\"", "a\\r\\n\\tb"},
        {UPP_STR_INIT("a\\"), "\"a\\\\\"", "a\\\\"},
        {UPP_STR_INIT("\x1b[31mred"), "\"\\x1b[31mred\"", "\\u001b[31mred"},
        {UPP_STR_INIT("nul\0\x7f"), "\"nul\\x00\\x7f\"", "nul\\u0000\\u007f"},
        {UPP_STR_INIT("\xc3\xa4"), "\"\xc3\xa4\"", "\xc3\xa4"},
        {UPP_STR_INIT("\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), "\"\\u0085\\u2028\\u202e\\u2066\"",
         "\\u0085\\u2028\\u202e\\u2066"},
        {UPP_STR_INIT("a\xff\xc3"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"", "a\xef\xbf\xbd\xef\xbf\xbd"},
        {UPP_STR_INIT("\xed\xa0\xbd|"), "\"\xef\xbf\xbd|\"", "\xef\xbf\xbd|"}, /* half a pair: one mark */
        {UPP_STR_INIT("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char want[256];
        test_note("case %zu", i);
        {
            RIG(WB_INFO, WB_LOG_TEXT);
            wb_log(WB_INFO, "m", WB_LS("v", cases[i].value), WB_LI("after", 1));
            (void)snprintf(want, sizeof want, TIME_TEXT "level=info msg=\"m\" v=%s after=1\n", cases[i].text);
            CHECK_STR(seen(rig), wb_cstr(want));
        }
        RIG(WB_INFO, WB_LOG_JSON);
        wb_log(WB_INFO, "m", WB_LS("v", cases[i].value), WB_LI("after", 1));
        CHECK(is_json_line(wb_str(rig->seen, rig->n)));
        (void)snprintf(want, sizeof want, TIME_JSON "\"level\":\"info\",\"msg\":\"m\",\"v\":\"%s\",\"after\":1}\n",
                       cases[i].json);
        CHECK_STR(seen(rig), wb_cstr(want));
    }
}

TEST(log_never_shows_a_secret)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
    CHECK(wb_secret_new(UPP_STR("sk-very-secret"), &s, NULL) == 0);
    for (int json = 0; json < 2; json++) {
        RIG(WB_TRACE, json ? WB_LOG_JSON : WB_LOG_TEXT);
        wb_log(WB_TRACE, "m", WB_LSECRET("key", s), WB_LSECRET("none", NULL));
        struct upp_str line = seen(rig);
        CHECK(wb_str_find(line, UPP_STR("sk-"), 0) == SIZE_MAX && wb_str_find(line, UPP_STR("secret"), 0) == SIZE_MAX);
        CHECK(wb_str_ends(line, json ? UPP_STR("\"key\":\"***\",\"none\":null}\n") : UPP_STR(" key=*** none=null\n")));
    }
}

/* Every length around the limits, of plain text, of text that triples when escaped, and of characters of three
 * bytes; with fields after it that then may not fit. */
TEST_WITH(log_cuts_long_values_and_says_so, .no_torture = "it calls no hook that fails")
{
    static char text[4096];
    static const struct upp_str units[] = {UPP_STR_INIT("x"), UPP_STR_INIT("\x01"), UPP_STR_INIT("\xe2\x82\xac")};
    for (int json = 0; json < 2; json++)
        for (size_t u = 0; u < WB_LEN(units); u++) {
            size_t unit = units[u].n;
            for (size_t i = 0; i + unit <= sizeof text; i += unit)
                memcpy(text + i, units[u].p, unit);
            RIG(WB_INFO, json ? WB_LOG_JSON : WB_LOG_TEXT);
            for (size_t n = 0; n<sizeof text - unit; n += n> 200 && n < 900 ? 16 * unit : unit) {
                struct upp_str value = wb_str(text, n);
                test_note("json %d, unit %zu, %zu bytes", json, u, n);
                wb_log(WB_INFO, "m", WB_LS("a", value), WB_LS("b", value), WB_LI("c", 123456789));
                CHECK_INT(rig->lines, 1);
                struct upp_str line = seen(rig);
                bool marked = wb_str_ends(line, json ? UPP_STR(",\"cut\":true}\n") : UPP_STR(" cut=true\n"));
                bool whole =
                    wb_str_find(line, json ? UPP_STR("\"c\":123456789") : UPP_STR(" c=123456789"), 0) != SIZE_MAX;
                CHECK(line.n <= 2048 && wb_utf8_valid(line, NULL));
                CHECK(!json || is_json_line(line));
                CHECK(marked || whole);
                CHECK(n < 900 / 6 ? !marked : n > 1024 ? marked : true);
                /* A cut value ends in its mark. */
                CHECK(!marked || wb_str_find(line, UPP_STR("...\""), 0) != SIZE_MAX || !whole);
            }
        }
}

TEST(log_filters_by_level)
{
    unsigned evaluated = 0;
    for (int level = WB_OFF; level <= WB_TRACE; level++) {
        RIG((enum wb_log_level)level, WB_LOG_TEXT);
        CHECK(rig);
        wb_log(WB_ERROR, "m", WB_LI("n", ++evaluated));
        wb_log(WB_WARN, "m", WB_LI("n", ++evaluated));
        wb_log(WB_INFO, "m", WB_LI("n", ++evaluated));
        wb_log(WB_DEBUG, "m", WB_LI("n", ++evaluated));
        wb_log(WB_TRACE, "m", WB_LI("n", ++evaluated));
        CHECK_INT(rig->lines, level);
        CHECK(wb_log_on(WB_INFO) == (level >= WB_INFO));
    }
    CHECK_INT(evaluated, 0 + 1 + 2 + 3 + 4 + 5); /* a line that is not written is not even looked at */
}

static void inner(struct upp_str tool)
{
    WB_LOG_CTX(WB_LS("tool", tool), WB_LI("try", 2));
    wb_log(WB_INFO, "called", WB_LI("ms", 5));
}

TEST(log_context_is_on_every_line_of_its_scope)
{
    RIG(WB_INFO, WB_LOG_TEXT);
    CHECK(rig);
    {
        WB_LOG_CTX(WB_LS("run", UPP_STR("r1")));
        inner(UPP_STR("search"));
        CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"called\" run=r1 tool=search try=2 ms=5\n"));
        wb_log(WB_INFO, "after");
        CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"after\" run=r1\n"));

        /* Another fiber, and back. */
        struct wb_log_field fields[] = {WB_LS("run", UPP_STR("r2")), {.kind = WB_LOG_END}};
        struct wb_log_ctx other = {.fields = fields};
        struct wb_log_ctx *mine = wb_log_ctx_swap(&other);
        wb_log(WB_INFO, "other");
        bool same = wb_log_ctx_swap(mine) == &other;
        CHECK(same);
        CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"other\" run=r2\n"));
        wb_log(WB_INFO, "mine");
        CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"mine\" run=r1\n"));
    }
    wb_log(WB_INFO, "outside");
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"outside\"\n"));
    struct wb_log_ctx *left = wb_log_ctx_swap(NULL);
    CHECK(!left);
}

static void deeper(int depth)
{
    WB_LOG_CTX(WB_LI("d", depth));
    if (depth < 20)
        deeper(depth + 1);
    else
        wb_log(WB_INFO, "deep");
}

TEST(log_context_keeps_the_innermost)
{
    RIG(WB_INFO, WB_LOG_TEXT);
    CHECK(rig);
    deeper(1);
    CHECK_STR(seen(rig), UPP_STR(TIME_TEXT "level=info msg=\"deep\" d=5 d=6 d=7 d=8 d=9 d=10 d=11 d=12 d=13 d=14 "
                                           "d=15 d=16 d=17 d=18 d=19 d=20 cut=true\n"));
}

static void chatty(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)line;
    *(unsigned *)arg += level == WB_ERROR;
    wb_log(WB_ERROR, "from the sink");
}

TEST(log_sink_cannot_recurse)
{
    unsigned calls = 0;
    uint64_t before = wb_log_lost();
    RIG(WB_INFO, WB_LOG_TEXT);
    CHECK(rig);
    wb_log_to(chatty, &calls);
    wb_log(WB_ERROR, "m");
    wb_log(WB_ERROR, "m");
    CHECK_INT(calls, 2);
    CHECK_INT(wb_log_lost() - before, 2);
}

/* Made by others: as they are, at any level, in the same place. */
TEST(log_takes_lines_of_others)
{
    RIG(WB_ERROR, WB_LOG_JSON);
    CHECK(rig);
    CHECK_INT(wb_log_format_of(), WB_LOG_JSON);
    wb_log_put(WB_DEBUG, UPP_STR("\n[DEBUG] as it is\n"));
    wb_log(WB_INFO, "not in force");
    CHECK_STR(seen(rig), UPP_STR("[DEBUG] as it is\n"));
}

TEST(log_writes_whole_lines_to_a_descriptor)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/log", test_folder());
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4096);
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(open)(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0);
    {
        RIG(WB_INFO, WB_LOG_TEXT);
        CHECK(rig);
        wb_log_setup(WB_INFO, WB_LOG_TEXT, fd);
        wb_log_to(NULL, NULL);
        wb_log(WB_INFO, "one");
        wb_log(WB_INFO, "two");
        wb_log_put(WB_INFO, UPP_STR("\ntime=3\n"));
    }
    CHECK(wb_file_read(path, &text, NULL) == 0);
    /* Under torture lines may be missing, but none is ever glued to another. */
    struct upp_str rest = wb_buf_str(&text), line;
    while (wb_str_split(&rest, '\n', &line))
        ALWAYS(line.n == 0 || wb_str_eq(line, UPP_STR(TIME_TEXT "level=info msg=\"one\"")) ||
               wb_str_eq(line, UPP_STR(TIME_TEXT "level=info msg=\"two\"")) || wb_str_eq(line, UPP_STR("time=3")));
    CHECK_STR(wb_buf_str(&text),
              UPP_STR(TIME_TEXT "level=info msg=\"one\"\n" TIME_TEXT "level=info msg=\"two\"\ntime=3\n"));
}

static int answer;
static char written[4096];
static size_t written_n;
static int64_t odd_write(int fd, const void *p, size_t n)
{
    static const int64_t answers[] = {-EINTR, 10, -EIO, -ENOSPC, 1 << 20, 1 << 20};
    (void)fd;
    int64_t r = answers[answer++];
    if (r < 0)
        return r;
    n = n < (size_t)r ? n : (size_t)r;
    memcpy(written + written_n, p, n);
    written_n += n;
    return (int64_t)n;
}

TEST_WITH(log_failed_writes_are_counted_and_not_fatal, .no_torture = "it replaces the hook that fails")
{
    uint64_t before = wb_log_lost();
    answer = 0;
    written_n = 0;
    RIG(WB_INFO, WB_LOG_TEXT);
    CHECK(rig);
    struct upp_hooks odd = *wb_hooks();
    odd.write = odd_write;
    CHECK(upp_global_init(&odd, NULL) == 0);
    wb_log_to(NULL, NULL);
    wb_log(WB_INFO, "torn");  /* interrupted, ten bytes, then an error */
    wb_log(WB_INFO, "lost");  /* nothing at all */
    wb_log(WB_INFO, "three"); /* on a line of its own */
    wb_log(WB_INFO, "four");
    CHECK_INT(wb_log_lost() - before, 2);
    CHECK_STR(wb_str(written, written_n),
              UPP_STR("time=2026-\n" TIME_TEXT "level=info msg=\"three\"\n" TIME_TEXT "level=info msg=\"four\"\n"));
}

TEST(log_numbers_do_not_follow_the_locale)
{
    char was[128];
    (void)snprintf(was, sizeof was, "%s", setlocale(LC_NUMERIC, NULL));
    RIG(WB_INFO, WB_LOG_JSON);
    CHECK(rig);
    /* Where no such locale is installed this shows nothing, and does not fail. */
    (void)(setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"));
    wb_log(WB_INFO, "m", WB_LD("d", 1234.5));
    (void)setlocale(LC_NUMERIC, was);
    CHECK_STR(seen(rig), UPP_STR(TIME_JSON "\"level\":\"info\",\"msg\":\"m\",\"d\":1234.5}\n"));
}

static void *log_much(void *arg)
{
    WB_LOG_CTX(WB_LZ("thread", arg));
    for (int i = 0; i < 500; i++)
        wb_log(WB_INFO, "a line of some length, so that two of them would be seen to mix", WB_LI("i", i));
    return NULL;
}

TEST_WITH(log_lines_of_threads_do_not_mix, .no_torture = "what a thread logs when writing fails is shown above")
{
    char path[512], a[] = "a", b[] = "b";
    (void)snprintf(path, sizeof path, "%s/log", test_folder());
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20);
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(open)(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0);
    RIG(WB_INFO, WB_LOG_JSON);
    CHECK(rig);
    wb_log_setup(WB_INFO, WB_LOG_JSON, fd);
    wb_log_to(NULL, NULL);
    pthread_t t;
    CHECK(pthread_create(&t, NULL, log_much, a) == 0);
    (void)log_much(b);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(wb_file_read(path, &text, NULL) == 0);
    struct upp_str rest = wb_buf_str(&text), line;
    size_t n = 0;
    while (wb_str_split(&rest, '\n', &line) && line.n) {
        n++;
        CHECK(is_json_line(wb_str(line.p, line.n + 1)));
    }
    CHECK_INT(n, 1000);
}
