/* Lists stay in the order of making and updating when the wall clock is set back, also over a restart. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "log/file.h"
#include "stores/sqlite/sqlite.h"
#include "support/race_rig.h"
#include "support/stores.h"
#include "support/tree.h"

enum { HOUR = 3600000, NAMES = 8 };

/* A wall clock that the test sets, and a monotonic one that goes on with it. */
static struct {
    struct upp_hooks before;
    int64_t wall_ms, off_ms;
    uint64_t passed_ms;
} fake;

static int64_t wall_ns(void)
{
    return fake.wall_ms * 1000000;
}

static uint64_t mono_ns(void)
{
    return fake.before.mono_ns() + fake.passed_ms * 1000000;
}

static int64_t off_wall_ns(void)
{
    return fake.before.wall_ns() + fake.off_ms * 1000000;
}

static void clocks_back(int *unused)
{
    (void)unused;
    if (upp_global_init(&fake.before, NULL) < 0)
        abort();
}

static bool fake_clocks(void)
{
    fake.before = *wb_hooks();
    fake.wall_ms = 1700000000000;
    fake.passed_ms = 0;
    struct upp_hooks table = fake.before;
    table.wall_ns = wall_ns;
    table.mono_ns = mono_ns;
    return upp_global_init(&table, NULL) == 0;
}

static void pass(int64_t ms)
{
    fake.wall_ms += ms;
    fake.passed_ms += (uint64_t)ms;
}

struct made {
    struct wl_store *s;
    struct wb_arena a;
    struct wl_thread threads[NAMES];
    struct wl_file files[NAMES];
    size_t n_files;
};

static WEFT_SUSPENDS int make(struct made *m, char name, struct upp_err *err)
{
    pass(10);
    return wl_thread_new(m->s, &ALICE, NULL, &m->a, &m->threads[name - 'A'], err);
}

static WEFT_SUSPENDS int append(struct made *m, char name, struct upp_err *err)
{
    struct upp_part part;
    struct wm_entry entry = tree_says(UPP_ROLE_USER, &part, UPP_STR("Hello"));
    uint32_t index;
    pass(10);
    return wl_append(m->s, &ALICE, &m->threads[name - 'A'], &entry, 1, &index, err);
}

static WEFT_SUSPENDS int add_file(struct made *m, struct upp_err *err)
{
    struct wl_file *f = &m->files[m->n_files++];
    struct wl_value record;
    pass(10);
    *f = (struct wl_file){.filename = UPP_STR("x"),
                          .purpose = UPP_STR("vision"),
                          .type = UPP_STR("text/plain"),
                          .user = UPP_STR("alice"),
                          .created_ms = wb_wall_ms()};
    TRY(wl_file_id_new(m->s, &ALICE, f->created_ms, &f->id, err));
    TRY(wl_file_value(f, &m->a, &record, err));
    return COMMIT(m->s, ALICE, NULL, err, {.kind = WL_PUT_VALUE, .value = &record});
}

/* `want`: the names of the threads, newest first. The newest file is the last one. */
static WEFT_SUSPENDS int listed(struct made *m, const char *want, struct upp_err *err)
{
    struct wl_thread *threads;
    struct wl_file *files;
    size_t n;
    char is[NAMES + 1] = "";
    TRY(wl_list_threads(m->s, &ALICE, WB_UUID_NIL, NAMES, &m->a, &threads, &n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < NAMES; k++)
            if (wb_uuid_eq(threads[i].id, m->threads[k].id))
                is[i] = (char)('A' + k);
    test_note("threads %s, not %s", is, want);
    FAIL_UNLESS(wb_str_eq(wb_cstr(is), wb_cstr(want)));
    TRY(wl_file_list(m->s, &ALICE, &(struct wl_file_query){.max = NAMES}, &m->a, &files, &n, err));
    FAIL_UNLESS(n == m->n_files);
    for (size_t i = 0; i < n; i++)
        FAIL_UNLESS(wb_uuid_eq(files[i].id, m->files[n - 1 - i].id));
    return 0;
}

static WEFT_SUSPENDS int set_back(struct made *m, int64_t by_ms, struct upp_err *err)
{
    TRY(make(m, 'A', err));
    TRY(make(m, 'B', err));
    TRY(add_file(m, err));
    TRY(add_file(m, err));
    fake.wall_ms -= by_ms;
    TRY(make(m, 'C', err));
    TRY(add_file(m, err));
    TRY(add_file(m, err));
    TRY(listed(m, "CBA", err));
    TRY(append(m, 'A', err));
    TRY(make(m, 'D', err));
    TRY(listed(m, "DACB", err));
    pass(10);
    TRY(wl_thread_set(m->s, &ALICE, &m->threads['B' - 'A'], UPP_STR("{}"), err));
    pass(10);
    TRY(wl_fork(m->s, &m->threads[0], m->threads[0].head, 1, &m->a, &m->threads['E' - 'A'], err));
    return listed(m, "EBDAC", err);
}

static void made_done(struct made *m)
{
    wb_arena_done(&m->a);
}

static WEFT_SUSPENDS int set_back_in(struct test_store *t, struct upp_err *err)
{
    static const int64_t steps[] = {HOUR, 300}; /* by a person, by a time server */
    UPP_CLEANUP(made_done) struct made m = {.s = t->s, .a = WB_ARENA(4 << 20)};
    TRY(set_back(&m, steps[t->arg != NULL], err));
    pass(3 * HOUR); /* the clock has caught up: times are its times again */
    TRY(make(&m, 'F', err));
    FAIL_UNLESS(m.threads['F' - 'A'].updated_ms == fake.wall_ms);
    return listed(&m, "FEBDAC", err);
}

TEST(list_time_when_the_clock_is_set_back)
{
    UPP_CLEANUP(clocks_back) int undo = 0;
    CHECK(fake_clocks());
    CHECK(test_each_store(set_back_in, NULL));
    CHECK(test_each_store(set_back_in, &undo));
}

static WEFT_SUSPENDS int set_back_while_closed(void *arg, struct upp_err *err)
{
    struct made *m = arg;
    char path[600];
    const struct ws_sqlite_opts *opts = UPP_OPTS(ws_sqlite_opts, .path = path);
    (void)snprintf(path, sizeof path, "%s/clock.db", test_folder());
    TRY(ws_sqlite_open(opts, &m->s, err));
    TRY(make(m, 'A', err));
    TRY(make(m, 'B', err));
    TRY(add_file(m, err));
    TRY(add_file(m, err));
    tree_closep(&m->s);
    m->s = NULL;
    fake.wall_ms -= HOUR;
    TRY(ws_sqlite_open(opts, &m->s, err));
    TRY(make(m, 'C', err));
    TRY(append(m, 'A', err));
    TRY(add_file(m, err));
    return listed(m, "ACB", err);
}

TEST(list_time_when_the_clock_is_set_back_while_closed)
{
    UPP_CLEANUP(clocks_back) int undo = 0;
    struct made m = {.a = WB_ARENA(4 << 20)};
    struct upp_err err = {0};
    CHECK(fake_clocks());
    int r = test_on_loop(set_back_while_closed, &m, &err);
    tree_closep(&m.s);
    wb_arena_done(&m.a);
    CHECK_INT(r, 0);
    (void)undo;
}

static WEFT_SUSPENDS int finish(struct place *p, struct wr_started *s, struct upp_err *err)
{
    uint8_t status;
    TRY(place_await(p, s->run, &status, err));
    return weft_sleep_ms(20, err);
}

static WEFT_SUSPENDS int runs_in(struct place *p, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wr_started first, second, third, again;
    struct wl_thread *threads;
    size_t n;
    TRY(place_start(p, &first, err));
    TRY(finish(p, &first, err));
    TRY(place_start(p, &second, err));
    TRY(finish(p, &second, err));
    fake.off_ms = -HOUR;
    TRY(place_start(p, &third, err));
    TRY(finish(p, &third, err));
    TRY(place_start_on(p, first.thread, WR_REJECT, &again, err));
    TRY(finish(p, &again, err));
    TRY(wl_list_threads(p->inner, &rig_owner, WB_UUID_NIL, 9, &a, &threads, &n, err));
    FAIL_UNLESS(n == 3);
    FAIL_UNLESS(wb_uuid_eq(threads[0].id, first.thread));
    FAIL_UNLESS(wb_uuid_eq(threads[1].id, third.thread));
    FAIL_UNLESS(wb_uuid_eq(threads[2].id, second.thread));
    return 0;
}

/* On the world's clocks, of which the wall is off. */
static WEFT_SUSPENDS int runs(struct place *p, struct upp_err *err)
{
    UPP_CLEANUP(clocks_back) int undo = 0;
    fake.before = *wb_hooks();
    fake.off_ms = 0;
    struct upp_hooks table = fake.before;
    table.wall_ns = off_wall_ns;
    TRY(upp_global_init(&table, err));
    (void)undo;
    return runs_in(p, err);
}

TEST_WITH(list_time_of_runs_when_the_clock_is_set_back, .no_torture = "four runs; starts and ends are tortured")
{
    PLAYS(.act = runs);
}
