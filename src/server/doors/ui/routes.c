/* server/doors/ui/routes.c — see routes.h. */
#include "server/doors/ui/routes.h"

#include "base/defs.h"
#include "json/pointer.h"
#include "log/log.h"
#include "model/id.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/doors/ui/request.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"
#include "thread/position.h"

enum { BATCH = 64 };

static const struct wb_uuid none;

/* ---- Chats ------------------------------------------------------------------------------------------------------- */

static struct upp_str alias_of(struct sv_exchange *x, struct upp_str chat)
{
    return wb_arena_printf(&x->arena, "ui:%.*s", UPP_FMT(chat));
}

/* A chat by the client's id, or a thread by its own. -UPP_ENOTFOUND. */
WEFT_SUSPENDS static int find_chat(struct sv_exchange *x, struct upp_str chat, struct wl_thread *ret,
                                   struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    int              r = wl_thread_find(s, &x->owner, alias_of(x, chat), &x->arena, ret, err);
    return r == -UPP_ENOTFOUND ? wl_thread_find(s, &x->owner, chat, &x->arena, ret, err) : r;
}

/* The run that holds the thread; zeros: none. */
WEFT_SUSPENDS static int find_active(struct sv_exchange *x, const struct wl_thread *t, struct wb_uuid *ret,
                                     struct upp_err *err)
{
    struct wl_node head;
    *ret  = none;
    int r = wl_get_node(x->server->opts.store, &x->owner, t->head, &head, err);
    return r < 0 ? r : wl_thread_busy(x->server->opts.store, t, &head, ret, err);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* The position after what a run wrote: its turn names its node and its input there. 0: it is not of this tree. */
WEFT_SUSPENDS static int end_of_turn(struct sv_exchange *x, const struct wl_thread *t, struct upp_str id,
                                     struct wa_position *input, struct wa_position *end, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wb_uuid   u, run = none;
    struct wm_id     turn;
    struct wl_node   node;
    struct wl_path   path;
    struct wl_line  *lines;
    struct wl_end    all;
    size_t           n = BATCH;
    if (!wl_id_parse(id, UPP_STR("msg_"), &u) || !wm_id_parse(u, &turn) || turn.noun != WM_NOUN_TURN)
        return 0;
    int r = wl_get_node(s, &x->owner, turn.node, &node, err);
    if (r < 0 || !wb_uuid_eq(node.tree, t->tree))
        return r == -UPP_ENOTFOUND || r >= 0 ? 0 : r;
    r = wl_node_end(s, &x->owner, turn.node, &all, err);
    if (r >= 0)
        r = wl_path_open(s, &x->owner, turn.node, all.length, &x->arena, &path, err);
    if (r < 0 || turn.index >= all.length)
        return r < 0 ? r : 0;
    *input = (struct wa_position){turn.node, turn.index};
    *end   = (struct wa_position){turn.node, turn.index + 1};
    for (bool over = false; r >= 0 && !over && end->length < all.length;) {
        uint32_t left = all.length - end->length, before = path.length - left;
        n = WB_MIN(left, (uint32_t)BATCH);
        r = wl_path_tail(s, &x->owner, &path, before + (uint32_t)n, (uint32_t)n, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !over; i++) {
            if (wb_uuid_eq(run, none))
                run = lines[i].run;
            over = wb_uuid_eq(lines[i].run, none) || !wb_uuid_eq(lines[i].run, run) ||
                   (lines[i].entry.kind == WM_ENTRY_MESSAGE && lines[i].entry.message.role == UPP_ROLE_USER &&
                    lines[i].entry.origin == WM_ORIGIN_CLIENT);
            end->length += !over;
        }
    }
    return r < 0 ? r : 1;
}

/* The position before the user's message with the client's id. 0: there is none. */
WEFT_SUSPENDS static int before_message(struct sv_exchange *x, const struct wl_thread *t, struct upp_str id,
                                        struct wa_position *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path   path;
    struct wl_line  *lines;
    size_t           n;
    int              r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    for (uint32_t end = path.length; r >= 0 && end;) {
        uint32_t want = WB_MIN(end, (uint32_t)BATCH);
        r             = wl_path_tail(s, &x->owner, &path, end, want, &x->arena, &lines, &n, err);
        for (size_t i = n; r >= 0 && i-- > 0;)
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && lines[i].entry.message.role == UPP_ROLE_USER &&
                wb_str_eq(lines[i].entry.message.id, id)) {
                *ret = (struct wa_position){lines[i].node, lines[i].index};
                return 1;
            }
        end -= want;
    }
    return r < 0 ? r : 0;
}

/* The thread's last turn: its input. 0: it has none. */
WEFT_SUSPENDS static int last_input(struct sv_exchange *x, const struct wl_thread *t, struct wa_position *ret,
                                    struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path   path;
    struct wl_line  *lines;
    size_t           n;
    int              r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    for (uint32_t end = path.length; r >= 0 && end;) {
        uint32_t want = WB_MIN(end, (uint32_t)BATCH);
        r             = wl_path_tail(s, &x->owner, &path, end, want, &x->arena, &lines, &n, err);
        for (size_t i = n; r >= 0 && i-- > 0;)
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && lines[i].entry.message.role == UPP_ROLE_USER &&
                lines[i].entry.audience == WM_AUDIENCE_ALL) {
                *ret = (struct wa_position){lines[i].node, lines[i].index};
                return 1;
            }
        end -= want;
    }
    return r < 0 ? r : 0;
}

/* Moves the thread, unless it is there. */
WEFT_SUSPENDS static int move(struct sv_exchange *x, struct wl_thread *t, const struct wa_position *to,
                              struct upp_err *err)
{
    struct wl_end end;
    int           r = wl_node_end(x->server->opts.store, &x->owner, t->head, &end, err);
    if (r < 0 || (t->head == to->node && wl_thread_length(t, end.length) == to->length))
        return r;
    return wa_thread_move(x->server->opts.store, &x->owner, t, to, &x->arena, err);
}

/* Where a user's message goes: after the answer that the client had before it. */
WEFT_SUSPENDS static int place_message(struct sv_exchange *x, const struct sv_ui_request *q, struct wl_thread *t,
                                       struct upp_err *err)
{
    struct wa_position input, to = {0};
    int                r = 0;
    if (q->message_id.p)
        r = before_message(x, t, q->message_id, &to, err); /* an edit */
    if (r == 0 && q->before.p)
        r = end_of_turn(x, t, q->before, &input, &to, err);
    return r <= 0 ? r : move(x, t, &to, err);
}

/* An answer is made anew: the thread goes back to its question. */
WEFT_SUSPENDS static int place_again(struct sv_exchange *x, const struct sv_ui_request *q, struct wl_thread *t,
                                     struct upp_err *err)
{
    struct wa_position input = {0}, end;
    int                r     = q->message_id.p ? end_of_turn(x, t, q->message_id, &input, &end, err) : 0;
    if (r == 0)
        r = last_input(x, t, &input, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "the chat has no question to answer again");
    input.length++;
    return r < 0 ? r : move(x, t, &input, err);
}

/* ---- POST /api/chat ---------------------------------------------------------------------------------------------- */

struct work {
    struct sv_ui_request q;
    struct sv_start      start;
    struct sv_run_stream stream;
};

static int read_stream(struct sv_exchange *x, struct work *w, struct upp_err *err)
{
    size_t         n;
    struct upp_str target = sv_http_header(x->request, UPP_STR("weft-ai-sdk"), &n);
    int            r      = sv_run_stream_read(x, NULL, &w->stream, err);
    if (r < 0 || !target.n || w->stream.opts.ui.target)
        return r;
    for (const struct wd_stream_option *o = w->stream.ops->options; o && o->name; o++)
        if (wb_str_eq(wb_cstr(o->name), UPP_STR("target")))
            return o->set(&w->stream.opts, target, err);
    return 0;
}

static int read_agent(struct sv_exchange *x, struct work *w, struct upp_err *err)
{
    static const struct sv_alias aliases[] = {{NULL, NULL}};
    struct upp_str               name      = {NULL, 0};
    const struct sv_body        *b         = &w->q.body;
    int                          r         = sv_body_str(b, b->root, UPP_STR("agent"), &name, err);
    if (r < 0)
        return r;
    const struct wr_agent_def *def = wr_agent(x->core->engine, name);
    if (!def) {
        r = upp_fail(err, UPP_ENOTFOUND, "no agent is called '%.*s'", UPP_FMT(name));
        wj_pointer_err(err, b->root, sv_member(b->root, UPP_STR("agent")));
        return r;
    }
    w->start.run.agent = def->name;
    return sv_options_read(x, b, b->root, def->name, aliases, &w->start.run.options, err);
}

/* A run that waits for what the client did not do any more ends: the chat goes on without it. */
WEFT_SUSPENDS static int end_waiting(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    uint8_t            status;
    int                r = wr_get(x->core->engine, &x->owner, run, &x->arena, &look, err);
    if (r < 0 || look.run.status != WM_WAITING)
        return r < 0 ? r : 0;
    r = wr_cancel(x->core->engine, &x->owner, run, err);
    return r < 0 ? r : wr_wait(x->core->engine, &x->owner, run, &status, err);
}

WEFT_SUSPENDS static int continue_run(struct sv_exchange *x, struct work *w, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    struct sv_answers  answers = {0};
    int                r = wb_uuid_eq(run, none) ? upp_fail(err, UPP_EINVALID, "no run of the chat waits for an output")
                                                 : wr_get(x->core->engine, &x->owner, run, &x->arena, &look, err);
    if (r >= 0)
        r = sv_ui_answers(x, &w->q, &look, &answers, err);
    if (r >= 0)
        r = wr_answer(x->core->engine, &x->owner, run, answers.p, answers.n, err);
    if (r < 0)
        return r;
    w->stream.from = (struct wr_from){look.epoch, look.last, 0};
    return sv_run_stream(x, run, &w->stream, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct work     *w = x->work;
    struct wm_entry *e = wb_new(&x->arena, struct wm_entry);
    struct wb_uuid   active, run;
    int              r = e ? find_active(x, &w->start.thread, &active, err) : wb_arena_check(&x->arena, err);
    if (r >= 0 && w->q.continues)
        return continue_run(x, w, active, err);
    if (r >= 0 && !w->q.regenerate) {
        r                 = sv_ui_entry(x, &w->q, e, err);
        w->start.messages = (struct sv_entries){e, 1};
    }
    if (r >= 0 && !wb_uuid_eq(active, none))
        r = end_waiting(x, active, err);
    if (r >= 0)
        r = w->q.regenerate ? place_again(x, &w->q, &w->start.thread, err)
                            : place_message(x, &w->q, &w->start.thread, err);
    if (r >= 0)
        r = sv_start_run(x, &w->start, &run, err);
    return r < 0 ? r : sv_run_stream(x, run, &w->stream, err);
}

WEFT_SUSPENDS static int post_chat(struct sv_exchange *x, struct upp_err *err)
{
    struct work          *w    = wb_new(&x->arena, struct work);
    struct wl_thread_opts opts = {.size = sizeof opts};
    struct wm_entry       e;
    if (!w)
        return wb_arena_check(&x->arena, err);
    *w    = (struct work){.start.run = {.owner = x->owner, .on_busy = x->server->opts.on_busy}};
    int r = sv_ui_read(x, &w->q, err);
    if (r >= 0)
        r = read_stream(x, w, err);
    if (r >= 0)
        r = read_agent(x, w, err);
    if (r >= 0 && !w->q.continues && !w->q.regenerate)
        r = sv_ui_entry(x, &w->q, &e, err); /* before a thread is made for it */
    if (r < 0)
        return r;
    w->stream.to_wait = true;
    r                 = find_chat(x, w->q.chat, &w->start.thread, err);
    if (r == -UPP_ENOTFOUND && !w->q.continues && !w->q.regenerate) {
        opts.alias = alias_of(x, w->q.chat);
        r          = wl_thread_new(x->server->opts.store, &x->owner, &opts, &x->arena, &w->start.thread, err);
    }
    if (r < 0)
        return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "no chat '%.*s'", UPP_FMT(w->q.chat)) : r;
    x->work = w;
    return sv_core_run(&x->server->cores[wr_home(w->start.thread.tree, x->server->n_cores)], x, answer, err);
}

/* ---- The chat's stream, stop and messages ------------------------------------------------------------------------ */

WEFT_SUSPENDS static int join_here(struct sv_exchange *x, struct upp_err *err)
{
    struct work *w = x->work;
    return sv_run_stream(x, x->run, &w->stream, err);
}

/* 204: nothing is going on. Otherwise the whole answer from its beginning: the client builds the message anew. */
WEFT_SUSPENDS static int join_chat(struct sv_exchange *x, struct upp_err *err)
{
    struct work  *w = wb_new(&x->arena, struct work);
    struct wm_run run;
    int           r = w ? find_chat(x, x->params[0], &w->start.thread, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = find_active(x, &w->start.thread, &x->run, err);
    if (r >= 0 && !wb_uuid_eq(x->run, none))
        r = wl_get_run(x->server->opts.store, &x->owner, x->run, &x->arena, &run, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && (wb_uuid_eq(x->run, none) || run.status == WM_WAITING))) {
        x->reply.status = 204;
        return 0;
    }
    if (r >= 0)
        r = read_stream(x, w, err);
    if (r < 0)
        return r;
    w->stream.to_wait = true;
    x->work           = w;
    return sv_core_run(&x->server->cores[wr_home(w->start.thread.tree, x->server->n_cores)], x, join_here, err);
}

WEFT_SUSPENDS static int stop_here(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid   run;
    struct wj_writer w;
    int              r     = find_active(x, x->thread, &run, err);
    bool             stops = r >= 0 && !wb_uuid_eq(run, none);
    if (stops) {
        x->run = run;
        r      = wr_cancel(x->core->engine, &x->owner, run, err);
        stops  = r >= 0;
        r      = r == -UPP_EREFUSED ? 0 : r; /* it has just ended */
    }
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_bool(&w, "stopped", stops);
    wj_write_close(&w, '}');
    x->reply.status = 200;
    return r < 0 ? r : wj_writer_check(&w);
}

WEFT_SUSPENDS static int stop_chat(struct sv_exchange *x, struct upp_err *err)
{
    x->thread = wb_new(&x->arena, struct wl_thread);
    int r     = x->thread ? find_chat(x, x->params[0], x->thread, err) : wb_arena_check(&x->arena, err);
    return r < 0 ? r : sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, stop_here, err);
}

/* The messages of a chat: what a page begins with. */
WEFT_SUSPENDS static int get_chat(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    int              r = find_chat(x, x->params[0], &t, err);
    return r < 0 ? r : sv_write_document(x, &t, UPP_STR("ui"), err);
}

static const struct sv_route rows[] = {
    {SV_POST, "/api/chat", post_chat, 0, 0},
    {SV_GET, "/api/chat/{chat}", get_chat, 0, SV_ROUTE_LARGE},
    {SV_GET, "/api/chat/{chat}/stream", join_chat, 0, 0},
    {SV_POST, "/api/chat/{chat}/stop", stop_chat, 0, SV_ROUTE_SMALL},
};
static const struct sv_status statuses[] = {{UPP_EBUSY, 409}, {0, 0}};
const struct sv_door          sv_door_ui = {.name     = "ui",
                                            .prefix   = "/api/chat",
                                            .routes   = rows,
                                            .n_routes = WB_LEN(rows),
                                            .statuses = statuses,
                                            .stream   = "ui"};
