/* What an attempt said that was taken back: kept for readers up to a limit, and gone with the answer that came of it.
 */
#include <string.h>

#include "base/hooks.h"
#include "support/sim/sim.h"
#include "log/change.h"
#include "model/id.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"

struct scene {
    const char *script;
    WEFT_SUSPENDS int (*act)(struct rig *rig, const struct wr_started *s, struct upp_err *err);
};

static WEFT_SUSPENDS int scene_main(void *arg, struct upp_err *err)
{
    const struct scene *sc = arg;
    struct rig rig = {0};
    struct wr_started s;
    uint8_t status;
    TRY(ws_memory_open(&rig.store, err));
    int r = rig_agent(&rig, "main", sc->script, err);
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = rig_start(&rig, "main", "hello", NULL, &s, err);
    if (r >= 0)
        r = wr_wait(rig.engine, &rig_owner, s.run, &status, err);
    if (r >= 0)
        r = sc->act(&rig, &s, err);
    rig_close(&rig);
    rig.store->ops->close(rig.store);
    return r;
}

static bool plays(struct scene sc)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err = {0};
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 7), &w, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(w, 0), "test", scene_main, &sc, &err);
    if (r < 0)
        test_note("%s", err.msg);
    return EXPECT(r == 0);
}

enum { DELTA = 64 << 10 };

/* Reads all events of the run. How many of those that are void there were, and of how many bytes. */
static WEFT_SUSPENDS int read_lost(struct rig *rig, struct wb_uuid run, size_t *events, size_t *bytes,
                                   struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    bool told = false;
    struct wm_event ev;
    int r;
    *events = *bytes = 0;
    TRY(wr_reader_open(rig->engine, &rig_owner, run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, false, &ev, err)) > 0) {
        told |= ev.kind == WM_VOID;
        if (ev.from->epoch == 1 && ev.kind != WM_RUN) {
            FAIL_UNLESS(!told); /* it comes before that it was taken back */
            ++*events;
            *bytes += ev.kind == WM_DELTA ? ev.part.text.n : 0;
        }
    }
    FAIL_UNLESS(told);
    return r;
}

static WEFT_SUSPENDS int fifteen(struct rig *rig, const struct wr_started *s, struct upp_err *err)
{
    size_t events, bytes;
    TRY(read_lost(rig, s->run, &events, &bytes, err));
    FAIL_UNLESS(bytes == 15 * DELTA && events == 3 + 15); /* step, message, part */
    return 0;
}

static WEFT_SUSPENDS int none(struct rig *rig, const struct wr_started *s, struct upp_err *err)
{
    size_t events, bytes;
    TRY(read_lost(rig, s->run, &events, &bytes, err));
    FAIL_UNLESS(bytes == 0 && events == 0);
    return 0;
}

static void says_much(struct wb_buf *out, unsigned deltas)
{
    *out = (struct wb_buf)WB_BUF(4u << 20);
    wb_buf_addf(out,
                "{\"replies\":[{\"delta_bytes\":%d,\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":%u},"
                "\"parts\":[{\"text\":\"",
                DELTA, deltas);
    for (size_t i = 0; i < 20u * DELTA; i++)
        wb_buf_addc(out, 'x');
    wb_buf_addf(out, "\"}]},{\"parts\":[{\"text\":\"Yes.\"}]}]}");
    wb_buf_addc(out, 0);
}

TEST_WITH(run_void_is_kept_up_to_a_limit,
          .no_torture = "a megabyte; resume_across_voids and run_voids_* read what is kept")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf some, much;
    says_much(&some, 15);
    says_much(&much, 17);
    if (!EXPECT(!some.failed && !much.failed))
        return;
    CHECK(plays((struct scene){.script = some.p, .act = fifteen}));
    CHECK(plays((struct scene){.script = much.p, .act = none}));
}

/* How many rows of the node say this. */
static WEFT_SUSPENDS int count(struct wl_store *s, uint64_t node, const char *what, size_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_range range = {.node = node, .to = UINT64_MAX >> 1, .max_rows = 100};
    struct wl_rows rows;
    TRY(wl_store_rows(s, &rig_owner, &range, &a, &rows, err));
    FAIL_UNLESS(!rows.more);
    *ret = 0;
    for (size_t i = 0; i < rows.n; i++)
        *ret += wb_str_find(rows.p[i].body, wb_cstr(what), 0) != SIZE_MAX;
    return 0;
}

static WEFT_SUSPENDS int deletes(struct rig *rig, const struct wr_started *started, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_store *s = rig->store;
    struct wl_thread t;
    struct wr_reader *rd = NULL;
    size_t n;
    TRY(wl_get_thread(s, &rig_owner, started->thread, &a, &t, err));
    TRY(count(s, t.head, "SECR", &n, err));
    FAIL_UNLESS(n == 2);
    struct wm_id answer = {.node = t.head, .index = 1, .noun = WM_NOUN_ENTRY, .attempt = 2};
    TRY(wl_message_delete(s, &rig_owner, &t, wm_id_uuid(answer), UPP_STR(""), err));
    TRY(count(s, t.head, "SECR", &n, err));
    FAIL_UNLESS(n == 0);
    int r = wr_reader_open(rig->engine, &rig_owner, started->run, NULL, &rd, NULL);
    wr_reader_close(rd);
    FAIL_UNLESS(r == -UPP_ENOTFOUND || r == -UPP_ENOMEM); /* its events cannot be told any more */
    return rig_well_formed(s, &rig_owner, started->thread, err);
}

#define BREAKS                                                                                                         \
    "{\"parts\":[{\"text\":\"SECRET\"}],\"delta_bytes\":4,\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":1}}"

TEST(run_void_is_erased_with_its_answer)
{
    CHECK(plays((struct scene){.script = "{\"replies\":[" BREAKS "," BREAKS ",{\"parts\":[{\"text\":\"Well.\"}]}]}",
                               .act = deletes}));
}
