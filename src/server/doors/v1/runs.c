/* server/doors/v1/runs.c — runs: created on a thread or with one, listed, modified, cancelled, streamed; and their
 * steps. */
#include <string.h>

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "dialects/assistants/steps.h"
#include "log/change.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/message.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/conn.h"
#include "server/http/error.h"
#include "server/http/server.h"
#include "server/members/members.h"

WEFT_SUSPENDS int sv_answer_run(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    struct wj_writer w;
    x->run = run;
    int r = sv_look_at_run(x, run, &look, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    r = asst_run_write(&w, &x->arena, &look.run, look.pending, look.n_pending, err);
    if (r < 0)
        return r;
    sv_reply_header(&x->reply, "openai-poll-after-ms", UPP_STR("100"));
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_answer_started(struct sv_exchange *x, struct wb_uuid run, struct sv_run_request *what,
                                    struct upp_err *err)
{
    what->stream.to_wait = true;
    return what->streams ? sv_run_stream(x, run, &what->stream, err) : sv_answer_run(x, run, err);
}

WEFT_SUSPENDS int sv_find_in_thread(struct sv_exchange *x, struct wr_run_info *ret, struct upp_err *err)
{
    struct wl_thread t;
    struct wb_uuid run;
    int r = sv_find_thread(x, &t, err);
    if (r < 0)
        return r;
    r = sv_run_id(x->params[1], &run, NULL);
    if (r >= 0)
        r = wr_get(x->core->engine, &x->owner, run, &x->arena, ret, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_uuid_eq(ret->run.thread, t.id)))
        r = upp_fail(err, UPP_ENOTFOUND, "no run '%.*s' on this thread", UPP_FMT(x->params[1]));
    return r;
}

WEFT_SUSPENDS int sv_get_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    return r < 0 ? r : sv_answer_run(x, look.run.id, err);
}

WEFT_SUSPENDS int sv_modify_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    yyjson_val *metadata = NULL;
    struct upp_str text = {NULL, 0};
    struct wr_run_info look;
    struct wl_thread t;
    struct sv_body b;
    int r = sv_find_in_thread(x, &look, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_object(&b, b.root, UPP_STR("metadata"), &metadata, err);
    if (r > 0)
        r = sv_body_text(&x->arena, metadata, &text, err);
    if (r >= 0 && text.n)
        r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0 && text.n)
        r = wr_set_metadata(x->core->engine, &x->owner, look.run.id, text, err);
    return r < 0 ? r : sv_answer_run(x, look.run.id, err);
}

static int cannot_cancel(const struct wr_run_info *look, struct upp_err *err)
{
    return upp_fail(err, UPP_EREFUSED, "Cannot cancel run with status '%s'.", asst_status(&look->run, look->n_pending));
}

WEFT_SUSPENDS static int cancel_answer(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_cancel(x, run, err);
    if (r == -UPP_EREFUSED && strcmp(err->cause, SV_MEMBER) != 0 &&
        wr_get(x->core->engine, &x->owner, run, &x->arena, &look, NULL) >= 0)
        return cannot_cancel(&look, err);
    return r < 0 ? r : sv_answer_run(x, run, err);
}

WEFT_SUSPENDS int sv_cancel_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    int r = sv_find_run(x, x->params[0], &run, err);
    return r < 0 ? r : cancel_answer(x, run, err);
}

WEFT_SUSPENDS int sv_cancel_thread_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    if (r >= 0 && wm_status_ended(look.run.status)) /* also a cancelled one: so this API has it */
        return cannot_cancel(&look, err);
    return r < 0 ? r : cancel_answer(x, look.run.id, err);
}

/* In uap a reader follows the run to its end; in the other dialects a request gets one segment of it. */
WEFT_SUSPENDS int sv_read_run_events(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_stream stream;
    struct wb_uuid run;
    int r = sv_find_run(x, x->params[0], &run, err);
    if (r >= 0)
        r = sv_run_stream_read(x, "weft", &stream, err);
    if (r >= 0)
        r = sv_run_stream_from(x, &stream, err);
    if (r < 0)
        return r;
    stream.to_wait = !stream.ops->to_the_end;
    return sv_run_stream(x, run, &stream, err);
}

WEFT_SUSPENDS int sv_get_run_trace(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    struct wj_writer w;
    int r = sv_find_run(x, x->params[0], &run, err);
    if (r >= 0)
        r = wr_trace(x->core->engine, &x->owner, run, &x->reply.body, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    return sv_finish(x, &w);
}

/* ---- Creating -----------------------------------------------------------------------------------------------------
 */

#define RUN_MEMBERS "assistant_id", "stream", "on_busy", "additional_messages", "answers", SV_OPTIONS

static int read_on_busy(const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    static const struct {
        struct upp_str word;
        uint8_t busy;
    } words[] = {{UPP_STR_INIT("reject"), WR_REJECT},
                 {UPP_STR_INIT("enqueue"), WR_ENQUEUE},
                 {UPP_STR_INIT("interrupt"), WR_INTERRUPT},
                 {UPP_STR_INIT("rollback"), WR_ROLLBACK}};
    struct upp_str given;
    int r = sv_body_str(b, b->root, UPP_STR("on_busy"), &given, err);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(given, words[i].word)) {
            *ret = words[i].busy;
            return 0;
        }
    return sv_body_wrong(b, sv_member(b->root, UPP_STR("on_busy")), err,
                         "on_busy is reject, enqueue, interrupt or rollback");
}

/* Keys are for this thread or, of a run with a thread of its own, for all of the user. */
static int read_run_key(struct sv_exchange *x, const struct wl_thread *t, struct wr_start *start,
                        unsigned char hash[32], struct upp_err *err)
{
    bool own = wb_uuid_is_nil(t->id);
    char hex[WB_UUID_HEX + 1];
    struct upp_str route;
    (void)wb_uuid_hex(t->id, hex);
    route =
        own ? sv_key_route(x, "POST /v1/threads/runs") : wb_arena_printf(&x->arena, "POST /v1/threads/%s/runs", hex);
    return sv_start_key(x, route, start, hash, err);
}

WEFT_SUSPENDS static int read_run(struct sv_exchange *x, const struct sv_body *b, struct sv_run_request *ret,
                                  struct upp_err *err)
{
    WB_CLEANUP(sv_system_done) struct sv_system system = SV_SYSTEM;
    struct sv_start *s = &ret->start;
    bool is = !wb_uuid_is_nil(s->thread.id); /* otherwise it comes with the run */
    s->run.owner = x->owner;
    s->run.on_busy = x->settings->on_busy;
    int r = sv_agent_read(x, b, "assistant_id", &s->run.agent, err);
    if (r >= 0 && !is && !s->run.agent.n && !wr_agent(x->core->engine, s->run.agent))
        return upp_fail(err, UPP_EINVALID, "assistant_id names the agent, and is missing");
    if (r >= 0)
        r = sv_body_bool(b, b->root, UPP_STR("stream"), &ret->streams, err);
    if (r >= 0 && ret->streams)
        r = sv_run_stream_read(x, NULL, &ret->stream, err); /* before anything is started */
    if (r >= 0)
        r = read_on_busy(b, &s->run.on_busy, err);
    if (r >= 0)
        r = sv_options_read(x, b, b->root, s->run.agent, NULL, &s->run.options, err);
    if (r >= 0)
        r = sv_assistant_start(x, &s->run, err);
    if (r >= 0)
        r = sv_read_messages(x, b, b->root, UPP_STR("additional_messages"), wr_agent(x->core->engine, s->run.agent),
                             &system, &s->messages, err);
    if (r >= 0)
        r = sv_system_text(&x->arena, &system, &s->system, err);
    if (r >= 0 && is)
        r = sv_members_receive(x, b, &s->thread, false, &s->messages, err);
    if (r >= 0 && is && !s->run.agent.n)
        r = sv_members_answerer(x, &s->thread, &s->messages, &s->run.agent, err);
    if (r >= 0)
        r = read_run_key(x, &s->thread, &s->run, ret->hash, err);
    if (r >= 0)
        r = sv_read_answers(x, b, &s->answers, err);
    s->agent_member = sv_member(b->root, UPP_STR("assistant_id")) ? "assistant_id" : NULL;
    if (r >= 0 && is && !s->answers.n)
        r = sv_members_may_answer(x, &s->thread, &s->messages, s->run.agent, err);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_create_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {RUN_MEMBERS, NULL};
    struct sv_run_request q = {0};
    struct sv_body b;
    struct wb_uuid run;
    int r = sv_find_thread(x, &q.start.thread, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_run(x, &b, &q, err);
    if (r >= 0)
        r = sv_start_run(x, &q.start, &run, err);
    return r < 0 ? r : sv_answer_started(x, run, &q, err);
}

/* The messages of the thread come before those that the run adds. */
static int put_first(struct sv_exchange *x, const struct sv_entries *first, struct sv_entries *to, struct upp_err *err)
{
    if (!first->n)
        return 0;
    struct wm_entry *all = wb_new_n(&x->arena, struct wm_entry, first->n + to->n);
    if (!all)
        return wb_arena_check(&x->arena, err);
    memcpy(all, first->p, first->n * sizeof *all);
    if (to->n)
        memcpy(all + first->n, to->p, to->n * sizeof *all);
    *to = (struct sv_entries){.p = all, .n = first->n + to->n};
    return 0;
}

/* What `thread` says of the thread; without it the thread is an empty one. */
WEFT_SUSPENDS static int read_new_thread(struct sv_exchange *x, const struct sv_body *b, struct sv_start *s,
                                         struct upp_err *err)
{
    WB_CLEANUP(sv_system_done) struct sv_system system = SV_SYSTEM;
    yyjson_val *thread = NULL;
    struct upp_str more = s->system;
    struct sv_entries messages = {0};
    struct wl_thread_opts opts = {.size = sizeof opts};
    int r = sv_body_object(b, b->root, UPP_STR("thread"), &thread, err);
    if (r > 0)
        r = sv_read_thread(x, b, thread, wr_agent(x->core->engine, s->run.agent), &system, &opts, &messages, err);
    if (r >= 0)
        r = sv_system_text(&x->arena, &system, &s->system, err);
    if (r >= 0 && more.n)
        s->system = s->system.n ? wb_arena_printf(&x->arena, "%.*s\n\n%.*s", UPP_FMT(s->system), UPP_FMT(more)) : more;
    if (r >= 0 && !wb_uuid_is_nil(opts.parent)) /* it is of the parent's family, and at home there */
        r = wl_id_new(wl_family(opts.parent), &opts.id, err);
    if (r >= 0)
        r = sv_start_new_thread(x, s, &opts, err);
    return r < 0 ? r : put_first(x, &messages, &s->messages, err);
}

/* The stream of this API begins with the thread. */
WEFT_SUSPENDS static int announce_thread(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *stream,
                                         struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY + 4096);
    struct wl_store *s = x->server->opts.store;
    struct wr_run_info look;
    struct wl_thread t;
    struct wj_writer w;
    unsigned tries = 0;
    if (stream->ops != wd_stream_find(wb_cstr(sv_door_v1.stream)))
        return 0;
    int r = sv_look_at_run(x, run, &look, err);
    if (r < 0)
        return r;
    do
        r = wl_get_thread(s, &x->owner, look.run.thread, &x->arena, &t, err);
    while (sv_try_again(x, r, err, &tries));
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    sv_write_thread(&w, &t);
    r = wj_writer_check(&w);
    stream->preamble = (struct sv_preamble){"thread.created", wb_arena_dup(&x->arena, wb_buf_str(&out))};
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS static int answer_thread_run(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_request *q = x->work;
    const struct wb_uuid run = x->run;
    int r = q->streams ? announce_thread(x, run, &q->stream, err) : 0;
    return r < 0 ? r : sv_answer_started(x, run, q, err);
}

/* Where the thread is at home; one that an earlier request with the same key has made may be elsewhere. */
WEFT_SUSPENDS static int start_thread_run(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_request *q = x->work;
    struct wb_uuid run;
    int r = sv_start_run(x, &q->start, &run, err);
    if (r >= 0 && q->start.joined)
        return sv_run_at_home(x, run, answer_thread_run, err);
    return r < 0 ? r : answer_thread_run(x, err);
}

WEFT_SUSPENDS int sv_create_thread_and_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"thread", RUN_MEMBERS, NULL};
    struct sv_run_request *q = wb_new(&x->arena, struct sv_run_request);
    struct sv_body b;
    if (!q)
        return wb_arena_check(&x->arena, err);
    *q = (struct sv_run_request){0};
    x->work = q;
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_run(x, &b, q, err);
    if (r >= 0)
        r = read_new_thread(x, &b, &q->start, err);
    if (r >= 0 && q->start.answers.n)
        r = sv_body_wrong(&b, sv_member(b.root, UPP_STR("answers")), err, "a new thread has no open calls");
    return r < 0 ? r : sv_start_at_home(x, &q->start, start_thread_run, err);
}

/* ---- The runs of a thread -----------------------------------------------------------------------------------------
 */

enum { HANDFUL = 8, RUN_BYTES = 80 << 20 /* a run may have megabytes of options */ };

struct run_list {
    struct sv_exchange *x;
    struct wl_thread thread;
    struct sv_page page;
    struct wb_uuid after, before; /* as the parameters name them */
    struct wb_uuid *runs;         /* limit + 1 at most, in the order they were read */
    size_t n;
};

WEFT_SUSPENDS static int find_listed_run(void *arg, struct upp_str id, void *ret, struct upp_err *err)
{
    struct run_list *l = arg;
    struct wm_run run;
    struct wb_uuid *at = ret;
    if (!wl_id_parse(id, UPP_STR("run_"), at))
        return 0;
    int r = wl_get_run(l->x->server->opts.store, &l->x->owner, *at, &l->x->arena, &run, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    return wb_uuid_eq(run.thread, l->thread.id);
}

/* Reads only their ids: they are written one by one. */
WEFT_SUSPENDS static int read_run_ids(struct run_list *l, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    const struct sv_page *p = &l->page;
    enum wl_what what = sv_page_up(p) ? WL_LIST_RUNS_UP : WL_LIST_RUNS;
    struct wb_uuid from = p->backwards ? l->before : l->after, end = p->backwards ? l->after : l->before;
    l->runs = wb_new_n(&x->arena, struct wb_uuid, p->limit + 1);
    int r = wb_arena_check(&x->arena, err);
    for (size_t n = HANDFUL; r >= 0 && n == HANDFUL && l->n <= p->limit;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(HANDFUL * (size_t)RUN_BYTES);
        struct wm_run *runs;
        r = wl_list_runs_after(x->server->opts.store, what, &x->owner, l->thread.id, from, HANDFUL, &a, &runs, &n, err);
        for (size_t i = 0; r >= 0 && i < n && l->n <= p->limit; i++) {
            if (wb_uuid_eq(runs[i].id, end))
                return 0;
            from = l->runs[l->n++] = runs[i].id;
        }
    }
    return r;
}

WEFT_SUSPENDS static int write_run(struct sv_exchange *x, struct wj_writer *w, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RUN_BYTES);
    struct wr_run_info look;
    int r = wr_get(x->core->engine, &x->owner, run, &a, &look, err);
    return r < 0 ? r : asst_run_write(w, &a, &look.run, look.pending, look.n_pending, err);
}

WEFT_SUSPENDS int sv_list_runs(struct sv_exchange *x, struct upp_err *err)
{
    struct run_list l = {.x = x};
    const struct sv_cursors cursors = {find_listed_run, &l, "run of this thread"};
    struct wj_writer w;
    int r = sv_find_thread(x, &l.thread, err);
    if (r >= 0)
        r = sv_page_read(x, &l.page, err);
    if (r >= 0)
        r = sv_page_cursors(&l.page, &cursors, &l.after, &l.before, err);
    if (r >= 0)
        r = read_run_ids(&l, err);
    if (r < 0)
        return r;
    size_t n = WB_MIN(l.n, (size_t)l.page.limit);
    bool turned = l.page.backwards;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        r = write_run(x, &w, l.runs[turned ? n - 1 - i : i], err);
        if (r < 0)
            return r;
    }
    sv_list_end(&w, "run_", n ? l.runs[turned ? n - 1 : 0] : WB_UUID_NIL, n ? l.runs[turned ? 0 : n - 1] : WB_UUID_NIL,
                l.n > l.page.limit);
    return sv_finish(x, &w);
}

/* ---- Steps --------------------------------------------------------------------------------------------------------
 */

enum { TURN = 1024 }; /* events that are read before others may work */

/* The one thing that can be included concerns file_search, whose results no step of ours leaves out. */
static int read_include(struct sv_exchange *x, struct upp_err *err)
{
    static const struct upp_str only = UPP_STR_INIT("step_details.tool_calls[*].file_search.results[*].content");
    static const char *const names[] = {"include[]", "include"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str text;
        int r = sv_query(x, wb_cstr(names[i]), &text, err);
        if (r > 0 && !wb_str_eq(text, only))
            return upp_fail(err, UPP_EINVALID, "include is %.*s", UPP_FMT(only));
        if (r < 0)
            return r;
    }
    return 0;
}

/* No step has an id of zeros, which means none to those who are asked. */
static bool parse_step_id(struct upp_str text, struct wb_uuid *ret)
{
    return wl_id_parse(text, UPP_STR("step_"), ret) && !wb_uuid_is_nil(*ret);
}

static int find_listed_step(void *arg, struct upp_str id, void *ret, struct upp_err *err)
{
    (void)arg;
    (void)err;
    return parse_step_id(id, ret);
}

/* The page, in the order in which the run made the steps. */
WEFT_SUSPENDS static int read_steps_page(struct sv_exchange *x, struct sv_page *p, struct asst_steps_page *ret,
                                         struct upp_err *err)
{
    static const struct sv_cursors cursors = {find_listed_step, NULL, "step of this run"};
    *ret = (struct asst_steps_page){0};
    int r = sv_page_read(x, p, err);
    if (r >= 0)
        r = read_include(x, err);
    if (r >= 0)
        r = sv_page_cursors(p, &cursors, p->ascending ? &ret->after : &ret->before,
                            p->ascending ? &ret->before : &ret->after, err);
    ret->newest = !sv_page_up(p);
    ret->limit = (size_t)p->limit;
    return WB_MIN(r, 0);
}

static void ignore_wake(void *arg)
{
    (void)arg;
}

/* All events that there are now. */
WEFT_SUSPENDS static int read_step_events(struct wr_reader *reader, struct asst_steps *s, struct upp_err *err)
{
    struct wm_event ev;
    for (unsigned n = 1;; n++) {
        int r = wr_reader_try(reader, true, &ev, ignore_wake, NULL, err);
        if (r <= 0)
            return r == -UPP_EBUSY ? 0 : r;
        r = asst_steps_event(s, &ev, err);
        if (r == 0 && n % TURN == 0)
            r = weft_yield(err);
        if (r != 0)
            return r;
    }
}

WEFT_SUSPENDS static int read_steps(struct sv_exchange *x, const struct asst_steps_page *want, struct asst_steps *s,
                                    struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *reader = NULL;
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    if (r < 0)
        return r;
    const struct wd_stream_opts opts = {
        .size = sizeof opts, .thread = look.run.thread, .created_ms = look.run.created_ms, .options = look.run.options};
    r = asst_steps_begin(s, want, &opts, err);
    if (r >= 0)
        r = wr_reader_open(x->core->engine, &x->owner, look.run.id, NULL, &reader, err);
    if (r >= 0)
        r = read_step_events(reader, s, err);
    return r < 0 ? r : asst_steps_end(s, err);
}

static int write_steps(struct sv_exchange *x, const struct asst_steps *s, bool ascending, struct upp_err *err)
{
    struct wj_writer w;
    bool more = s->list.n > s->want.limit;
    size_t n = more ? s->want.limit : s->list.n;
    size_t first = more && s->want.newest; /* the one too many is the oldest, or the newest */
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        struct upp_str json = wb_buf_str(&s->list.p[first + (ascending ? i : n - 1 - i)].json);
        wj_write_raw(&w, json.p, json.n);
    }
    struct wb_uuid low = n ? s->list.p[first].id : WB_UUID_NIL, high = n ? s->list.p[first + n - 1].id : WB_UUID_NIL;
    sv_list_end(&w, "step_", ascending ? low : high, ascending ? high : low, more);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_list_steps(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want;
    struct sv_page p;
    int r = read_steps_page(x, &p, &want, err);
    if (r >= 0)
        r = read_steps(x, &want, &s, err);
    return r < 0 ? r : write_steps(x, &s, p.ascending, err);
}

WEFT_SUSPENDS int sv_get_step(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want = {.limit = 1};
    struct wj_writer w;
    bool known = parse_step_id(x->params[2], &want.only);
    int r = read_include(x, err);
    if (r >= 0 && known)
        r = read_steps(x, &want, &s, err);
    if (r >= 0 && !s.list.n)
        r = upp_fail(err, UPP_ENOTFOUND, "no step '%.*s' of this run", UPP_FMT(x->params[2]));
    if (r < 0)
        return r;
    struct upp_str json = wb_buf_str(&s.list.p[0].json);
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_raw(&w, json.p, json.n);
    return sv_finish(x, &w);
}
