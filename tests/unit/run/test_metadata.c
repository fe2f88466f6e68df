/* run/settings/metadata.c: the metadata of a run is replaced while it works, is queued, waits, and after its end. */
#include <string.h>

#include "base/defs.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"
#include "support/sim/sim.h"

#define SLOW                                                                                                           \
    "{\"replies\":[{\"parts\":[{\"text\":\"one two three four\"}],\"delta_bytes\":4,\"delay_ms\":10},"                 \
    "{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"pick\"}}]},{\"parts\":[{\"text\":\"well\"}]}]}"

struct scene {
    struct wl_store *store;
    struct rig rig;
    struct wb_uuid thread;
};

static WEFT_SUSPENDS int start(struct scene *s, struct wr_started *ret, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("go")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner,
                            .agent = UPP_STR("main"),
                            .input = &input,
                            .thread = s->thread,
                            .on_busy = WR_ENQUEUE,
                            .api_key = UPP_STR("17"),
                            .options = UPP_STR("{\"metadata\":{\"a\":1},\"instructions\":\"Be kind.\"}")};
    TRY(wr_start(s->rig.engine, &what, ret, err));
    s->thread = ret->thread;
    return 0;
}

/* The run has these options, and still belongs to its key. */
static WEFT_SUSPENDS int check(struct scene *s, struct wb_uuid run, uint8_t status, const char *metadata,
                               struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_run_info look;
    struct wm_run row;
    TRY(wr_get(s->rig.engine, &rig_owner, run, &a, &look, err));
    TRY(wl_get_run(s->store, &rig_owner, run, &a, &row, err));
    FAIL_UNLESS(!status || look.run.status == status);
    FAIL_UNLESS(wb_str_find(look.run.options, wb_cstr(metadata), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(look.run.options, UPP_STR("\"metadata\""), 0) ==
                wb_str_find(look.run.options, wb_cstr(metadata), 0));
    FAIL_UNLESS(wb_str_find(look.run.options, UPP_STR("\"instructions\":\"Be kind.\""), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_eq(wr_run_key(&row), UPP_STR("17")) && wb_str_eq(wr_run_key(&look.run), UPP_STR("17")));
    return 0;
}

static WEFT_SUSPENDS int set(struct scene *s, struct wb_uuid run, const char *metadata, struct upp_err *err)
{
    return wr_set_metadata(s->rig.engine, &rig_owner, run, wb_cstr(metadata), err);
}

static WEFT_SUSPENDS int act(struct scene *s, struct upp_err *err)
{
    struct wr_started one, two;
    uint8_t status;
    TRY(start(s, &one, err));
    TRY(start(s, &two, err));
    FAIL_UNLESS(two.queued);
    TRY(check(s, two.run, WM_QUEUED, "\"metadata\":{\"a\":1}", err));
    TRY(set(s, two.run, "{\"b\":2}", err));
    TRY(check(s, two.run, WM_QUEUED, "\"metadata\":{\"b\":2}", err));
    for (int i = 0; i < 3; i++) { /* while it works */
        TRY(set(s, one.run, "{\"c\":[3]}", err));
        TRY(weft_sleep_ms(7, err));
    }
    TRY(check(s, one.run, 0, "\"metadata\":{\"c\":[3]}", err));
    TRY(wr_wait(s->rig.engine, &rig_owner, one.run, &status, err));
    TRY(check(s, one.run, WM_COMPLETED, "\"metadata\":{\"c\":[3]}", err));
    TRY(set(s, one.run, "{}", err));
    TRY(check(s, one.run, WM_COMPLETED, "\"metadata\":{}", err));

    TRY(wr_wait(s->rig.engine, &rig_owner, two.run, &status, err));
    TRY(check(s, two.run, WM_WAITING, "\"metadata\":{\"b\":2}", err));
    TRY(set(s, two.run, "{\"d\":4}", err));
    const struct wr_answer answer = {.call = UPP_STR("c1"), .result = UPP_STR("1")};
    TRY(wr_answer(s->rig.engine, &rig_owner, two.run, &answer, 1, err));
    TRY(wr_wait(s->rig.engine, &rig_owner, two.run, &status, err));
    return check(s, two.run, WM_COMPLETED, "\"metadata\":{\"d\":4}", err);
}

static WEFT_SUSPENDS int scene_main(void *arg, struct upp_err *err)
{
    struct scene *s = arg;
    WEFT_DEADLINE(600000);
    TRY(ws_memory_open(&s->store, err));
    s->rig = (struct rig){.store = s->store};
    int r = rig_agent(&s->rig, "main", SLOW, err);
    if (r >= 0)
        r = rig_open(&s->rig, weft_loop_current(), UPP_OPTS(wr_engine_opts, .tool_wait_ms = 600000), err);
    if (r >= 0)
        r = act(s, err);
    rig_close(&s->rig);
    s->store->ops->close(s->store);
    return r;
}

TEST(run_metadata_is_replaced_in_every_state)
{
    struct scene s = {0};
    struct upp_err err = {0};
    struct weft__sim *sim = NULL;
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 4), &sim, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(sim, 0), "metadata", scene_main, &s, &err);
    weft__sim_close(sim);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}
