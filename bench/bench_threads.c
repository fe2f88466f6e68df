/* bench/bench_threads.c — opening one thread of very many: a database of 1,000,000 beside one of 10,000.
 *
 * As a client does: by the thread's id, to its last messages. Threads are taken at random, so that what is read is in
 * no cache of ours; both databases are in the system's. Reads are measured in turns, in CPU time of all threads of the
 * process.
 *
 *     bench_threads [FOLDER]     where the files are made; they are removed. Default: a folder of its own below /tmp
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/fiber.h>

#include "bench.h"
#include "log/log.h"
#include "stores/sqlite/sqlite.h"

enum {
    FEW = 10000,
    MANY = 1000000,
    KNOWN = 10000,
    PASSES = 8,
    TOGETHER = 170 /* threads of one commit */,
    ENTRIES = 2
};

static const struct wl_owner owner = {UPP_STR_INIT("bench"), UPP_STR_INIT("")};
static struct upp_err err;

struct database {
    char path[96];
    struct wl_store *store;
    struct wb_uuid *known; /* threads that are asked for */
    unsigned next;
};
static struct database few, many;

static void need(int r)
{
    if (r < 0) {
        (void)fprintf(stderr, "bench_threads: %s\n", err.msg);
        exit(1);
    }
}

static double wall_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_body(struct wb_buf *body)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("about as much text as people write in a message")};
    struct wm_entry e[ENTRIES];
    for (int i = 0; i < ENTRIES; i++)
        e[i] = (struct wm_entry){
            .kind = WM_ENTRY_MESSAGE,
            .origin = WM_ORIGIN_CLIENT,
            .audience = WM_AUDIENCE_ALL,
            .message = {.role = i ? UPP_ROLE_ASSISTANT : UPP_ROLE_USER, .parts = &part, .n_parts = 1}};
    need(wm_row_write(&(struct wm_row){.time_ms = 1, .entries = e, .n_entries = ENTRIES}, body, &err));
}

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct wb_uuid));
}

/* A thread, its node and a row of two messages each. */
WEFT_SUSPENDS static void fill_some(struct database *d, const struct wb_uuid *ids, unsigned n, struct upp_str body)
{
    static struct wl_new_thread made[TOGETHER];
    static struct wl_row rows[TOGETHER];
    static struct wl_change changes[3 * TOGETHER];
    for (unsigned at = 0; at < n;) {
        struct wl_commit c = {.owner = owner, .changes = changes};
        for (unsigned i = 0; i < TOGETHER && at < n; i++, at++) {
            need(wl_thread_make(d->store, &owner, UPP_OPTS(wl_thread_opts, .id = ids[at]), &made[i], &err));
            rows[i] =
                (struct wl_row){.node = made[i].root.key, .n_entries = ENTRIES, .format = WM_FORMAT, .body = body};
            for (size_t k = 0; k < made[i].n; k++)
                changes[c.n++] = made[i].changes[k];
            changes[c.n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &rows[i]};
        }
        need(wl_store_commit(d->store, &c, &err));
    }
}

/* In passes, each in the order of the ids: filling is not what is measured, and pages are cut again and again as they
 * are when threads come by chance. */
WEFT_SUSPENDS static void fill(struct database *d, unsigned n)
{
    struct wb_buf body = WB_BUF(1u << 16);
    struct wb_uuid *ids = calloc(n / PASSES, sizeof *ids);
    unsigned kept = 0;
    d->known = calloc(KNOWN, sizeof *d->known);
    if (!ids || !d->known)
        abort();
    write_body(&body);
    for (int pass = 0; pass < PASSES; pass++) {
        for (unsigned i = 0; i < n / PASSES; i++)
            need(wb_uuid_new(&ids[i], &err));
        for (unsigned i = 0; i < KNOWN / PASSES; i++)
            d->known[kept++] = ids[i]; /* they stand in no order yet */
        qsort(ids, n / PASSES, sizeof *ids, by_id);
        fill_some(d, ids, n / PASSES, wb_buf_str(&body));
    }
    free(ids);
    wb_buf_done(&body);
}

WEFT_SUSPENDS static void make(struct database *d, const char *folder, const char *name, unsigned n)
{
    double from = wall_s();
    (void)snprintf(d->path, sizeof d->path, "%s/%s.db", folder, name);
    need(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = d->path), &d->store, &err));
    fill(d, n);
    d->store->ops->close(d->store);
    struct stat st;
    double bytes = stat(d->path, &st) < 0 ? 0 : (double)st.st_size;
    (void)printf("%-28s %9.0f bytes a thread, made in %.0f s\n", name, bytes / n, wall_s() - from);
    need(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = d->path), &d->store, &err));
}

static void unmake(struct database *d)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".sock", "-full_disk_reserve"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s%s", d->path, ends[i]);
        (void)unlink(path);
    }
    free(d->known);
}

WEFT_SUSPENDS static void tails(struct database *d, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct wb_arena a = WB_ARENA(1u << 20);
        char text[WB_UUID_TEXT + 1];
        struct wl_tail tail;
        d->next = (d->next + 1) % KNOWN;
        need(wl_thread_tail(d->store, &owner, wb_uuid_text(d->known[d->next], text), 50, &a, &tail, &err));
        if (tail.n != ENTRIES)
            abort();
        bench_keep(tail.lines);
        wb_arena_done(&a);
    }
}

static double process_ns(struct database *d, unsigned times)
{
    struct timespec from, to;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    tails(d, times);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / times;
}

static long resident_kib(void)
{
    long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (f)
        (void)fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

WEFT_SUSPENDS static int measure(void *arg, struct upp_err *unused)
{
    const struct bench b = {.name = "open + tail, 1M threads", .goal_ns = 25000, .goal_ratio = 2};
    double product[BENCH_ROUNDS], floor[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
    (void)unused;
    make(&few, arg, "10,000 threads", FEW);
    make(&many, arg, "1,000,000 threads", MANY);
    long before = resident_kib();
    tails(&few, KNOWN); /* all that is asked for has been read once */
    tails(&many, KNOWN);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        floor[i] = process_ns(&few, 1000);
        product[i] = process_ns(&many, 1000);
        ratio[i] = product[i] / floor[i];
    }
    bench_row(&b, bench_median(product), bench_median(floor), bench_median(ratio));
    long more = resident_kib() - before;
    (void)printf("%-28s %9ld KiB more than before        goal <= 65536 KiB  %s\n", "  resident", more,
                 more <= 65536 ? "ok" : "MISSED");
    few.store->ops->close(few.store);
    many.store->ops->close(many.store);
    return 0;
}

int main(int argc, char **argv)
{
    char own[] = "/tmp/bench_threads_XXXXXX";
    char *folder = argc > 1 ? argv[1] : mkdtemp(own);
    struct weft_loop *loop;
    if (!folder)
        return 1;
    need(weft_loop_open(NULL, &loop, &err));
    need(weft_loop_run(loop, "bench", measure, folder, &err));
    weft_loop_close(loop);
    unmake(&few);
    unmake(&many);
    return argc > 1 ? 0 : rmdir(folder) != 0;
}
