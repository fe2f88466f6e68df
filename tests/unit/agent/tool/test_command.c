#include "agent/tool/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sim/sim.h"
#include "support/command.h"
#include "support/fibers.h"

WEFT_SUSPENDS static int one(void *arg, struct upp_err *err)
{
    return test_command(arg, err);
}

/* Runs a case and gives what a model is told: "json: ...", "text: ..." or "error: ...". */
static int told(struct command_case *c, struct wb_buf *to, struct upp_err *err)
{
    int r = test_on_loop(one, c, err);
    bool json, failed;
    if (r < 0)
        return r;
    wb_buf_add(to, UPP_STR("......"));
    r = wa_command_result(&c->end, to, &json, &failed, err);
    if (to->n >= 6)
        memcpy(to->p, failed ? "error:" : json ? "json: " : "text: ", 6);
    wa_command_end_done(&c->end);
    return r;
}

static bool nothing_left(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

TEST_WITH(command_gives_json, .seconds = 120)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "cat", .arguments = UPP_STR("{\"city\":\"Tokyo\",\"n\":1e400}")};
    int r = told(&c, &text, &err);
    ALWAYS(nothing_left());
    CHECK_INT(r, 0);
    CHECK_STR(wb_buf_str(&text), UPP_STR("json: {\"city\":\"Tokyo\",\"n\":1e400}"));
}

TEST_WITH(command_says_how_it_ended, .no_torture = "command_gives_json is tortured")
{
    static const struct {
        const char *script;
        struct upp_str want;
    } rows[] = {
        {"echo hello", UPP_STR_INIT("text: hello")},
        {"echo; echo two lines; echo", UPP_STR_INIT("text: \ntwo lines")},
        {"echo ' [1, 2] '", UPP_STR_INIT("json: [1, 2]")},
        {"echo '[1, 2'", UPP_STR_INIT("text: [1, 2")},
        {"echo 18", UPP_STR_INIT("json: 18")},
        {"true", UPP_STR_INIT("text: ")},
        {"printf 'a\\377b'", UPP_STR_INIT("text: a\xef\xbf\xbd"
                                          "b")},
        {"echo noise >&2; echo good", UPP_STR_INIT("text: good")},
        {"echo lost; echo oops >&2; exit 3", UPP_STR_INIT("error:the program ended with exit code 3:\noops")},
        {"echo oops; exit 1", UPP_STR_INIT("error:the program ended with exit code 1:\noops")},
        {"exit 255", UPP_STR_INIT("error:the program ended with exit code 255")},
        {"kill -TERM $$", UPP_STR_INIT("error:the program was killed by signal 15 (Terminated)")},
        {"kill -KILL $$", UPP_STR_INIT("error:the program was killed by signal 9 (Killed)")},
        {"kill -SEGV $$", UPP_STR_INIT("error:the program was killed by signal 11 (Segmentation fault)")},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
        struct upp_err err;
        struct command_case c = {.script = rows[i].script};
        test_note("%s", rows[i].script);
        CHECK_INT(told(&c, &text, &err), 0);
        CHECK_STR(wb_buf_str(&text), rows[i].want);
        CHECK(nothing_left());
    }
}

TEST_WITH(command_that_cannot_start_is_named, .no_torture = "command_gives_json is tortured")
{
    static const struct upp_str names[] = {UPP_STR_INIT("/nonexistent/program"), UPP_STR_INIT("no-such-program"),
                                           UPP_STR_INIT("/etc/passwd"), UPP_STR_INIT("/etc")};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
        struct upp_err err;
        struct command_case c = {.opts = {.words = &names[i], .n_words = 1}};
        CHECK_INT(told(&c, &text, &err), 0);
        CHECK(wb_str_starts(wb_buf_str(&text), UPP_STR("error:the program ended with exit code 127:\nweft-reaper: ")));
        CHECK(wb_str_find(wb_buf_str(&text), names[i], 0) != SIZE_MAX);
    }
}

TEST_WITH(command_without_its_reaper, .no_torture = "nothing is started")
{
    WB_CLEANUP(wa_command_freep) struct wa_command *c = NULL;
    struct upp_str words = UPP_STR("true");
    struct wa_command_opts opts = {.size = sizeof opts, .words = &words, .n_words = 1};
    struct upp_err err;
    CHECK_INT(wa_command_new(&opts, &c, &err), -UPP_ENOTFOUND); /* neither installed nor beside this program */
    CHECK(!c && strstr(err.msg, "WEFT_REAPER"));
}

TEST(command_options_are_checked)
{
    static const char nul[] = "a\0b";
    struct upp_str good = UPP_STR("x"), bad = {nul, 3};
    const struct {
        struct upp_str word;
        struct wa_variable v;
    } rows[] = {
        {bad, {.name = good}},         {UPP_STR(""), {.name = good}},
        {good, {.name = bad}},         {good, {.name = UPP_STR("a=b")}},
        {good, {.name = UPP_STR("")}}, {good, {.name = good, .value = bad}},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wa_command_freep) struct wa_command *c = NULL;
        struct upp_err err;
        struct wa_command_opts opts = {
            .size = sizeof opts, .words = &rows[i].word, .n_words = 1, .env = &rows[i].v, .n_env = 1, .reaper = "/x"};
        test_note("row %zu", i);
        CHECK_INT(wa_command_new(&opts, &c, &err), -UPP_EINVALID);
        CHECK(!c);
    }
}

/* ---- Limits ---- */

TEST_WITH(command_output_is_cut, .seconds = 120)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "yes", .opts = {.output_kb = 64}};
    int r = told(&c, &text, &err);
    ALWAYS(nothing_left());
    CHECK_INT(r, 0);
    CHECK_STR(wb_str_sub(wb_buf_str(&text), 6 + 65536, 100),
              UPP_STR("\n[cut: the program wrote more than 64 KiB and was ended]"));
    CHECK(wb_str_starts(wb_buf_str(&text), UPP_STR("error:y\ny\n")));
}

TEST_WITH(command_output_at_its_limit_is_whole, .no_torture = "command_output_is_cut is tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "head -c 65536 /dev/zero | tr '\\0' x", .opts = {.output_kb = 64}};
    CHECK_INT(told(&c, &text, &err), 0);
    CHECK(text.n == 65536 + 6 && wb_str_starts(wb_buf_str(&text), UPP_STR("text: xxx")));
}

TEST_WITH(command_keeps_the_end_of_its_errors, .no_torture = "command_output_is_cut is tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1"};
    CHECK_INT(told(&c, &text, &err), 0);
    CHECK(text.n < WA_COMMAND_TAIL + 100 && wb_str_ends(wb_buf_str(&text), UPP_STR("xxx"
                                                                                   "the end")));
}

WEFT_SUSPENDS static int soon_over(void *arg, struct upp_err *err)
{
    WEFT_DEADLINE(20);
    return test_command(arg, err);
}

TEST_WITH(command_is_ended_when_time_is_up, .seconds = 120)
{
    struct upp_err err;
    char key[80];
    struct command_case c = {.script = "trap '' TERM; sleep 1000 & sleep 1000", .key = test_key(key, sizeof key)};
    int r = test_on_loop(soon_over, &c, &err);
    ALWAYS(nothing_left() && test_processes(key) == 0);
    CHECK_INT(r, -UPP_ETIMEOUT);
}

TEST_WITH(command_has_a_limit_of_its_own, .no_torture = "command_is_ended_when_time_is_up is tortured")
{
    struct upp_err err;
    struct command_case c = {.script = "sleep 1000", .opts = {.seconds = 1}};
    CHECK_INT(test_on_loop(one, &c, &err), -UPP_ETIMEOUT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the program did not end within 1 seconds and was ended"));
    CHECK(nothing_left());
}

TEST_WITH(command_has_limits_of_memory_and_time, .no_torture = "command_gives_json is tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "ulimit -v; ulimit -t; ulimit -c", .opts = {.memory_mb = 64, .seconds = 17}};
    CHECK_INT(told(&c, &text, &err), 0);
    CHECK_STR(wb_buf_str(&text), UPP_STR("text: 65536\n17\n0"));
    wb_buf_clear(&text);
    c.script = "dd if=/dev/zero of=/dev/null bs=200M count=1 2>&1";
    CHECK_INT(told(&c, &text, &err), 0);
    CHECK(wb_str_starts(wb_buf_str(&text), UPP_STR("error:the program ended with exit code 1:\n")));
    wb_buf_clear(&text);
    c.opts.memory_mb = UINT32_MAX;
    CHECK_INT(told(&c, &text, &err), 0);
    CHECK(wb_str_starts(wb_buf_str(&text), UPP_STR("text: 1+0")));
}

/* In a simulated world programs say nothing and end when they should. */
WEFT_SUSPENDS static int simulated(void *arg, struct upp_err *err)
{
    struct upp_str word = UPP_STR("tool");
    struct wa_command_opts opts = {.size = sizeof opts, .words = &word, .n_words = 1, .reaper = "reaper"};
    WB_CLEANUP(wa_command_freep) struct wa_command *command = NULL;
    TRY(wa_command_new(&opts, &command, err));
    return wa_command_run(command, UPP_STR("{}"), UPP_STR("key"), arg, err);
}

TEST(command_in_a_simulated_world)
{
    static const uint64_t ms[] = {5, 3600000};
    for (size_t i = 0; i < WB_LEN(ms); i++) {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        WB_CLEANUP(wa_command_end_done) struct wa_command_end end = {0};
        struct upp_err err;
        CHECK(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 1 + i), &w, &err) == 0);
        CHECK(weft__sim_program(w, "reaper", ms[i], 3 << 8, &err) == 0);
        int r = weft_loop_run(weft__sim_loop(w, 0), "test", simulated, &end, &err);
        ALWAYS(weft__sim_children(w) == 0 && weft__sim_open_fds(w) == 0);
        CHECK_INT(r, i == 0 ? 0 : -UPP_ETIMEOUT);
        CHECK(r < 0 || (end.status == 3 << 8 && end.out.n == 0));
    }
}

/* ---- What it gets ---- */

TEST_WITH(command_that_does_not_read_its_arguments, .no_torture = "command_gives_json is tortured")
{
    static char big[1 << 20];
    memset(big, 'x', sizeof big);
    static const char *const scripts[] = {"echo done", "exec 0<&-; sleep 0.01; echo done", "sleep 1000 & echo done",
                                          "head -c 10 >/dev/null; echo done"};
    for (size_t i = 0; i < WB_LEN(scripts); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
        struct upp_err err;
        struct command_case c = {.script = scripts[i], .arguments = {big, sizeof big}};
        test_note("%s", scripts[i]);
        CHECK_INT(told(&c, &text, &err), 0);
        CHECK_STR(wb_buf_str(&text), UPP_STR("text: done"));
    }
    struct command_case c = {.script = "wc -c", .arguments = {big, sizeof big}};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    CHECK_INT(told(&c, &text, NULL), 0);
    CHECK_STR(wb_buf_str(&text), UPP_STR("json: 1048576"));
}

TEST(command_has_exactly_its_environment)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    WB_CLEANUP(wb_secret_freep) struct wb_secret *secret = NULL;
    struct upp_err err;
    CHECK(wb_secret_new(UPP_STR("s3cret"), &secret, &err) == 0);
    const struct wa_variable env[] = {{.name = UPP_STR("LANG"), .value = UPP_STR("C")},
                                      {.name = UPP_STR("EMPTY"), .value = UPP_STR("")},
                                      {.name = UPP_STR("KEY"), .secret = secret}};
    const struct upp_str env_program = UPP_STR("/usr/bin/env");
    struct command_case c = {.opts = {.words = &env_program, .n_words = 1, .env = env, .n_env = WB_LEN(env)},
                             .key = "k 1"};
    int r = told(&c, &text, &err);
    ALWAYS(nothing_left());
    CHECK_INT(r, 0);
    CHECK_STR(wb_buf_str(&text), UPP_STR("text: LANG=C\nEMPTY=\nKEY=s3cret\nWEFT_CALL_KEY=k 1"));
}

TEST_WITH(command_has_three_descriptors_and_a_folder, .no_torture = "command_gives_json is tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 20);
    struct upp_err err;
    struct command_case c = {.script = "pwd; ls /proc/self/fd | wc -l; trap; cat </dev/stdin; echo >/dev/stderr",
                             .opts = {.folder = UPP_STR("/usr")}};
    int leak = fcntl(1, F_DUPFD, 20); /* as a library might have left it: without close-on-exec */
    int r = told(&c, &text, &err);
    (void)close(leak);
    CHECK_INT(r, 0);
    CHECK_STR(wb_buf_str(&text), UPP_STR("text: /usr\n4")); /* the fourth is ls reading the folder */
    if (test_on_valgrind())
        return; /* posix_spawn does not tell there that the folder is missing */
    wb_buf_clear(&text);
    c.opts.folder = UPP_STR("/nonexistent");
    CHECK_INT(told(&c, &text, &err), -UPP_ENOTFOUND);
}
