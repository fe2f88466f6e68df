/* The outbox: what is recorded with the commit that ends a run, and what is not. */
#include "stores/outbox/outbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/defs.h"
#include "stores/check.h"
#include "stores/memory/memory.h"
#include "support/stores.h"

static struct wm_run run_of(uint64_t id, uint32_t version, uint8_t status)
{
    return (struct wm_run){.id = test_uuid(id),
                           .root = test_uuid(id),
                           .thread = test_uuid(100),
                           .version = version,
                           .status = status,
                           .durability = WM_SYNC,
                           .agent = UPP_STR("a"),
                           .created_ms = 1};
}

struct heard {
    struct ws_due last;
    unsigned n;
};

static void hear(void *arg, const struct ws_due *d)
{
    struct heard *h = arg;
    h->last = *d;
    h->n++;
}

WEFT_SUSPENDS static int listed(struct wl_store *s, struct wl_owner o, struct ws_due *ret, size_t *n,
                                struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_str last;
    struct ws_due *list;
    TRY(ws_outbox_list(s, o.tenant, UPP_STR(""), 10, &a, &list, n, &last, err));
    if (*n)
        *ret = list[0];
    return 0;
}

WEFT_SUSPENDS static int records(struct wl_store *s, struct upp_err *err)
{
    struct heard h = {.n = 0};
    struct ws_due d;
    size_t n;
    ws_outbox_listen(s, hear, &h);

    struct wm_run run = run_of(1, 1, WM_RUNNING), other = run_of(2, 1, WM_RUNNING), child = run_of(3, 1, WM_RUNNING);
    child.parent = child.root = test_uuid(1);
    TRY(COMMIT(s, ALICE, NULL, err, ADD_RUN(&run), ADD_RUN(&other), ADD_RUN(&child)));
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(h.n == 0);
    child.status = WM_COMPLETED;
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&child)));
    FAIL_UNLESS(h.n == 0); /* it is part of its root's run */

    run = run_of(1, 2, WM_WAITING);
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(h.n == 1 && h.last.kind == WS_DUE_WAIT && h.last.version == 3);
    run.version = 3; /* still waiting */
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(h.n == 1);

    size_t conflict = 99;
    run = run_of(1, 3, WM_COMPLETED); /* not its version any more */
    FAIL_UNLESS(COMMIT(s, ALICE, &conflict, err, SET_RUN(&other), SET_RUN(&run)) == -UPP_EBUSY || test_failed());
    FAIL_UNLESS(conflict == 1 && h.n == 1);
    run.version = 4;
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(h.n == 2 && h.last.kind == WS_DUE_END && h.last.version == 5);
    FAIL_UNLESS(h.last.created_ms <= wb_wall_ms() && h.last.created_ms > wb_wall_ms() - 60000);
    run.version = 5; /* the sweep changes it once more */
    run.swept = true;
    TRY(COMMIT(s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(h.n == 2);

    TRY(listed(s, EVE, &d, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(listed(s, ALICE, &d, &n, err));
    FAIL_UNLESS(n == 2 && d.kind == WS_DUE_WAIT && d.version == 3 && wb_uuid_eq(d.run, test_uuid(1)));
    struct ws_due first = {.tenant = ALICE.tenant, .run = d.run, .version = 3};
    FAIL_UNLESS(ws_outbox_has(s, &first, err) == 1 || test_failed());
    TRY(ws_outbox_remove(s, &first, err));
    FAIL_UNLESS(ws_outbox_has(s, &first, err) == 0 || test_failed());
    TRY(listed(s, ALICE, &d, &n, err));
    FAIL_UNLESS(n == 1 && d.kind == WS_DUE_END && d.version == 5);
    ws_outbox_listen(s, NULL, NULL);
    return 0;
}

WEFT_SUSPENDS static int over_each(struct test_store *t, struct upp_err *err)
{
    return strcmp(t->s->ops->name, "outbox") == 0 ? records(t->s, err) : 0;
}

TEST(outbox_records_ends_and_waits)
{
    CHECK(test_each_store(over_each, NULL));
}

WEFT_SUSPENDS static int only_ends(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    struct heard h = {.n = 0};
    struct wm_run run = run_of(1, 1, WM_WAITING), over = run_of(2, 1, WM_FAILED);
    (void)arg;
    TRY(ws_memory_open(&s, err));
    TRY(ws_outbox_open(s, 1 << WS_DUE_END, &s, err));
    ws_outbox_listen(s, hear, &h);
    int r = COMMIT(s, ALICE, NULL, err, ADD_RUN(&run), ADD_RUN(&over));
    s->ops->close(s);
    TRY(r);
    FAIL_UNLESS(h.n == 1 && h.last.kind == WS_DUE_END && h.last.version == 1 && wb_uuid_eq(h.last.run, test_uuid(2)));
    return 0;
}

TEST(outbox_records_what_is_wanted)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(only_ends, NULL, &err), 0);
}

/* ---- The longest run ---- */

WEFT_SUSPENDS static int ends_long(struct test_store *t, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WS_TEXT_MAX);
    struct wm_run run = run_of(1, 1, WM_RUNNING);
    struct ws_due d = {.tenant = ALICE.tenant, .run = run.id, .version = 3};
    if (strcmp(t->s->ops->name, "outbox") != 0)
        return 0;
    while (text.n < WS_TEXT_MAX && !text.failed)
        wb_buf_add(&text, UPP_STR("0123456789abcdef"));
    TRY(wb_buf_check(&text, err));
    run.options = run.error = wb_buf_str(&text);
    TRY(COMMIT(t->s, ALICE, NULL, err, ADD_RUN(&run)));
    TRY(COMMIT(t->s, ALICE, NULL, err, SET_RUN(&run)));
    run.version = 2;
    run.status = WM_FAILED;
    TRY(COMMIT(t->s, ALICE, NULL, err, SET_RUN(&run)));
    FAIL_UNLESS(ws_outbox_has(t->s, &d, err) == 1 || test_failed());
    return 0;
}

TEST_WITH(outbox_of_the_longest_run, .no_torture = "outbox_records_ends_and_waits is")
{
    CHECK(test_each_store(ends_long, NULL));
}

/* ---- Who watches ---- */

struct watched {
    unsigned commits;
    size_t changes; /* of the last one */
};

static void watch(void *arg, const struct wl_commit *c)
{
    struct watched *w = arg;
    w->commits++;
    w->changes = c->n;
}

WEFT_SUSPENDS static int shows(struct test_store *t, struct upp_err *err)
{
    struct watched w = {0};
    struct wl_watch who = {.arg = &w, .committed = watch};
    struct wm_run run = run_of(1, 1, WM_RUNNING), end = run_of(1, 1, WM_COMPLETED), lost = run_of(1, 7, WM_FAILED);
    struct ws_due d = {.tenant = ALICE.tenant, .run = run.id, .version = 2};
    if (strcmp(t->s->ops->name, "outbox") != 0)
        return 0;
    t->s->watch = &who;
    TRY(COMMIT(t->s, ALICE, NULL, err, ADD_RUN(&run)));
    FAIL_UNLESS(w.commits == 1 && w.changes == 1);
    TRY(COMMIT(t->s, ALICE, NULL, err, SET_RUN(&end)));
    FAIL_UNLESS(w.commits == 2 && w.changes == 1); /* the message is not shown */
    FAIL_UNLESS(COMMIT(t->s, ALICE, NULL, err, SET_RUN(&lost)) < 0);
    FAIL_UNLESS(ws_outbox_has(t->s, &d, err) == 1 || test_failed());
    TRY(ws_outbox_remove(t->s, &d, err));
    FAIL_UNLESS(w.commits == 2);
    return 0;
}

TEST(outbox_shows_each_commit_once)
{
    CHECK(test_each_store(shows, NULL));
}
