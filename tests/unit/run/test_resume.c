/* Readers that leave and come back: with Last-Event-ID the frames of all connections together are those of a reader
 * that never left, in every dialect, while the run works, after it has ended, and after a restart. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "dialects/core/dialect.h"
#include "dialects/ui/doc.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/sqlite.h"
#include "support/disk.h"
#include "support/fibers.h"
#include "support/rig.h"

/* ---- A client that reads frames --------------------------------------------------------------------------------- */

struct client {
    struct rig *rig;
    struct wb_uuid run;
    const struct wd_stream_ops *ops;
    struct weft__sim *sim;
    struct wr_from from; /* Last-Event-ID: of the last frame */
    struct wb_buf got;   /* all frames of all connections */
    uint64_t leave;      /* after at most so many frames; 0: never */
    bool random;         /* a random number of them, and pauses */
    uint64_t frames, connections;
};

struct encoder {
    const struct wd_stream_ops *ops;
    void *state;
    struct wd_frames frames;
};

static void encoder_done(struct encoder *e)
{
    if (e->state && e->ops->done)
        e->ops->done(e->state);
    wb_free(e->state);
    wd_frames_done(&e->frames);
}

static int encoder_begin(struct encoder *e, const struct wd_stream_ops *ops, struct upp_err *err)
{
    *e = (struct encoder){.ops = ops};
    wd_frames_init(&e->frames);
    e->state = wb_calloc(1, ops->state_size);
    if (!e->state)
        return upp_fail(err, UPP_ENOMEM, "no memory for an encoder");
    struct wd_ui_opts ui = {6};
    return ops->begin(e->state, UPP_OPTS(wd_stream_opts, .own = ops == &wd_stream_ui ? &ui : NULL), err);
}

/* What the server writes for one event, without what was had, and at most *left frames. */
static int hear(struct client *c, struct encoder *e, const struct wr_reader *rd, const struct wm_event *ev,
                uint64_t *left, struct upp_err *err)
{
    wd_frames_clear(&e->frames);
    TRY(e->ops->event(e->state, ev, &e->frames, err));
    for (size_t i = wr_reader_received(rd, ev); i < e->frames.list.n && *left; i++, --*left) {
        wb_buf_add(&c->got, wb_str(e->frames.text.p + e->frames.list.p[i].from, e->frames.list.p[i].n));
        wb_buf_addc(&c->got, '\n');
        c->from = (struct wr_from){ev->from->epoch, ev->number, (uint32_t)i + 1};
        c->frames++;
    }
    return 0;
}

/* 1: the stream has come to its end. */
static WEFT_SUSPENDS int connection(struct client *c, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    WB_CLEANUP(encoder_done) struct encoder e = {0};
    struct wm_event ev;
    uint64_t left = c->random ? 1 + weft__sim_below(c->sim, c->leave) : c->leave ? c->leave : UINT64_MAX;
    c->connections++;
    TRY(encoder_begin(&e, c->ops, err));
    TRY(wr_reader_open(c->rig->engine, &rig_owner, c->run, &c->from, &rd, err));
    while (left) {
        int r = wr_reader_next(rd, false, &ev, err);
        if (r <= 0)
            return r < 0 ? r : 1;
        TRY(hear(c, &e, rd, &ev, &left, err));
        if (c->random && weft__sim_below(c->sim, 50) == 0)
            TRY(weft_sleep_ms(weft__sim_below(c->sim, 40), err));
    }
    return 0;
}

static WEFT_SUSPENDS int client_main(void *arg, struct upp_err *err)
{
    struct client *c = arg;
    for (int r = 0; !r;) {
        r = connection(c, err);
        if (r < 0)
            return r;
        if (r == 0 && c->random && weft__sim_below(c->sim, 3) == 0)
            TRY(weft_sleep_ms(weft__sim_below(c->sim, 20), err));
    }
    return wb_buf_check(&c->got, err);
}

/* ---- A long run ------------------------------------------------------------------------------ */

enum { STEPS = 4 };

/* An attempt that says some of that and breaks: within the reasoning, the text, a call. */
static void torn_reply(struct wb_buf *out, int after)
{
    wb_buf_addf(out,
                "{\"parts\":[{\"reasoning\":\"thinking in vain\"},{\"text\":\"This will not do.\"},"
                "{\"tool_call\":{\"id\":\"t\",\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":1}}}],"
                "\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":%d}},",
                after);
}

/* Reasoning, text and two tools a step, a letter at a time; children and a client's tool where they are asked for. */
static void long_script(struct wb_buf *out, unsigned delay_ms, const char *extra, bool torn)
{
    *out = (struct wb_buf)WB_BUF(1u << 16);
    wb_buf_addf(out, "{\"delta_bytes\":1,\"delay_ms\":%u,\"replies\":[", delay_ms);
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; torn && k < 1 + i % 2; k++)
            torn_reply(out, 5 + 10 * i + 5 * k);
        wb_buf_addf(out,
                    "{\"parts\":[{\"reasoning\":\"thinking about part %d\"},{\"text\":\"Now comes part %d of it.\"},"
                    "{\"tool_call\":{\"id\":\"a%d\",\"name\":\"add\",\"arguments\":{\"a\":%d,\"b\":1}}},"
                    "{\"tool_call\":{\"id\":\"b%d\",\"name\":\"%s\",\"arguments\":{\"task\":\"go\"}}}],"
                    "\"usage\":{\"input_tokens\":9,\"output_tokens\":5}},",
                    i, i, i, i, i,
                    i == 2 && extra ? extra
                    : i % 2         ? "fails"
                                    : "note");
    }
    wb_buf_addf(out, "{\"parts\":[{\"text\":\"That is all there is to say about it, and it is much.\"}]}]}");
    wb_buf_addc(out, 0);
}

struct scene {
    bool on_disk;
    uint64_t seed;
    unsigned delay_ms;
    const char *extra;
    bool torn;                    /* attempts break after some output */
    uint64_t leave, disconnects;  /* disconnects: how many of them, from seeds; 0: after every event */
    uint64_t frames, connections; /* frames: of the dialect that has the fewest */
    struct weft__sim *sim;
    struct disk *disk;
    struct wl_store *store;
    struct rig rig;
};

static WEFT_SUSPENDS int open_rig(struct scene *s, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf script;
    s->rig = (struct rig){.store = s->store};
    long_script(&script, s->delay_ms, s->extra, s->torn);
    TRY(wb_buf_check(&script, err));
    TRY(rig_agent(&s->rig, "main", script.p, err));
    TRY(rig_agent(&s->rig, "helper",
                  "{\"delta_bytes\":2,\"delay_ms\":1,\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"h1\",\"name\":"
                  "\"again\"}}]},{\"parts\":[{\"text\":\"done as asked\"}]}]}",
                  err));
    return rig_open(&s->rig, weft_loop_current(), NULL, err);
}

/* All dialects, each read by one that stays and one that leaves; both must have heard the same. */
enum { DIALECTS = 8 };
static WEFT_SUSPENDS int read_all(struct scene *s, struct wb_uuid run, struct wb_buf texts[DIALECTS],
                                  struct upp_err *err)
{
    static const struct wd_stream_ops *const dialects[DIALECTS] = {
        &wd_stream_weft,       &wd_stream_uap,      &wd_stream_ui,   &wd_stream_upp,
        &wd_stream_assistants, &wd_stream_agentapi, &wd_stream_chat, &wd_stream_responses};
    struct client clients[2 * DIALECTS];
    struct weft_scope all = {0};
    int r = 0;
    for (size_t i = 0; i < WB_LEN(clients); i++) {
        clients[i] = (struct client){.rig = &s->rig,
                                     .run = run,
                                     .ops = dialects[i / 2],
                                     .sim = s->sim,
                                     .got = WB_BUF(4u << 20),
                                     .leave = i % 2 ? s->leave : 0,
                                     .random = i % 2 && s->disconnects};
        if (r >= 0)
            r = weft_scope_spawn(&all, "client", client_main, &clients[i], NULL, err);
    }
    if (r >= 0)
        r = weft_scope_join(&all, err);
    weft_scope_close(&all);
    s->frames = UINT64_MAX;
    for (size_t i = 0; i < DIALECTS; i++) {
        struct client *stays = &clients[2 * i], *leaves = &clients[2 * i + 1];
        bool same = wb_str_eq(wb_buf_str(&stays->got), wb_buf_str(&leaves->got));
        if (r >= 0 && (!EXPECT(same) || !EXPECT(stays->frames == leaves->frames)))
            r = upp_fail(err, UPP_EBUG, "%s: %llu connections heard something else than one", stays->ops->name,
                         (unsigned long long)leaves->connections);
        if (r >= 0 && texts[i].n && !EXPECT(wb_str_eq(wb_buf_str(&texts[i]), wb_buf_str(&stays->got))))
            r = upp_fail(err, UPP_EBUG, "%s: a replay differs from the stream", stays->ops->name);
        s->frames = WB_MIN(s->frames, stays->frames);
        s->connections += leaves->connections;
        wb_buf_done(&leaves->got);
        wb_buf_done(&texts[i]);
        texts[i] = stays->got;
    }
    return r;
}

/* A client's tool is answered after a while. */
static WEFT_SUSPENDS int answer_main(void *arg, struct upp_err *err)
{
    struct scene *s = ((void **)arg)[0];
    struct wb_uuid *run = ((void **)arg)[1];
    uint8_t status;
    struct wr_answer a = {.call = UPP_STR("b2"), .result = UPP_STR("\"this one\"")};
    TRY(wr_wait(s->rig.engine, &rig_owner, *run, &status, err));
    TRY(weft_sleep_ms(25, err));
    return status == WM_WAITING ? wr_answer(s->rig.engine, &rig_owner, *run, &a, 1, err) : 0;
}

static WEFT_SUSPENDS int live_and_replayed(struct scene *s, struct upp_err *err)
{
    struct wr_started started;
    struct wb_buf texts[DIALECTS] = {0};
    TRY(rig_start(&s->rig, "main", "tell me all", NULL, &started, err));
    struct weft_scope answers = {0};
    void *args[2] = {s, &started.run};
    int r = weft_scope_spawn(&answers, "answers", answer_main, args, NULL, err);
    if (r >= 0)
        r = read_all(s, started.run, texts, err); /* live */
    if (r >= 0)
        r = weft_scope_join(&answers, err);
    weft_scope_close(&answers);
    if (r >= 0)
        r = read_all(s, started.run, texts, err); /* ended */
    rig_close(&s->rig);
    if (r >= 0)
        r = open_rig(s, err);
    if (r >= 0)
        r = read_all(s, started.run, texts, err); /* after a restart */
    if (r >= 0)
        r = rig_well_formed(s->store, &rig_owner, started.thread, err);
    for (size_t i = 0; i < DIALECTS; i++)
        wb_buf_done(&texts[i]);
    return r;
}

static WEFT_SUSPENDS int scene_main(void *arg, struct upp_err *err)
{
    struct scene *s = arg;
    if (s->on_disk)
        TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = "weft.db", .vfs = disk_name(s->disk)), &s->store, err));
    else
        TRY(ws_memory_open(&s->store, err));
    int r = open_rig(s, err);
    if (r >= 0)
        r = live_and_replayed(s, err);
    rig_close(&s->rig);
    s->store->ops->close(s->store);
    return r;
}

static bool plays(struct scene *s)
{
    struct upp_err err = {0};
    s->disk = s->on_disk ? disk_new(s->seed) : NULL;
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = s->seed), &s->sim, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(s->sim, 0), "scene", scene_main, s, &err);
    weft__sim_close(s->sim);
    disk_free(s->disk);
    test_note("seed %llu: %s", (unsigned long long)s->seed, err.msg);
    return EXPECT(r == 0);
}

static const char *const whole = "a whole run, read hundreds of times; run_* is tortured";

TEST_WITH(resume_after_every_frame, .no_torture = whole)
{
    struct scene s = {.seed = 1, .delay_ms = 2, .leave = 1};
    CHECK(plays(&s));
    CHECK(s.frames >= 100);
    CHECK(s.connections >= 3 * DIALECTS * 100);
}

TEST_WITH(resume_after_every_frame_on_disk, .no_torture = whole)
{
    struct scene s = {.seed = 2, .delay_ms = 2, .leave = 1, .on_disk = true};
    CHECK(plays(&s));
    CHECK(s.frames >= 100);
}

TEST_WITH(resume_across_a_child, .no_torture = whole)
{
    struct scene s = {.seed = 3, .delay_ms = 2, .leave = 1, .extra = "ask_helper"};
    CHECK(plays(&s));
}

TEST_WITH(resume_across_a_wait, .no_torture = whole)
{
    struct scene s = {.seed = 4, .delay_ms = 2, .leave = 1, .extra = "pick"};
    CHECK(plays(&s));
}

TEST_WITH(resume_across_voids, .no_torture = whole)
{
    struct scene s = {.seed = 5, .delay_ms = 2, .leave = 1, .torn = true};
    CHECK(plays(&s));
    CHECK(s.connections >= 3 * DIALECTS * 100);
}

TEST_WITH(resume_across_voids_on_disk, .no_torture = whole)
{
    struct scene s = {.seed = 6, .delay_ms = 2, .leave = 1, .torn = true, .on_disk = true};
    CHECK(plays(&s));
}

/* F13: ten thousand disconnects at random moments, of live, ended and restarted runs. */
TEST_WITH(resume_after_random_disconnects, .no_torture = whole, .seconds = 300)
{
    uint64_t want = test_times("WEFT_DISCONNECTS", 10000), had = 0;
    for (uint64_t seed = 10; had < want; seed++) {
        static const char *const extras[] = {NULL, "ask_helper", "pick", "slow"};
        struct scene s = {.seed = seed,
                          .delay_ms = (unsigned)(seed % 3),
                          .leave = 10,
                          .disconnects = 1,
                          .extra = extras[seed % WB_LEN(extras)],
                          .torn = seed % 7 == 0,
                          .on_disk = seed % 5 == 0};
        CHECK(plays(&s));
        had += s.connections;
    }
    printf("# %llu disconnects\n", (unsigned long long)had);
}
