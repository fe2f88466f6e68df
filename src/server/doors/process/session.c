/* server/doors/process/session.c — finds the session and the user of a request, the response that it continues, and
 * those of runs that have begun. */
#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/str.h"
#include "dialects/agentapi/stream.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "run/start.h"
#include "server/doors/process/process.h"
#include "server/http/auth.h"
#include "server/http/core.h"
#include "server/http/error.h"
#include "server/http/server.h"
#include "server/keys/key.h"
#include "thread/position.h"

int sv_process_user(struct sv_exchange *x, const struct sv_body *b, struct upp_str user, struct upp_err *err)
{
    yyjson_val *at = b ? sv_member(b->root, UPP_STR("user_id")) : NULL;
    int r = sv_user_check(user, err);
    if (r >= 0 && !wb_str_eq(user, x->owner.user)) {
        if (x->owner.user.n) {
            r = upp_fail(err, UPP_EREFUSED, "user_id is another user than the one of the API key, or of weft-user");
            if (err)
                (void)snprintf(err->cause, sizeof err->cause, "%s", SV_SCOPE);
        } else
            r = sv_auth_need(x, SV_SCOPE_ACT_AS, err);
    }
    if (r < 0 && at)
        wj_pointer_err(err, b->root, at);
    if (r >= 0)
        x->owner.user = user;
    return r;
}

enum { RESPONSES = 64 /* of one run that are found by their ids */ };

/* The run of a response: the UUID in its id is derived from the run and the number of the response. */
WEFT_SUSPENDS static int find_by_uuid(struct sv_exchange *x, struct upp_str id, struct wm_run *ret, struct upp_err *err)
{
    struct wb_uuid u;
    int r = -UPP_ENOTFOUND;
    if (!wl_id_parse(id, UPP_STR("response_"), &u))
        return r;
    for (unsigned i = 1; r == -UPP_ENOTFOUND && i <= RESPONSES; i++)
        r = wl_get_run(x->server->opts.store, &x->owner, wd_aap_response_uuid(u, i), &x->arena, ret, err);
    return r;
}

/* The run of response_id, and the thread of the client that it worked on. */
WEFT_SUSPENDS static int find_response(struct sv_exchange *x, struct sv_process *p, struct upp_str id,
                                       struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wm_run run;
    struct wl_key key;
    struct upp_str route = sv_key_route(x, SV_PROCESS_KEYS);
    int r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = id.n <= SV_RESPONSE_ID ? wl_get_key(s, &x->owner, route, id, &key, err) : -UPP_ENOTFOUND;
    r = r >= 0                ? wl_get_run(s, &x->owner, key.object, &x->arena, &run, err)
        : r == -UPP_ENOTFOUND ? find_by_uuid(x, id, &run, err)
                              : r;
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, run.thread, &x->arena, &p->start.thread, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && (run.depth || !wb_str_eq(p->start.thread.owner.user, x->owner.user))))
        return sv_body_wrong(&p->body, sv_member(p->body.root, UPP_STR("response_id")), err,
                             "there is no response '%.*s'", UPP_FMT(id));
    p->after = run.id;
    return r;
}

/* The end of what a run has written in its node. */
WEFT_SUSPENDS static int end_of_run(struct sv_exchange *x, const struct wm_run *run, struct wa_position *ret,
                                    struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
    struct wl_store *s = x->server->opts.store;
    struct wl_rows rows = {.more = true};
    *ret = (struct wa_position){.node = run->node, .length = wl_pos_index(run->first)};
    for (uint64_t from = run->first; rows.more;) {
        struct wl_range range = {.node = run->node, .from = from, .to = wl_pos(UINT32_MAX, 0)};
        wb_arena_reset(&page);
        int r = wl_store_rows(s, &x->owner, &range, &page, &rows, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < rows.n; i++) {
            from = rows.p[i].pos + 1;
            if (wb_uuid_eq(rows.p[i].run, run->id) && rows.p[i].n_entries)
                ret->length = wl_pos_index(rows.p[i].pos) + rows.p[i].n_entries;
        }
        if (!rows.n)
            break;
    }
    return 0;
}

WEFT_SUSPENDS int sv_process_branch(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread *t = &p->start.thread;
    struct wa_position at;
    struct wm_run run;
    struct wl_end end;
    if (wb_uuid_is_nil(p->after))
        return 0;
    int r = wl_get_run(s, &x->owner, p->after, &x->arena, &run, err);
    if (r < 0 || !wm_status_ended(run.status)) /* it is the session's run: it waits, or is busy */
        return r < 0 ? r : 0;
    r = end_of_run(x, &run, &at, err);
    if (r >= 0)
        r = wl_node_end(s, &x->owner, t->head, &end, err);
    if (r < 0 || (t->head == at.node && wl_thread_length(t, end.length) == at.length))
        return r < 0 ? r : 0;
    p->to = at;
    p->moves = true;
    t->head = at.node;
    t->at = at.length + 1;
    return 0;
}

static int check_session(const struct sv_process *p, struct upp_err *err)
{
    if (p->session.n && p->session.n <= SV_SESSION_ID)
        return 0;
    return sv_body_wrong(&p->body, sv_member(p->body.root, UPP_STR("session_id")), err, "session_id has 1 to %d bytes",
                         SV_SESSION_ID);
}

static int new_session(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    char text[WB_UUID_TEXT + 1];
    int r = sv_core_thread_id(x->server, &p->fresh, err);
    p->is_new = true;
    if (r >= 0 && !p->session.p)
        p->session = wb_arena_dup(&x->arena, wb_uuid_text(p->fresh, text));
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS static int find_session(struct sv_exchange *x, struct sv_process *p, bool given, struct upp_err *err)
{
    struct wl_thread of_response = p->start.thread;
    char text[WB_UUID_TEXT + 1];
    int r = given ? check_session(p, err) : 0;
    if (r >= 0 && !given && !wb_uuid_is_nil(p->after)) {
        p->session = wb_arena_dup(&x->arena, wb_uuid_text(of_response.id, text));
        return wb_arena_check(&x->arena, err);
    }
    if (r >= 0)
        r = given ? wl_thread_find(x->server->opts.store, &x->owner, p->session, &x->arena, &p->start.thread, err)
                  : -UPP_ENOTFOUND;
    if (!wb_uuid_is_nil(p->after) &&
        (r == -UPP_ENOTFOUND || (r >= 0 && !wb_uuid_eq(of_response.id, p->start.thread.id))))
        return sv_body_wrong(&p->body, sv_member(p->body.root, UPP_STR("response_id")), err,
                             "the response is of another session");
    return r == -UPP_ENOTFOUND ? new_session(x, p, err) : r;
}

WEFT_SUSPENDS int sv_process_find(struct sv_exchange *x, struct sv_process **ret, struct upp_err *err)
{
    struct sv_process *p = x->found ? x->found : wb_new(&x->arena, struct sv_process);
    struct upp_str text = {NULL, 0};
    *ret = p;
    if (!p || x->found)
        return p ? 0 : wb_arena_check(&x->arena, err);
    int r = sv_body_read(x, sv_process_members, &p->body, err);
    if (r >= 0 && !p->body.root)
        r = upp_fail(err, UPP_EINVALID, "the body is a JSON object, and there is none");
    if (r >= 0)
        r = sv_body_str(&p->body, p->body.root, UPP_STR("user_id"), &text, err);
    if (r > 0)
        r = sv_process_user(x, &p->body, text, err);
    if (r >= 0)
        r = sv_body_str(&p->body, p->body.root, UPP_STR("response_id"), &text, err);
    if (r > 0)
        r = find_response(x, p, text, err);
    int given = r < 0 ? r : sv_body_str(&p->body, p->body.root, UPP_STR("session_id"), &p->session, err);
    if (given >= 0)
        r = find_session(x, p, given > 0, err);
    if (given < 0 || r < 0)
        return given < 0 ? given : r;
    p->start.run.owner = x->owner;
    x->found = p;
    return 0;
}

int sv_process_open(const struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    char text[WB_UUID_TEXT + 1];
    bool named = !wb_str_eq(p->session, wb_uuid_text(p->fresh, text));
    struct wl_thread_opts opts = {
        .size = sizeof opts, .id = p->fresh, .alias = named ? p->session : (struct upp_str){NULL, 0}};
    if (p->is_new)
        return sv_start_new_thread(x, &p->start, &opts, err);
    if (p->moves) {
        p->start.run.node = p->to.node;
        p->start.run.length = p->to.length;
    }
    return 0;
}

WEFT_SUSPENDS int sv_process_session(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct wr_run_info look;
    struct upp_str options, session;
    yyjson_val *v = NULL;
    int r = wr_get(x->core->engine, &x->owner, p->run, &x->arena, &look, err);
    if (r >= 0)
        r = wr_queued_options(&x->arena, &look.run, &options, err);
    if (r >= 0 && options.n)
        r = wj_read(&x->arena, options, NULL, &v, err);
    session = r < 0 ? (struct upp_str){NULL, 0} : wj_text_at(yyjson_obj_get(v, "agentapi"), "session_id");
    if (session.n)
        p->session = session;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_process_last(struct sv_exchange *x, const struct wl_thread *t, struct wm_run *ret,
                                  struct upp_err *err)
{
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(x->server->opts.store, &x->owner, t->id, false, 1, &x->arena, &runs, &n, err);
    if (r < 0 || !n)
        return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "the session has no response yet");
    *ret = runs[0];
    return 0;
}

/* A run has one response more than it had waits. If it waits now, its last response ends with that wait. */
int sv_process_from(struct sv_exchange *x, struct wb_uuid run, struct wr_from *ret, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *reader = NULL;
    struct wr_from before = {0}, last = {0};
    struct wm_event ev;
    bool waits = false;
    int r = wr_reader_open(x->core->engine, &x->owner, run, &before, &reader, err);
    while (r >= 0 && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        waits = ev.kind == WM_RUN && ev.run.status == WM_WAITING && ev.from->depth == 0;
        if (waits) {
            before = last;
            last = (struct wr_from){.epoch = ev.from->epoch, .number = ev.number};
        }
    }
    if (r < 0 && r != -UPP_EBUSY)
        return r;
    *ret = waits ? before : last;
    return 0;
}

static int keep_response(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame,
                         struct upp_err *err)
{
    struct wb_buf *out = arg;
    (void)ev, (void)name;
    if (wb_str_find(wb_str_sub(frame, 0, 64), UPP_STR("\"object\":\"response\""), 0) == SIZE_MAX)
        return 0;
    wb_buf_clear(out);
    wb_buf_add(out, frame);
    return wb_buf_check(out, err);
}

int sv_process_result(struct sv_exchange *x, struct wb_uuid run, bool whole, struct wb_buf *out, struct upp_err *err)
{
    struct sv_run_stream s = {.ops = &wd_stream_agentapi, .opts.size = sizeof s.opts, .to_wait = true};
    unsigned tries = 0;
    int r;
    do
        r = sv_run_encode(x, run, &s, whole, keep_response, out, err);
    while (sv_try_again(x, r, err, &tries));
    return r;
}
