/* server/doors/process/routes.c — the routes of the Agent API: requests, tasks, responses. */
#include "base/defs.h"
#include "base/err.h"
#include "json/write.h"
#include "log/log.h"
#include "server/doors/objects/find.h"
#include "server/doors/process/process.h"
#include "server/http/conn.h"
#include "server/http/server.h"

/* ---- Responding -------------------------------------------------------------------------------------------------- */

static bool accepts(const struct sv_exchange *x, struct upp_str type)
{
    struct upp_str accept = sv_http_header(x->request, UPP_STR("accept"), NULL);
    return accept.n && wb_str_has_nocase(accept, type);
}

/* AgentScope's clients and tests take a chunk of HTTP for a frame, and a frame for a line that begins with "data:".
 * Who can come back with Last-Event-ID asks for ids: by ?ids=true, or by a GET, as EventSource does. */
static int read_stream(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err)
{
    struct upp_str ids;
    int r = sv_run_stream_read(x, NULL, ret, err);
    ret->to_wait = true;
    ret->lines = accepts(x, UPP_STR("application/x-ndjson"));
    if (r >= 0)
        r = sv_query(x, UPP_STR("ids"), &ids, err);
    bool wanted = r > 0 ? wb_str_eq(ids, UPP_STR("true")) : x->request->method != SV_POST;
    if (r > 0 && !wanted && !wb_str_eq(ids, UPP_STR("false")))
        return upp_fail(err, UPP_EINVALID, "ids is true or false");
    ret->plain = !wanted && !ret->lines && ret->ops == &wd_stream_agentapi;
    return r < 0 ? r : 0;
}

/* The response object; waits for it with `whole`. */
WEFT_SUSPENDS static int respond_object(struct sv_exchange *x, struct wb_uuid run, bool whole, struct upp_err *err)
{
    x->run = run;
    x->reply.status = 200;
    return sv_process_result(x, run, whole, &x->reply.body, err);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* 1: an earlier request with the same id or key has started or answered *run. */
WEFT_SUSPENDS static int join_key(struct sv_exchange *x, struct sv_process *p, struct wb_uuid *run, struct upp_err *err)
{
    int r = sv_join_key(x, &p->start.run, &p->joining, err);
    p->start.joined = r > 0;
    if (r > 0)
        *run = p->joining.run.id;
    return r;
}

/* The run that the request starts, resumes or joins, and where its response begins. 1: it has been refused. */
WEFT_SUSPENDS static int start(struct sv_exchange *x, struct sv_process *p, struct wb_uuid *run, struct wr_from *from,
                               struct upp_err *err)
{
    struct wr_run_info look = {0};
    struct wm_run last = {0};
    int r = sv_process_read(x, p, err);
    if (r != 0)
        return r;
    r = join_key(x, p, run, err); /* what it answered may wait no more */
    if (r != 0)
        return r < 0 ? r : 0;
    r = sv_process_branch(x, p, err);
    if (r >= 0)
        r = sv_process_input(x, p, err);
    if (r < 0)
        return r;
    if (!wb_uuid_is_nil(p->join)) {
        *run = p->join;
        return sv_process_from(x, *run, from, err);
    }
    if (p->start.answers.n && !p->is_new) { /* what follows the wait is the response */
        r = sv_process_last(x, &p->start.thread, &last, err);
        if (r >= 0)
            r = wr_get(x->core->engine, &x->owner, last.id, &x->arena, &look, err);
        if (r == -UPP_ENOTFOUND)
            r = 0;
    }
    if (r >= 0)
        r = sv_process_open(x, p, err);
    if (r >= 0)
        r = sv_start_run(x, &p->start, run, err);
    if (r >= 0 && wb_uuid_eq(*run, last.id))
        *from = (struct wr_from){.epoch = look.epoch, .number = look.last};
    return r;
}

static uint32_t home_of(const struct sv_exchange *x, const struct sv_process *p)
{
    return wr_home(p->is_new ? p->fresh : p->start.thread.tree, x->server->n_cores);
}

/* Another request has just opened the session: this one is read again, where that is at home. */
WEFT_SUSPENDS static int start_again(struct sv_exchange *x, sv_handler *handler, struct upp_err *err)
{
    struct sv_process *p;
    x->found = NULL;
    int r = sv_process_find(x, &p, err);
    if (r < 0)
        return r;
    p->again = true;
    return sv_core_run(&x->server->cores[home_of(x, p)], x, handler, err);
}

/* Starts, and goes on with `respond` where the run is at home. */
WEFT_SUSPENDS static int start_and(struct sv_exchange *x, struct sv_process *p, sv_handler *handler,
                                   sv_handler *respond, struct upp_err *err)
{
    int r = start(x, p, &p->run, &p->stream.from, err);
    if (r == -UPP_EBUSY && p->is_new && !p->again)
        return start_again(x, handler, err);
    if (r < 0 && !x->done && sv_key_is_used(x, &p->start.run)) /* the same request was first */
        r = WB_MIN(join_key(x, p, &p->run, err), 0);
    if (r != 0)
        return r < 0 ? r : 0;
    return p->start.joined ? sv_run_at_home(x, p->run, respond, err) : respond(x, err);
}

WEFT_SUSPENDS static int respond(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_process *p = x->found;
    int r = p->start.joined ? join_key(x, p, &p->run, err) : 0;
    if (r > 0)
        r = sv_join_from(x, &p->joining, &p->stream, err);
    if (r < 0)
        return r;
    return p->streams ? sv_run_stream(x, p->run, &p->stream, err) : respond_object(x, p->run, true, err);
}

WEFT_SUSPENDS static int process(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_process *p;
    int r = sv_process_find(x, &p, err);
    if (r >= 0)
        r = read_stream(x, &p->stream, err); /* before anything is started */
    return r < 0 ? r : start_and(x, p, process, respond, err);
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int respond_task(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_process *p = x->found;
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    int r = p->start.joined ? sv_process_session(x, p, err) : 0;
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "task_id", wb_uuid_text(p->run, id));
    wj_put_str(&w, "status", UPP_STR("submitted"));
    wj_put_str(&w, "queue", UPP_STR("stream_query"));
    wj_put_str(&w, "message", UPP_STR("The task runs. GET /process/task/{task_id} returns its result."));
    wj_put_str(&w, "session_id", p->session);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS static int post_task(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_process *p;
    int r = sv_process_find(x, &p, err);
    if (r < 0)
        return r;
    p->task = true;
    return start_and(x, p, post_task, respond_task, err);
}

static int no_task(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    struct upp_str text = wb_arena_printf(&x->arena, "Task %.*s not found", UPP_FMT(x->params[0]));
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "error", text);
    wj_write_close(&w, '}');
    int r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : sv_finish(x, &w);
}

WEFT_SUSPENDS static int write_task(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf result = WB_BUF(WD_FRAMES_TEXT);
    bool over = wm_status_ended(run->status) || run->status == WM_WAITING;
    struct wj_writer w;
    int r = over ? sv_process_result(x, run->id, true, &result, err) : 0;
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "status",
               over                       ? UPP_STR("finished")
               : run->status == WM_QUEUED ? UPP_STR("pending")
                                          : UPP_STR("running"));
    if (!over && run->status != WM_QUEUED) {
        wj_write_name(&w, UPP_STR("started_at"));
        wj_write_f64(&w, (double)run->started_ms / 1000);
    }
    if (result.n)
        wj_put_raw(&w, "result", result.p, result.n);
    else
        wj_put_null(&w, "result");
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

/* The user that a GET names. */
static int read_user(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str user;
    int r = sv_query(x, UPP_STR("user_id"), &user, err);
    return r > 0 ? sv_process_user(x, NULL, user, err) : r;
}

WEFT_SUSPENDS static int get_task(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_run_info look;
    struct wb_uuid id;
    int r = read_user(x, err);
    if (r >= 0)
        r = sv_find_run(x, x->params[0], &id, err);
    if (r >= 0)
        r = wr_get(x->core->engine, &x->owner, id, &x->arena, &look, err);
    if (r == -UPP_ENOTFOUND)
        return no_task(x, err);
    if (r < 0)
        return r;
    x->run = id;
    return write_task(x, &look.run, err);
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int find_session(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err)
{
    if (x->thread) {
        *ret = *x->thread;
        return 0;
    }
    int r = read_user(x, err);
    if (r >= 0)
        r = wl_thread_find(x->server->opts.store, &x->owner, x->params[0], &x->arena, ret, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "there is no session '%.*s'", UPP_FMT(x->params[0])) : r;
}

/* The last response of the session, as a stream: from its start, or after the frame that Last-Event-ID names. */
WEFT_SUSPENDS static int get_stream(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_stream stream;
    struct wl_thread t;
    struct wm_run run;
    int r = find_session(x, &t, err);
    if (r >= 0)
        r = read_stream(x, &stream, err);
    if (r >= 0)
        r = sv_run_stream_from(x, &stream, err);
    if (r >= 0)
        r = sv_process_last(x, &t, &run, err);
    if (r >= 0 && !stream.from.number)
        r = sv_process_from(x, run.id, &stream.from, err);
    return r < 0 ? r : sv_run_stream(x, run.id, &stream, err);
}

WEFT_SUSPENDS static int get_response(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wm_run run;
    int r = find_session(x, &t, err);
    if (r >= 0)
        r = sv_process_last(x, &t, &run, err);
    return r < 0 ? r : respond_object(x, run.id, false, err);
}

/* Cancels what the session does; a session that does nothing stays as it is. */
WEFT_SUSPENDS static int cancel(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_process *p;
    struct wj_writer w;
    struct wm_run *runs;
    size_t n = 0;
    int r = sv_process_find(x, &p, err);
    if (r >= 0 && p->is_new)
        r = upp_fail(err, UPP_ENOTFOUND, "there is no session '%.*s'", UPP_FMT(p->session));
    if (r >= 0)
        r = wl_list_runs(x->server->opts.store, &x->owner, p->start.thread.id, true, 64, &x->arena, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        r = sv_cancel(x, runs[n - 1 - i].id, err); /* queued ones first */
        if (r == -UPP_EREFUSED)                    /* it has ended meanwhile */
            r = 0;
    }
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "status", UPP_STR("ok"));
    wj_put_u64(&w, "canceled", n);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int home_of_request(struct sv_exchange *x, uint32_t *ret, struct upp_err *err)
{
    struct sv_process *p;
    int r = sv_process_find(x, &p, err);
    if (r >= 0)
        *ret = home_of(x, p);
    return r;
}

WEFT_SUSPENDS static int find_home(struct sv_exchange *x, uint32_t *ret, struct upp_err *err)
{
    struct upp_str pattern = wb_cstr(x->conn->match.route->pattern);
    struct wb_uuid run;
    int r = 0;
    if (x->request->method == SV_POST)
        return home_of_request(x, ret, err);
    if (wb_str_starts(pattern, UPP_STR("/process/sessions/"))) {
        struct wl_thread *t = wb_new(&x->arena, struct wl_thread);
        r = t ? find_session(x, t, err) : wb_arena_check(&x->arena, err);
        if (r >= 0) {
            x->thread = t;
            *ret = wr_home(t->tree, x->server->n_cores);
        }
    } else if (sv_run_id(x->params[0], &run, NULL) >= 0)
        r = wr_home_of_run(x->server->opts.store, &x->owner, run, x->server->n_cores, ret, err);
    return r == -UPP_ENOTFOUND ? 0 : r;
}

static const struct sv_route rows[] = {
    {SV_POST, "/process", process, 0, 0},
    {SV_POST, "/process/stream", process, 0, 0},
    {SV_POST, "/process/task", post_task, 0, 0},
    {SV_GET, "/process/task/{r}", get_task, 0, 0},
    {SV_GET, "/process/sessions/{session}/stream", get_stream, 0, 0},
    {SV_GET, "/process/sessions/{session}/response", get_response, 0, 0},
    {SV_POST, "/process/cancel", cancel, 64 << 10, SV_ROUTE_SMALL},
    {SV_POST, "/stop", cancel, 64 << 10, SV_ROUTE_SMALL},
};
static const struct sv_status statuses[] = {
    {UPP_EINVALID, 422}, {UPP_EREFUSED, 422}, {UPP_ENOMODEL, 422}, {UPP_ECONTEXT, 422}, {UPP_EBUSY, 409}, {0, 0},
};
const struct sv_door sv_door_process = {.name = "process",
                                        .prefix = "/process",
                                        .routes = rows,
                                        .n_routes = WB_LEN(rows),
                                        .error = sv_process_error,
                                        .statuses = statuses,
                                        .home = find_home,
                                        .stream = "agentapi",
                                        .agents = true};
