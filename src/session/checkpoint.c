/* session/checkpoint.c — reading checkpoints, and restoring one. */
#include "session/session.h"

#include "thread/position.h"
#include "base/iso8601.h"

static WEFT_SUSPENDS int read(struct weft_session *s, void *arg, struct upp_err *err)
{
    (void)arg;
    return wa_session_read(s, err);
}

int weft_session_checkpoints(struct weft_session *s, size_t *ret, struct upp_err *err)
{
    int r = s->has_doc ? 0 : wa_session_look(s, "weft_session_checkpoints", read, NULL, err);
    *ret = r < 0 ? 0 : s->doc.n_checkpoints;
    return r;
}

static int64_t time_ms_of(struct upp_str text)
{
    struct wb_time t;
    return wb_time_parse(text, &t, NULL) < 0 ? 0 : wb_time_ms(&t);
}

/* Writes an object: call id -> SessionJSON. */
static int write_subs(struct weft_session *s, const struct wm_checkpoint *cp, struct upp_str *ret, struct upp_err *err)
{
    struct wj_writer w;
    wb_buf_done(&s->subagents); /* also clears an earlier failure */
    s->subagents = (struct wb_buf)WB_BUF(WM_SESSION_BYTES);
    wj_writer_init(&w, &s->subagents, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < cp->n_subs; i++) {
        wj_write_name(&w, cp->subs[i].call);
        wm_session_write(&w, cp->subs[i].session);
    }
    wj_write_close(&w, '}');
    *ret = wb_buf_str(&s->subagents);
    return wj_writer_check(&w);
}

int weft_session_checkpoint(struct weft_session *s, size_t i, struct weft_checkpoint *ret, struct upp_err *err)
{
    size_t n;
    int r = weft_session_checkpoints(s, &n, err);
    if (r >= 0 && i >= n)
        r = upp_fail(err, UPP_ENOTFOUND, "session %.*s has %zu checkpoints", UPP_FMT(s->id), n);
    if (r < 0)
        return r;
    const struct wm_checkpoint *cp = &s->doc.checkpoints[i];
    *ret = (struct weft_checkpoint){
        .id = cp->id,
        .session_id = s->id,
        .time_ms = time_ms_of(cp->time),
        .step = cp->step,
        .node = s->doc.tree.nodes[cp->node].id,
        .state = {.step = cp->state_step,
                  .metadata = cp->state_metadata.p ? cp->state_metadata : UPP_STR("{}"),
                  .plan = cp->plan,
                  .own = cp->own},
        .messages = cp->messages,
        .n_messages = cp->n_messages,
        .reasoning = cp->reasoning,
        .n_reasoning = cp->n_reasoning,
        .metadata = cp->metadata.p ? cp->metadata : UPP_STR("{}"),
    };
    return write_subs(s, cp, &ret->subagents, err);
}

static int check_exists(const struct weft_session *s, struct upp_str id, struct upp_err *err)
{
    for (size_t i = 0; i < s->doc.n_checkpoints; i++)
        if (wb_str_eq(s->doc.checkpoints[i].id, id))
            return 0;
    return upp_fail(err, UPP_ENOTFOUND, "session %.*s has no checkpoint '%.*s'", UPP_FMT(s->id), UPP_FMT(id));
}

int wa_session_end_runs(struct weft_session *s, struct wb_uuid thread, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_store *store = wr_engine_store(s->home->kept);
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(store, &wa_owner, thread, true, 32, &a, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = wr_stop(s->home->kept, &wa_owner, runs[i].id, err);
    return r;
}

static WEFT_SUSPENDS int restore(struct weft_session *s, void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct upp_str id = wb_arena_dup(&a, *(const struct upp_str *)arg); /* it may point into the session */
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wl_thread t;
    struct wa_position pos = {0};
    wa_put_init(&put, NULL, &wa_owner);
    int r = wb_arena_check(&a, err);
    if (r >= 0)
        r = wa_session_flush(s, err);
    if (r >= 0)
        r = wa_session_read(s, err);
    if (r >= 0)
        r = check_exists(s, id, err);
    if (r >= 0)
        r = wa_session_end_runs(s, s->thread, err);
    put.store = wr_engine_store(s->home->kept);
    put.thread = &t;
    put.moved = true;
    if (r >= 0)
        r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = wl_staged_clear(put.store, &wa_owner, &t, err);
    if (r >= 0)
        r = wa_checkpoint_find(put.store, &wa_owner, &t, id, &put, &pos, err);
    if (r < 0)
        return r;
    t.head = pos.node;
    t.at = pos.length + 1;
    r = wa_put_commit(&put, err);
    wa_session_stale(s);
    return r < 0 || !s->tree ? r : wa_session_tree_read(s, err);
}

int weft_session_restore(struct weft_session *s, struct upp_str checkpoint, struct upp_err *err)
{
    return wa_session_change(s, "weft_session_restore", restore, &checkpoint, err);
}
