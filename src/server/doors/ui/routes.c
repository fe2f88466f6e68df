/* server/doors/ui/routes.c — the routes of /api/chat: sends a message, continues or resumes its stream. */
#include "server/doors/ui/ui.h"

#include "base/defs.h"
#include "dialects/core/convert.h"
#include "dialects/ui/doc.h"
#include "json/pointer.h"
#include "json/write.h"
#include "log/log.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/http/core.h"
#include "server/http/server.h"
#include "thread/doc.h"

/* ---- The document of a chat ---------------------------------------------------------------------------- */

struct document_opts {
    unsigned target;                  /* version of the AI SDK; 0: the default */
    const struct wm_pending *pending; /* the calls of its run that wait */
    size_t n_pending;
    bool works; /* its run does: the answer is partial then, not while it waits for the client */
};

/* As in its stream, an agent's id is its name in the configuration. */
static void know_agent(void *arg, struct wm_doc_agent *agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent->name);
    agent->id = agent->name;
    if (def && !def->base && def->title.n && !wb_str_eq(def->title, def->name))
        agent->name = def->title;
}

/* A call that waits for an approval says so, as one in an imported document does. */
static void ask_approval(struct wb_arena *a, struct upp_part *call)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_REPLY_BODY);
    struct upp_str had = call->metadata;
    struct wj_writer w;
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '{');
    wj_put_open(&w, "pydantic_ai", '{');
    wj_put_open(&w, "approval", '{');
    wj_put_str(&w, "id", call->id);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    if (wj_writer_check(&w) < 0)
        return;
    struct upp_str text = wb_buf_str(&out);
    call->metadata =
        had.n > 2 ? wb_arena_printf(a, "%.*s,%.*s", (int)text.n - 1, text.p, UPP_FMT(wb_str_sub(had, 1, had.n - 1)))
                  : wb_arena_dup(a, text);
}

/* Responds with the thread as UI messages, with the ids that streams have. */
WEFT_SUSPENDS static int respond_document(struct sv_exchange *x, const struct wl_thread *t,
                                          const struct document_opts *chat, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    const struct wd_document_ops *ui = wd_document_find(UPP_STR("ui"));
    struct wa_thread_doc_opts opts = {
        .agent = know_agent, .arg = x->core->engine, .dialect = UPP_STR("ui"), .by_run = true};
    int r = wa_thread_doc(x->server->opts.store, &x->owner, t, &opts, &memory, &doc, err);
    if (r >= 0) {
        if (doc.turns.n)
            doc.turns.p[doc.turns.n - 1].partial &= chat->works;
        const struct wm_doc_turn *turn = doc.turns.n ? &doc.turns.p[doc.turns.n - 1] : NULL;
        for (uint32_t i = turn ? turn->first : 0; turn && i < turn->first + turn->n; i++) {
            struct upp_message *m = &doc.entries.p[i].e.message;
            for (size_t k = 0; k < m->n_parts; k++)
                for (size_t p = 0; p < chat->n_pending && m->parts[k].kind == UPP_PART_CALL; p++)
                    if (chat->pending[p].approval && wb_str_eq(chat->pending[p].call, m->parts[k].id))
                        ask_approval(&memory, &m->parts[k]);
        }
        r = wb_arena_check(&memory, err);
    }
    x->reply.status = 200;
    return r < 0 ? r
                 : wd_doc_write(&doc, ui, UPP_OPTS(wd_convert_opts, .target = chat->target), &x->reply.body, NULL, err);
}

/* ---- Chats ------------------------------------------------------------------------------------------------------- */

/* A thread by the id that a page or another client gave it, or by its own; older chats by "ui:ID". -UPP_ENOTFOUND. */
WEFT_SUSPENDS static int find_chat(struct sv_exchange *x, struct upp_str chat, struct wl_thread *ret,
                                   struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct upp_str old = wb_arena_printf(&x->arena, "ui:%.*s", UPP_FMT(chat));
    int r = wl_thread_find(s, &x->owner, old, &x->arena, ret, err);
    return r == -UPP_ENOTFOUND ? wl_thread_find(s, &x->owner, chat, &x->arena, ret, err) : r;
}

/* The run that holds the thread; zeros: none. */
WEFT_SUSPENDS static int find_active(struct sv_exchange *x, const struct wl_thread *t, struct wb_uuid *ret,
                                     struct upp_err *err)
{
    struct wl_node head;
    *ret = WB_UUID_NIL;
    int r = wl_get_node(x->server->opts.store, &x->owner, t->head, &head, err);
    return r < 0 ? r : wl_thread_busy(x->server->opts.store, t, &head, ret, err);
}

/* ---- POST /api/chat ---------------------------------------------------------------------------------------------- */

struct work {
    struct sv_ui_request q;
    struct wm_entry entry;    /* the user's message ... */
    struct sv_entries system; /* ... and the client's system messages before it, which the agent takes */
    struct sv_start start;
    struct sv_run_stream stream;
    struct sv_joining joining;
    unsigned char hash[32]; /* of the body, with an Idempotency-Key */
    bool again;             /* the chat did not exist, and does now */
};

/* The version of the client: ?target=, the header, or the configuration. */
static int read_stream(struct sv_exchange *x, struct work *w, struct upp_err *err)
{
    size_t n;
    struct upp_str target = sv_http_header(x->request, UPP_STR("weft-ai-sdk"), &n);
    int r = sv_run_stream_read(x, NULL, &w->stream, err);
    struct wd_ui_opts *own = r < 0 ? NULL : sv_run_stream_own(&w->stream, &wd_stream_ui);
    if (!own || own->target)
        return r;
    own->target = x->settings->ai_sdk;
    return target.n ? wd_ui_set_target(own, target, err) : 0;
}

WEFT_SUSPENDS static int read_agent(struct sv_exchange *x, struct work *w, struct upp_err *err)
{
    static const struct sv_alias aliases[] = {{NULL, NULL}};
    struct upp_str name = {NULL, 0};
    const struct sv_body *b = &w->q.body;
    int r = sv_agent_read(x, b, "agent", &name, err);
    if (r < 0)
        return r;
    const struct wr_agent_def *def = wr_agent(x->core->engine, name);
    if (!def)
        return sv_agent_unknown(x, b, "agent", name, UPP_ENOTFOUND, err);
    w->start.run.agent = def->base ? name : def->name; /* a stored assistant */
    r = sv_ui_system(x, &w->q, def, &w->start.system, &w->system, err);
    if (r >= 0)
        r = sv_options_read(x, b, b->root, w->start.run.agent, aliases, &w->start.run.options, err);
    return r < 0 ? r : sv_assistant_start(x, &w->start.run, err);
}

/* Has everybody left who read the run? useChat's stop() only closes its connection, which may be noticed after its next
 * request has come. */
WEFT_SUSPENDS static bool is_left(struct sv_exchange *x, struct wb_uuid run)
{
    enum { TRIES = 4, PAUSE_MS = 25 };
    bool left = wr_is_left(x->core->engine, run);
    for (unsigned i = 0; !left && i < TRIES && weft_sleep_ms(PAUSE_MS, NULL) >= 0; i++)
        left = wr_is_left(x->core->engine, run);
    return left;
}

/* A run that waits for what the client did not do any more, or that nobody reads any more, ends with the start of the
 * next one: the chat goes on without it. */
WEFT_SUSPENDS static int end_left(struct sv_exchange *x, struct wb_uuid run, struct wr_start *start,
                                  struct upp_err *err)
{
    struct wr_run_info look;
    int r = wr_get(x->core->engine, &x->owner, run, &x->arena, &look, err);
    if (r < 0)
        return r;
    if (look.run.status == WM_WAITING || (x->settings->on_busy <= WR_REJECT && is_left(x, run)))
        start->ends = run;
    return 0;
}

/* The request was sent before: its answer, from the beginning. */
WEFT_SUSPENDS static int join(struct sv_exchange *x, struct upp_err *err)
{
    struct work *w = x->work;
    int r = sv_join_from(x, &w->joining, &w->stream, err);
    return r < 0 ? r : sv_run_stream(x, w->joining.run.id, &w->stream, err);
}

WEFT_SUSPENDS static int continue_run(struct sv_exchange *x, struct work *w, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    struct sv_answers answers = {0};
    int r = wb_uuid_is_nil(run) ? upp_fail(err, UPP_EINVALID, "no run of the chat waits for an output")
                                : wr_get(x->core->engine, &x->owner, run, &x->arena, &look, err);
    if (r >= 0)
        r = sv_ui_answers(x, &w->q, &look, &answers, err);
    answers.request = &w->start.run;
    if (r >= 0)
        r = sv_answer_calls(x, run, &answers, err);
    if (r > 0)
        return sv_join_other(x, &w->start.run, run, &w->joining, join, err);
    if (r < 0)
        return r;
    w->stream.from = (struct wr_from){look.epoch, look.last, 0};
    return sv_run_stream(x, run, &w->stream, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err);

/* The chat's thread; a new one for its first message, made with its run. */
WEFT_SUSPENDS static int open_chat(struct sv_exchange *x, struct work *w, struct upp_err *err)
{
    struct wl_thread_opts opts = {.size = sizeof opts, .alias = w->q.chat};
    int r = find_chat(x, w->q.chat, &w->start.thread, err);
    w->start.new_thread = false;
    if (r == -UPP_ENOTFOUND && w->q.question && !w->again)
        r = sv_start_new_thread(x, &w->start, &opts, err);
    else if (r == -UPP_ENOTFOUND)
        r = upp_fail(err, UPP_ENOTFOUND, "no chat '%.*s'", UPP_FMT(w->q.chat));
    return r < 0 ? r : sv_start_at_home(x, &w->start, answer, err);
}

/* The chat ends with the message already, or with its answer: the run is joined, or, if that has failed or was
 * cancelled, a new one answers it. Pages that count their messages use an id twice, so that an old answer is none. 1:
 * *run. */
WEFT_SUSPENDS static int find_asked(struct sv_exchange *x, struct work *w, struct wb_uuid *run, struct upp_err *err)
{
    struct wm_run row;
    int r = sv_ui_asked(x, &w->q, &w->entry.message, &w->start.thread, run, err);
    if (r > 0)
        r = wl_get_run(x->server->opts.store, &x->owner, *run, &x->arena, &row, err);
    else
        return r;
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (!wb_uuid_eq(row.thread, w->start.thread.id)) /* of the chat that this one was forked from */
        return 0;
    w->q.regenerate = wm_status_ended(row.status) && row.status != WM_COMPLETED;
    return sv_join_recent(&row);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct work *w = x->work;
    struct wb_uuid active = WB_UUID_NIL, run;
    int r = w->start.new_thread ? 0 : find_active(x, &w->start.thread, &active, err);
    if (r >= 0 && w->q.continues)
        return continue_run(x, w, active, err);
    if (r >= 0 && !w->start.new_thread)
        r = find_asked(x, w, &run, err);
    if (r > 0)
        return sv_run_stream(x, run, &w->stream, err);
    if (r >= 0 && !wb_uuid_is_nil(active))
        r = end_left(x, active, &w->start.run, err);
    if (r >= 0)
        r = sv_ui_place(x, &w->q, &w->start, err);
    if (r < 0)
        return r;
    if (r > 0) {
        bool fresh = w->start.new_thread || w->q.before.p; /* otherwise the chat may have them */
        w->start.messages = (struct sv_entries){.p = w->system.p, .n = fresh ? w->system.n : 0};
        w->start.messages.p[w->start.messages.n++] = w->entry; /* there is room for it */
    }
    r = sv_start_run(x, &w->start, &run, err);
    if (r == -UPP_EBUSY && w->start.new_thread && !w->again) { /* another request has just made the chat */
        w->again = true;
        return open_chat(x, w, err);
    }
    if (r >= 0 && w->start.joined) /* the same request was first */
        return sv_join_other(x, &w->start.run, run, &w->joining, join, err);
    return r < 0 ? r : sv_run_stream(x, run, &w->stream, err);
}

WEFT_SUSPENDS static int post_chat(struct sv_exchange *x, struct upp_err *err)
{
    struct work *w = wb_new(&x->arena, struct work);
    if (!w)
        return wb_arena_check(&x->arena, err);
    *w = (struct work){.start.run = {.owner = x->owner, .on_busy = x->settings->on_busy}};
    int r = sv_ui_read(x, &w->q, err);
    if (r >= 0)
        r = read_stream(x, w, err);
    w->stream.to_wait = true;
    x->work = w;
    if (r >= 0)
        r = sv_start_key(x, sv_key_route(x, "POST /api/chat"), &w->start.run, w->hash, err);
    if (r >= 0)
        r = sv_join_key(x, &w->start.run, &w->joining, err);
    if (r > 0)
        return sv_join_go(x, &w->joining, join, err);
    if (r >= 0)
        r = read_agent(x, w, err);
    if (r >= 0 && w->q.question)
        r = sv_ui_entry(x, &w->q, &w->entry, err); /* before a thread is made for it */
    if (r >= 0)
        r = open_chat(x, w, err);
    return sv_join_failed(x, r, &w->start.run, &w->joining, join, err);
}

/* ---- The chat's stream, stop and messages ------------------------------------------------------------------------ */

/* The thread's run, as its engine knows it. 0: it has none. */
WEFT_SUSPENDS static int look_at_run(struct sv_exchange *x, const struct wl_thread *t, struct wr_run_info *ret,
                                     struct upp_err *err)
{
    int r = find_active(x, t, &x->run, err);
    if (r < 0 || wb_uuid_is_nil(x->run))
        return r < 0 ? r : 0;
    r = wr_get(x->core->engine, &x->owner, x->run, &x->arena, ret, err);
    return r < 0 ? r : 1;
}

/* The run that answers: its stream is not at its end, nor at a wait. 0: there is none. */
WEFT_SUSPENDS static int find_answering(struct sv_exchange *x, const struct wl_thread *t, struct wb_uuid *ret,
                                        struct upp_err *err)
{
    struct wr_run_info look;
    int r = look_at_run(x, t, &look, err);
    if (r <= 0 || look.run.status == WM_WAITING || wm_status_ended(look.run.status))
        return r < 0 ? r : 0;
    *ret = x->run;
    return 1;
}

/* The whole answer from its beginning: the client builds the message anew. Without ?after, of the run that works; with
 * it, of a newer run than the message, which may have ended since the client loaded its messages. 204: there is none.
 */
WEFT_SUSPENDS static int join_here(struct sv_exchange *x, struct upp_err *err)
{
    struct work *w = x->work;
    struct upp_str after;
    struct wb_uuid run = WB_UUID_NIL;
    int r = sv_query(x, UPP_STR("after"), &after, err);
    bool asks = r > 0;
    if (r >= 0)
        r = find_answering(x, &w->start.thread, &run, err);
    if (r == 0 && asks)
        r = sv_ui_newer(x, &w->start.thread, after, &run, err);
    if (r > 0)
        return sv_run_stream(x, run, &w->stream, err);
    x->reply.status = 204;
    return r;
}

WEFT_SUSPENDS static int on_chat(struct sv_exchange *x, sv_handler *fn, struct upp_err *err)
{
    struct work *w = wb_new(&x->arena, struct work);
    int r = w ? read_stream(x, w, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = find_chat(x, x->params[0], &w->start.thread, err);
    if (r < 0)
        return r;
    w->stream.to_wait = true;
    x->work = w;
    return sv_core_run(&x->server->cores[wr_home(w->start.thread.tree, x->server->n_cores)], x, fn, err);
}

WEFT_SUSPENDS static int join_chat(struct sv_exchange *x, struct upp_err *err)
{
    int r = on_chat(x, join_here, err);
    if (r != -UPP_ENOTFOUND)
        return r;
    x->reply.status = 204; /* the client asks before its first message */
    return 0;
}

WEFT_SUSPENDS static int stop_here(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    struct wj_writer w;
    const struct work *of = x->work;
    int r = find_active(x, &of->start.thread, &run, err);
    bool stops = r >= 0 && !wb_uuid_is_nil(run);
    if (stops) {
        x->run = run;
        r = sv_cancel(x, run, err);
        stops = r >= 0;
        r = r == -UPP_EREFUSED ? 0 : r; /* it has just ended */
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
    return on_chat(x, stop_here, err);
}

/* The messages of a chat: what a page begins with. */
WEFT_SUSPENDS static int get_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct work *w = x->work;
    struct wr_run_info look;
    int r = look_at_run(x, &w->start.thread, &look, err);
    const struct wd_ui_opts *own = sv_run_stream_own(&w->stream, &wd_stream_ui);
    struct document_opts opts = {.target = own ? own->target : x->settings->ai_sdk};
    if (r > 0) {
        opts.works = look.run.status != WM_WAITING;
        opts.pending = look.pending;
        opts.n_pending = look.n_pending;
    }
    return r < 0 ? r : respond_document(x, &w->start.thread, &opts, err);
}

WEFT_SUSPENDS static int get_chat(struct sv_exchange *x, struct upp_err *err)
{
    return on_chat(x, get_here, err);
}

static const struct sv_route rows[] = {
    {SV_POST, "/api/chat", post_chat, 0, 0},
    {SV_GET, "/api/chat/{chat}", get_chat, 0, SV_ROUTE_LARGE},
    {SV_GET, "/api/chat/{chat}/stream", join_chat, 0, 0},
    {SV_POST, "/api/chat/{chat}/stop", stop_chat, 0, SV_ROUTE_SMALL},
};
static const struct sv_status statuses[] = {{UPP_EBUSY, 409}, {0, 0}};
const struct sv_door sv_door_ui = {.name = "ui",
                                   .prefix = "/api/chat",
                                   .routes = rows,
                                   .n_routes = WB_LEN(rows),
                                   .statuses = statuses,
                                   .stream = "ui",
                                   .agents = true};
