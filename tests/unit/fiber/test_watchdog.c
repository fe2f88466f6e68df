#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hooks.h"
#include "base/log.h"
#include "support/fibers.h"

struct seen {
    _Atomic int n;
    _Atomic uint64_t ms, id;
    char name[32];
    int before; /* reports before the long stretch: of a machine that gave us no time */
};

static void report(void *arg, const char *fiber, uint64_t id, uint64_t held_ms)
{
    struct seen *s = arg;
    if (atomic_load(&s->n) == 0) {
        strncpy(s->name, fiber, sizeof s->name - 1);
        s->id = id;
        s->ms = held_ms;
    }
    atomic_fetch_add(&s->n, 1);
}

static void spin_ms(uint64_t ms)
{
    for (uint64_t end = WB_CALL(mono_ns)() + ms * 1000000; WB_CALL(mono_ns)() < end;)
        ;
}

/* Until it is told of, and as long again: once is enough. */
static void hold_on(struct seen *s)
{
    s->before = atomic_load(&s->n);
    for (int i = 0; i < 1000 && atomic_load(&s->n) == s->before; i++)
        spin_ms(20);
    spin_ms(80);
}

static int holds(void *arg, struct upp_err *err)
{
    for (int i = 0; i < 10; i++) { /* many short stretches are fine */
        spin_ms(4);
        TRY(weft_yield(err));
    }
    TRY(weft_sleep_ms(50, err)); /* so is waiting */
    hold_on(arg);
    TRY(weft_yield(err));
    return 0;
}

TEST_WITH(watchdog_names_who_holds_the_loop, .no_torture = "it measures time; nothing in it can fail but its start")
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    UPP_CLEANUP(weft_watchdog_stopp) struct weft_watchdog *w = NULL;
    struct seen seen = {.n = 0};
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK(weft_watchdog_start(&l, 1, UPP_OPTS(weft_watchdog_opts, .over_ms = 40, .report = report, .arg = &seen), &w,
                              &err) == 0);
    CHECK_INT(weft_loop_run(l, "greedy", holds, &seen, &err), 0);
    weft_watchdog_stop(w);
    w = NULL;
    CHECK_INT(seen.n, seen.before + 1); /* once for the stretch */
    CHECK(strcmp(seen.name, "greedy") == 0 && seen.id == 1 && seen.ms >= 40);
}

TEST(watchdog_starts_and_stops)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    UPP_CLEANUP(weft_watchdog_stopp) struct weft_watchdog *w = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK(weft_watchdog_start(&l, 1, NULL, &w, &err) == 0);
}

/* Until the log says so; however long a machine without time takes for it. */
static int holds_long(void *arg, struct upp_err *err)
{
    struct pollfd log = {.fd = *(int *)arg, .events = POLLIN};
    (void)err;
    for (int i = 0; i < 1000 && poll(&log, 1, 0) == 0; i++)
        spin_ms(20);
    return 0;
}

static void with_the_default(void)
{
    char text[1024];
    int log[2];
    struct weft_loop *l = NULL;
    struct weft_watchdog *w = NULL;
    if (pipe(log) < 0)
        return;
    wb_log_setup(WB_WARN, WB_LOG_TEXT, log[1]);
    if (weft_loop_open(NULL, &l, NULL) < 0 || weft_watchdog_start(&l, 1, NULL, &w, NULL) < 0 ||
        weft_loop_run(l, "hog", holds_long, &log[0], NULL) < 0)
        return;
    weft_watchdog_stop(w);
    weft_loop_close(l);
    (void)close(log[1]);
    for (ssize_t n; (n = read(log[0], text, sizeof text)) > 0;)
        (void)!write(2, text, (size_t)n);
}

TEST_WITH(watchdog_says_it_in_the_log, .no_torture = "it measures time, in a forked child")
{
    char text[2048];
    int status = test_in_child(with_the_default, text, sizeof text);
    test_note("%s", text);
    const char *said = strstr(text, "level=warn msg=\"fiber has held the loop\" fiber=hog id=1 ms=");
    CHECK(status == 0 && said && atoi(strstr(said, "ms=") + 3) >= 100);
}
