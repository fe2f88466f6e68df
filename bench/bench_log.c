/* bench/bench_log.c — the tail of a long thread beside that of a short one, and what a fork costs.
 *
 * On both stores; the file is made in a folder of its own below /tmp.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <weft/fiber.h>

#include "bench.h"
#include "log/log.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/sqlite.h"

enum { SHORT = 100, LONG = 100000, TAIL = 20, FORKS = 2000, SHARED = 500 /* rows of one commit while filling */ };

static const struct wl_owner owner = {UPP_STR_INIT("bench"), UPP_STR_INIT("")};
static struct wl_store *store;
static struct wl_thread threads[2]; /* the short one, the long one */
static struct upp_err err;

static void need(int r)
{
    if (r < 0) {
        (void)fprintf(stderr, "bench_log: %s\n", err.msg);
        exit(1);
    }
}

/* One row a message, as a talk makes them. */
WEFT_SUSPENDS static void fill(const struct wl_thread *t, uint32_t n)
{
    static struct wl_row rows[SHARED];
    static struct wl_change changes[SHARED];
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("about as much text as people write in a message")};
    struct wm_entry e = {.kind = WM_ENTRY_MESSAGE,
                         .origin = WM_ORIGIN_CLIENT,
                         .audience = WM_AUDIENCE_ALL,
                         .message = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1}};
    struct wb_buf body = WB_BUF(1u << 16);
    need(wm_row_write(&(struct wm_row){.time_ms = 1, .entries = &e, .n_entries = 1}, &body, &err));
    for (uint32_t at = 0; at < n;) {
        struct wl_commit c = {.owner = owner, .changes = changes};
        for (; at < n && c.n < SHARED; c.n++, at++) {
            rows[c.n] = (struct wl_row){
                .node = t->head, .pos = wl_pos(at, 0), .n_entries = 1, .format = WM_FORMAT, .body = wb_buf_str(&body)};
            changes[c.n] = (struct wl_change){.kind = WL_ADD_ROW, .row = &rows[c.n]};
        }
        need(wl_store_commit(store, &c, &err));
    }
    wb_buf_done(&body);
}

/* As a client that opens a thread does: by its id, to its last messages. */
WEFT_SUSPENDS static void tails(const struct wl_thread *t, unsigned times)
{
    char text[WB_UUID_TEXT + 1];
    struct upp_str id = wb_uuid_text(t->id, text);
    for (unsigned i = 0; i < times; i++) {
        struct wb_arena a = WB_ARENA(1u << 20); /* what is read must fit */
        struct wl_thread found;
        struct wl_end end;
        struct wl_path path;
        struct wl_line *lines;
        size_t n;
        need(wl_thread_find(store, &owner, id, &a, &found, &err));
        need(wl_node_end(store, &owner, found.head, &end, &err));
        need(wl_path_open(store, &owner, found.head, end.length, &a, &path, &err));
        need(wl_path_tail(store, &owner, &path, path.length, TAIL, &a, &lines, &n, &err));
        if (n != TAIL)
            abort();
        bench_keep(lines);
        wb_arena_done(&a);
    }
}

WEFT_SUSPENDS static void short_tails(unsigned times)
{
    tails(&threads[0], times);
}

WEFT_SUSPENDS static void long_tails(unsigned times)
{
    tails(&threads[1], times);
}

WEFT_SUSPENDS static void forks(unsigned times)
{
    struct wb_arena a = WB_ARENA(1u << 20);
    for (unsigned i = 0; i < times; i++) {
        struct wl_thread t;
        wb_arena_reset(&a);
        need(wl_fork(store, &threads[1], threads[1].head, LONG / 2 + i % 100, &a, &t, &err));
    }
    wb_arena_done(&a);
}

static long resident_kib(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* BENCH with the time of all threads: a store in a file reads on workers. */
static double process_ns(void (*fn)(unsigned), unsigned times)
{
    struct timespec from, to;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    fn(times);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / times;
}

WEFT_SUSPENDS static void measure_tails(const char *name, unsigned times)
{
    const struct bench b = {.name = name, .times = times, .goal_ratio = 1.3};
    double product[BENCH_ROUNDS], floor[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
    long_tails(times);
    long before = resident_kib();
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        floor[i] = process_ns(short_tails, times);
        product[i] = process_ns(long_tails, times);
        ratio[i] = product[i] / floor[i];
    }
    bench_row(&b, bench_median(product), bench_median(floor), bench_median(ratio));
    (void)printf("%-28s %9ld KiB more at the most\n", "  resident", resident_kib() - before);
}

WEFT_SUSPENDS static void make_threads(void)
{
    struct wb_arena a = WB_ARENA(1u << 20);
    for (int i = 0; i < 2; i++) {
        need(wl_thread_new(store, &owner, NULL, &a, &threads[i], &err));
        threads[i].owner = owner; /* the arena ends here */
        fill(&threads[i], i ? LONG : SHORT);
    }
    wb_arena_done(&a);
}

static void measure_memory(void)
{
    need(ws_memory_open(&store, &err));
    make_threads();
    measure_tails("tail of 100,000, memory", 1000);
    BENCH(.name = "fork of 100,000, memory", .product = forks, .times = 2000, .goal_ns = 25000);
    store->ops->close(store);
}

static long long file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? -1 : (long long)st.st_size;
}

WEFT_SUSPENDS static int measure_file(void *arg, struct upp_err *unused)
{
    const char *path = arg;
    (void)unused;
    need(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path), &store, &err));
    make_threads();
    measure_tails("tail of 100,000, SQLite", 200);
    store->ops->close(store);
    long long before = file_bytes(path); /* closed: nothing is left in the write-ahead log */
    need(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path), &store, &err));
    forks(FORKS);
    store->ops->close(store);
    double each = (double)(file_bytes(path) - before) / FORKS;
    (void)printf("%-28s %9.0f bytes of file            goal <= 200 bytes  %s\n", "fork of 100,000, SQLite", each,
                 each <= 200 ? "ok" : "MISSED");
    return 0;
}

int main(void)
{
    char folder[] = "/tmp/bench_log_XXXXXX", path[64], remove[96];
    struct weft_loop *loop;
    measure_memory();
    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof path, "%s/weft.db", folder);
    need(weft_loop_open(NULL, &loop, &err));
    need(weft_loop_run(loop, "bench", measure_file, path, &err));
    weft_loop_close(loop);
    (void)snprintf(remove, sizeof remove, "rm -r %s", folder);
    return system(remove) != 0;
}
