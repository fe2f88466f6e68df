/* A durable step: what it costs in processor time, bytes and syncs, however long the history is.
 *
 *     bench_step                      the table: 10 to 10,000 messages of history, one session and 64; and runs of one
 *                                     step on threads of 100 to 100,000 messages, with memory that truncates
 *     bench_step long                 only those
 *     bench_step HISTORY STEPS [async]
 *                                     one run of so many steps, for a profiler
 *
 * A step is one answer of 400 bytes that ends a step: C2 and C4 in one row, one commit, one sync.
 */
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/middleware/middleware.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hooks.h"
#include "bench.h"
#include "run/engine.h"
#include "still.h"
#include "stores/sqlite/sqlite.h"

static const struct wl_owner owner = {.tenant = UPP_STR_INIT("local"), .user = UPP_STR_INIT("")};

enum { ANSWER = 400, SESSIONS = 64, BATCH = 200, LONG_RUNS = 100 };

static char folder[] = "/tmp/weft-bench-XXXXXX";
static unsigned steps_wanted;
static struct weft_workers *workers; /* of the loop; NULL: as many as usual */

static void must(int r, const struct upp_err *err)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "bench_step: %s %s\n", err->msg, err->where);
    exit(1);
}

/* ---- A model that always says the same, whatever the history --------------------------------------------------- */

static char answer[ANSWER + 1];

static int says_open(struct upp_step *s, struct upp_err *err)
{
    (void)s;
    (void)err;
    return 0;
}

static int says_next(struct upp_step *s, struct upp_step_event *ev, struct upp_err *err)
{
    unsigned *at = upp_step_state(s);
    (void)err;
    switch ((*at)++) {
    case 0:
        *ev = (struct upp_step_event){.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_TEXT};
        return 1;
    case 1:
        *ev = (struct upp_step_event){.kind = UPP_STEP_DELTA, .text = {answer, ANSWER}};
        return 1;
    case 2:
        *ev = (struct upp_step_event){.kind = UPP_STEP_PART_CLOSE};
        return 1;
    default:
        *ev =
            (struct upp_step_event){.kind = UPP_STEP_END, .stop = UPP_STOP_END, .usage = {.input = 10, .output = 100}};
        return 1;
    }
}

static const struct upp_model_ops says_ops = {
    .size = sizeof says_ops, .provider = "bench", .step_size = sizeof(unsigned), .open = says_open, .next = says_next};
static const struct upp_model says = {.ops = &says_ops, .name = UPP_STR_INIT("bench")};

/* ---- A strategy of many steps ------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int many_steps(struct weft_run *run, struct upp_err *err)
{
    while (run->state.step + 1 < steps_wanted) {
        const struct weft_reply *reply;
        int r = weft_run_ask(run, "act", NULL, &reply, err);
        if (r < 0 || (r = weft_run_step_end(run, err)) < 0)
            return r;
    }
    return 0;
}

static const struct weft_strategy strategy = {.name = "steps", .execute = many_steps};
static const struct wr_agent_def agent = {.name = UPP_STR_INIT("bench"),
                                          .id = UPP_STR_INIT("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"),
                                          .model = &says,
                                          .strategy = &strategy};

/* It answers once. Its model receives the end of the history. */
static struct wr_agent_def short_agent = {.name = UPP_STR_INIT("short"),
                                          .id = UPP_STR_INIT("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c12"),
                                          .model = &says,
                                          .strategy = &weft_strategy_loop};

static const struct wr_agent_def *find_agent(void *arg, struct upp_str name)
{
    (void)arg;
    if (wb_str_eq(name, short_agent.name))
        return &short_agent;
    return wb_str_eq(name, agent.name) ? &agent : NULL;
}

/* ---- One measurement ------------------------------------------------------------------------- */

struct work {
    struct wl_store *store;
    struct wr_engine *engine;
    unsigned history, sessions;
    uint8_t durability;
    bool is_short; /* its runs are those of short_agent */
    struct wb_uuid threads[SESSIONS];
};

static struct upp_part hello_part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("hello there")};
static struct upp_message hello = {.role = UPP_ROLE_USER, .parts = &hello_part, .n_parts = 1};

static WEFT_SUSPENDS int fill(struct work *w, unsigned i, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread t;
    static struct wm_entry entries[BATCH];
    int r = wl_thread_new(w->store, &owner, NULL, &a, &t, err);
    for (unsigned k = 0; k < BATCH; k++)
        entries[k] = (struct wm_entry){
            .kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .message = hello};
    for (unsigned left = w->history; r >= 0 && left;) {
        unsigned n = left < BATCH ? left : BATCH;
        uint32_t index;
        r = wl_append(w->store, &owner, &t, entries, n, &index, err);
        left -= n;
    }
    w->threads[i] = t.id;
    wb_arena_done(&a);
    return r;
}

static WEFT_SUSPENDS int fill_all(void *arg, struct upp_err *err)
{
    struct work *w = arg;
    int r = 0;
    for (unsigned i = 0; r >= 0 && i < w->sessions; i++)
        r = fill(w, i, err);
    return r;
}

static WEFT_SUSPENDS int run_all(void *arg, struct upp_err *err)
{
    static struct wr_started s[SESSIONS];
    struct work *w = arg;
    int r = 0;
    for (unsigned i = 0; r >= 0 && i < w->sessions; i++) {
        struct wr_start what = {.owner = owner,
                                .thread = w->threads[i],
                                .agent = w->is_short ? short_agent.name : agent.name,
                                .input = &hello,
                                .durability = w->durability};
        r = wr_start(w->engine, &what, &s[i], err);
    }
    for (unsigned i = 0; r >= 0 && i < w->sessions; i++) {
        uint8_t status;
        r = wr_wait(w->engine, &owner, s[i].run, &status, err);
        if (r >= 0 && status != WM_COMPLETED)
            r = upp_fail(err, UPP_EBUG, "a run did not complete");
    }
    return r;
}

static double cpu_us(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double wall_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct figures {
    double cpu, wall;
    uint64_t bytes, syncs, transactions, rows;
};

static WEFT_SUSPENDS int close_all(void *arg, struct upp_err *err)
{
    struct work *w = arg;
    (void)err;
    wr_engine_close(w->engine);
    w->store->ops->close(w->store);
    return 0;
}

static void open_all(struct work *w, struct weft_loop *loop, const char *path)
{
    struct upp_err err = {0};
    must(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path), &w->store, &err), &err);
    must(wr_engine_open(loop, UPP_OPTS(wr_engine_opts, .agent = find_agent, .store = w->store), &w->engine, &err),
         &err);
}

static struct figures count(const struct work *w)
{
    return (struct figures){.cpu = cpu_us(),
                            .wall = wall_us(),
                            .bytes = w->store->count.bytes,
                            .syncs = w->store->count.syncs,
                            .transactions = w->store->count.transactions,
                            .rows = w->store->count.rows};
}

/* The histories are written first, and the store is opened again: what it owes for them is paid then. */
static struct figures measure(unsigned history, unsigned sessions, unsigned steps, uint8_t durability)
{
    struct upp_err err = {0};
    struct weft_loop *loop;
    struct work w = {.history = history, .sessions = sessions, .durability = durability};
    char path[96];
    static unsigned serial;
    (void)snprintf(path, sizeof path, "%s/%u.db", folder, serial++);
    steps_wanted = steps;
    must(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = workers), &loop, &err), &err);
    open_all(&w, loop, path);
    must(weft_loop_run(loop, "fill", fill_all, &w, &err), &err);
    must(weft_loop_run(loop, "close", close_all, &w, &err), &err);
    open_all(&w, loop, path);
    struct figures from = count(&w);
    must(weft_loop_run(loop, "runs", run_all, &w, &err), &err);
    struct figures to = count(&w);
    must(weft_loop_run(loop, "close", close_all, &w, &err), &err);
    weft_loop_close(loop);
    return (struct figures){.cpu = to.cpu - from.cpu,
                            .wall = to.wall - from.wall,
                            .bytes = to.bytes - from.bytes,
                            .syncs = to.syncs - from.syncs,
                            .transactions = to.transactions - from.transactions,
                            .rows = to.rows - from.rows};
}

/* What a run costs apart from its steps is taken off: a run of many steps less a run of one. */
static void step_row(unsigned history, unsigned steps)
{
    struct figures one = measure(history, 1, 1, WM_SYNC), many = measure(history, 1, steps + 1, WM_SYNC);
    double n = steps, bytes = (double)(many.bytes - one.bytes) / n;
    (void)printf("step at %-6u messages %9.1f us CPU  %6.0f bytes (new JSON ~%d)  %5.2f syncs  goal <= 1.25 x %d + "
                 "300, 1 sync  %s\n",
                 history, (many.cpu - one.cpu) / n, bytes, ANSWER, (double)(many.syncs - one.syncs) / n, ANSWER,
                 bytes <= 1.25 * ANSWER + 300 && many.syncs - one.syncs == steps ? "ok" : "MISSED");
}

/* The same where no step waits for the disk. */
static void async_row(unsigned history, unsigned steps)
{
    struct figures one = measure(history, 1, 1, WM_ASYNC), many = measure(history, 1, steps + 1, WM_ASYNC);
    double cpu = (many.cpu - one.cpu) / steps, wall = (many.wall - one.wall) / steps;
    (void)printf("async step at %-6u messages %6.1f us CPU  %6.1f us  goal <= 25 us CPU  %s\n", history, cpu, wall,
                 cpu <= 25 ? "ok" : "MISSED");
}

/* One run after the other on a thread of so many messages: the first one, and those after it. */
static void measure_long(unsigned history, double *first, double *wall, double *cpu)
{
    struct upp_err err = {0};
    struct weft_loop *loop;
    struct work w = {.history = history, .sessions = 1, .durability = WM_ASYNC, .is_short = true};
    char path[96];
    (void)snprintf(path, sizeof path, "%s/long-%u.db", folder, history);
    must(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = workers), &loop, &err), &err);
    open_all(&w, loop, path);
    must(weft_loop_run(loop, "fill", fill_all, &w, &err), &err);
    must(weft_loop_run(loop, "close", close_all, &w, &err), &err);
    open_all(&w, loop, path);
    double from = wall_us();
    must(weft_loop_run(loop, "runs", run_all, &w, &err), &err);
    *first = wall_us() - from;
    from = wall_us();
    double used = cpu_us();
    for (unsigned i = 0; i < LONG_RUNS; i++)
        must(weft_loop_run(loop, "runs", run_all, &w, &err), &err);
    *wall = (wall_us() - from) / LONG_RUNS;
    *cpu = (cpu_us() - used) / LONG_RUNS;
    must(weft_loop_run(loop, "close", close_all, &w, &err), &err);
    weft_loop_close(loop);
}

static void long_rows(void)
{
    static const unsigned histories[] = {100, 1000, 100000};
    const struct weft_middleware list[] = {weft_memory(.max_tokens = 1000)};
    struct upp_err err = {0};
    double first[3], wall[3], cpu[3];
    must(wa_middleware_new(list, WB_LEN(list), NULL, &short_agent.middleware, &err), &err);
    for (size_t i = 0; i < WB_LEN(histories); i++)
        measure_long(histories[i], &first[i], &wall[i], &cpu[i]);
    for (size_t i = 0; i < WB_LEN(histories); i++)
        (void)printf("run at %-6u messages, truncate %9.1f us CPU  %9.1f us  the first one %9.1f us  goal <= 1.3 of "
                     "that at 1000  %s\n",
                     histories[i], cpu[i], wall[i], first[i], cpu[i] <= 1.3 * cpu[1] ? "ok" : "MISSED");
    wa_middleware_free(short_agent.middleware);
}

int main(int argc, char **argv)
{
    if (!mkdtemp(folder))
        return perror("bench_step"), 1;
    memset(answer, 'x', ANSWER);
    if (argc >= 3) {
        struct upp_err err = {0};
        must(stand_still(&err), &err);
        /* Two would read at the same moment, or not, and the second reader opens the file again. */
        must(weft_workers_open(UPP_OPTS(weft_workers_opts, .max_threads = 1), &workers, &err), &err);
        (void)measure((unsigned)atoi(argv[1]), 1, (unsigned)atoi(argv[2]), argc > 3 ? WM_ASYNC : WM_SYNC);
    } else if (argc == 2) {
        long_rows();
    } else {
        static const unsigned histories[] = {10, 100, 1000, 10000};
        for (size_t i = 0; i < WB_LEN(histories); i++)
            step_row(histories[i], 200);
        for (size_t i = 0; i < WB_LEN(histories); i++)
            async_row(histories[i], 2000);
        struct figures f = measure(10, SESSIONS, 50, WM_SYNC);
        (void)printf("64 sessions, 50 steps each  %7.0f steps/s  %.1f us CPU a step  %.2f syncs a step  %.1f rows a "
                     "transaction\n",
                     SESSIONS * 50 / (f.wall / 1e6), f.cpu / (SESSIONS * 50), (double)f.syncs / (SESSIONS * 50),
                     (double)f.rows / (double)f.transactions);
        long_rows();
    }
    weft_workers_close(workers);
    char remove[128];
    (void)snprintf(remove, sizeof remove, "rm -r %s", folder);
    return system(remove) != 0;
}
