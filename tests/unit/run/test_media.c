/* Media for a model that does not take them: refused before anybody is asked, with one sentence, whoever asks; the run
 * has failed, and its thread can be used. */
#include <string.h>
#include <upp/upp.h>

#include "base/defs.h"
#include "stores/memory/memory.h"
#include "support/agents.h"
#include "support/rig.h"
#include "support/vendor.h"

static const struct row {
    uint8_t kind;
    uint32_t can;
    const char *what;
} rows[] = {
    {UPP_PART_IMAGE, UPP_CAN_IMAGES, "model 'm' does not support image input"},
    {UPP_PART_DOCUMENT, UPP_CAN_DOCUMENTS, "model 'm' does not support document input"},
    {UPP_PART_AUDIO, UPP_CAN_AUDIO, "model 'm' does not support audio input"},
    {UPP_PART_VIDEO, UPP_CAN_VIDEO, "model 'm' does not support video input"},
};

static const struct upp_media picture = {
    .source = UPP_SOURCE_BASE64, .mime = UPP_STR_INIT("image/png"), .data = UPP_STR_INIT("iVBORw0KGgo=")};

/* A user who shows something. */
struct shown {
    struct upp_part parts[2];
    struct upp_message message;
};

static void show(struct shown *s, uint8_t kind)
{
    s->parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR("What is this?")};
    s->parts[1] = (struct upp_part){.kind = kind, .media = &picture};
    s->message = (struct upp_message){.role = UPP_ROLE_USER, .parts = s->parts, .n_parts = 2};
}

static WEFT_SUSPENDS int refuses(struct rig *rig, const struct vendor *v, const struct row *row, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 20);
    struct shown s;
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &s.message};
    struct wr_started run;
    struct wr_run_info look;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    uint8_t status;
    show(&s, row->kind);
    rig->models[0]->can = UPP_CAN_ALL & ~row->can;
    TRY(wr_start(rig->engine, &what, &run, err));
    TRY(wr_wait(rig->engine, &rig_owner, run.run, &status, err));
    TRY(wr_get(rig->engine, &rig_owner, run.run, &a, &look, err));
    test_note("%u: %.*s", status, UPP_FMT(look.run.error));
    FAIL_UNLESS(status == WM_FAILED && v->asked == 0);
    FAIL_UNLESS(vendor_has(look.run.error, row->what) && vendor_has(look.run.error, "INVALID_REQUEST"));
    TRY(rig_history(rig, run.thread, &all, err));
    FAIL_UNLESS(wb_str_starts(wb_buf_str(&all), UPP_STR("user: What is this?")));
    FAIL_UNLESS(!vendor_has(wb_buf_str(&all), "assistant"));
    TRY(rig_well_formed(rig->store, &rig_owner, run.thread, err));
    /* The thread is free: a model that takes it answers on it (this one says no, and was asked). */
    rig->models[0]->can = UPP_CAN_ALL & ~UPP_CAN_VIDEO & ~UPP_CAN_AUDIO;
    if (row->kind > UPP_PART_DOCUMENT)
        return 0;
    TRY(rig_start(rig, "main", "and now?", &run.thread, &run, err));
    TRY(wr_wait(rig->engine, &rig_owner, run.run, &status, err));
    FAIL_UNLESS(status == WM_FAILED && (v->asked == 1 || row->kind == UPP_PART_DOCUMENT));
    return 0;
}

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

static WEFT_SUSPENDS int in_loop(void *arg, struct upp_err *err)
{
    const struct row *row = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    struct rig rig = {0};
    struct vendor v;
    vendor_init(&v, NULL);
    int r = ws_memory_open(&store, err);
    if (r >= 0)
        r = rig_agent(&rig, "main", NULL, err);
    rig.store = store;
    if (r >= 0) {
        upp_model_free(WB_TAKE(rig.models[0]));
        r = vendor_model(&v, "ollama", NULL, &rig.models[0], err);
        rig.agents[0].model = rig.models[0];
        rig.agents[0].n_tools = 0;
    }
    if (r >= 0)
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    if (r >= 0)
        r = refuses(&rig, &v, row, err);
    rig_close(&rig);
    vendor_done(&v);
    return r;
}

TEST(run_media_that_a_model_does_not_take_are_refused)
{
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct row row = rows[i];
        struct upp_err err = {0};
        int r = test_on_loop(in_loop, &row, &err);
        test_note("%s: %s", row.what, err.msg);
        CHECK_INT(r, 0);
    }
}

static WEFT_SUSPENDS int all_ways(struct agents *p, struct vendor *v, struct upp_model *m, const struct row *row,
                                  struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL, *two = NULL, *three = NULL;
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    const struct upp_turn *said;
    struct shown s;
    struct weft_agent *a;
    show(&s, row->kind);
    m->can = UPP_CAN_ALL & ~row->can;
    struct upp_err seen[3] = {0};
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = m), &a, err));
    TRY(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = m), &llm, err));
    const struct upp_input in = {.size = sizeof in, .parts = s.parts, .n_parts = 2};
    int r[] = {weft_agent_run_with(a, &in, &one, &seen[0]), upp_generate(llm, &in, &two, &seen[1]), 0};
    r[2] = weft_agent_stream(a, &in, NULL, &stream, &seen[2]);
    if (r[2] >= 0)
        r[2] = weft_stream_turn(stream, &said, &seen[2]);
    for (size_t i = 0; i < WB_LEN(r); i++) {
        TRY(r[i] == -UPP_ENOMEM ? r[i] : 0);
        test_note("%zu: %d %s", i, r[i], seen[i].msg);
        FAIL_UNLESS(r[i] == -UPP_EINVALID && strcmp(seen[i].msg, row->what) == 0);
    }
    /* In the history too: a user said it. */
    int before = weft_agent_run_with(
        a, UPP_OPTS(upp_input, .history = &s.message, .n_history = 1, .text = UPP_STR("hm?")), &three, &seen[0]);
    TRY(before == -UPP_ENOMEM ? before : 0);
    FAIL_UNLESS(before == -UPP_EINVALID && strcmp(seen[0].msg, row->what) == 0);
    FAIL_UNLESS(v->asked == 0);
    return 0;
}

static WEFT_SUSPENDS int by_agents(struct agents *p, struct upp_err *err)
{
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_model *m = NULL;
        struct vendor v;
        vendor_init(&v, NULL);
        int r = vendor_model(&v, "ollama", NULL, &m, err);
        if (r >= 0)
            r = all_ways(p, &v, m, &rows[i], err);
        upp_model_free(m);
        vendor_done(&v);
        TRY(r);
    }
    return 0;
}

TEST(agent_media_that_a_model_does_not_take_are_refused)
{
    AGENTS(NULL, by_agents);
}
