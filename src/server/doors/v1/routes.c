/* server/doors/v1/routes.c — the routes of runs, and the table of all of /v1. */
#include <string.h>

#include "server/doors/v1/routes.h"

#include <stdio.h>

#include "base/defs.h"
#include "log/change.h"
#include "server/doors/files.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/objects.h"
#include "server/http/conn.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum { POLL_MS = 100 };

WEFT_SUSPENDS int sv_answer_run(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    struct wj_writer w;
    char ms[16];
    x->run = run;
    int r = sv_look_at_run(x, run, &look, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    r = sv_write_run(&w, &x->arena, &look, err);
    if (r < 0)
        return r;
    (void)snprintf(ms, sizeof ms, "%d", POLL_MS);
    sv_reply_header(&x->reply, "openai-poll-after-ms", wb_cstr(ms));
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

WEFT_SUSPENDS static int get_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    return r < 0 ? r : sv_answer_run(x, look.run.id, err);
}

WEFT_SUSPENDS static int modify_run(struct sv_exchange *x, struct upp_err *err)
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
    return upp_fail(err, UPP_EREFUSED, "Cannot cancel run with status '%s'.", sv_run_status(look));
}

WEFT_SUSPENDS static int cancel(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_cancel(x, run, err);
    if (r == -UPP_EREFUSED && strcmp(err->cause, SV_MEMBER) != 0 &&
        wr_get(x->core->engine, &x->owner, run, &x->arena, &look, NULL) >= 0)
        return cannot_cancel(&look, err);
    return r < 0 ? r : sv_answer_run(x, run, err);
}

WEFT_SUSPENDS static int cancel_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    int r = sv_find_run(x, x->params[0], &run, err);
    return r < 0 ? r : cancel(x, run, err);
}

WEFT_SUSPENDS static int cancel_in_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    if (r >= 0 && wm_status_ended(look.run.status)) /* also a cancelled one: so this API has it */
        return cannot_cancel(&look, err);
    return r < 0 ? r : cancel(x, look.run.id, err);
}

/* In uap a reader follows the run to its end; in the other dialects a request gets one segment of it. */
WEFT_SUSPENDS static int read_events(struct sv_exchange *x, struct upp_err *err)
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

WEFT_SUSPENDS static int get_trace(struct sv_exchange *x, struct upp_err *err)
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

/* The first version had other objects; AITP's clients send no such header. */
static int check_version(const struct sv_exchange *x, struct upp_err *err)
{
    size_t n;
    struct upp_str beta = sv_http_header(x->request, UPP_STR("openai-beta"), &n);
    return n && wb_str_eq(wb_str_trim(beta), UPP_STR("assistants=v1"))
               ? upp_fail(err, UPP_EINVALID,
                          "The v1 Assistants API has been deprecated. Set the header 'OpenAI-Beta: assistants=v2'.")
               : 0;
}

static const struct sv_route rows[] = {
    {SV_POST, "/v1/assistants", sv_create_assistant, 0, 0},
    {SV_GET, "/v1/assistants", sv_list_assistants, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/assistants/{a}", sv_get_assistant, 0, 0},
    {SV_POST, "/v1/assistants/{a}", sv_modify_assistant, 0, 0},
    {SV_DELETE, "/v1/assistants/{a}", sv_delete_assistant, 0, 0},
    {SV_GET, "/v1/models", sv_list_models, 0, 0},
    {SV_GET, "/v1/models/{model}", sv_get_model, 0, 0},
    {SV_POST, "/v1/thread", sv_create_thread, 0, 0}, /* AITP's name for it */
    {SV_POST, "/v1/threads", sv_create_thread, 0, 0},
    {SV_GET, "/v1/threads", sv_list_threads, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}", sv_get_thread, 0, 0},
    {SV_DELETE, "/v1/threads/{t}", sv_delete_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/messages", sv_create_message, 0, 0},
    {SV_GET, "/v1/threads/{t}/messages", sv_list_messages, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/entries", sv_list_entries, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/{t}/events", sv_create_event, 0, 0},
    {SV_GET, "/v1/threads/{t}/messages/{m}", sv_get_message, 0, 0},
    {SV_POST, "/v1/threads/{t}/messages/{m}", sv_modify_message, 0, 0},
    {SV_DELETE, "/v1/threads/{t}/messages/{m}", sv_delete_message, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs", sv_create_run, 0, 0},
    {SV_GET, "/v1/threads/{t}/runs", sv_list_runs, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/runs/{r}", get_run, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs/{r}", modify_run, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs/{r}/cancel", cancel_in_thread, 0, SV_ROUTE_SMALL},
    {SV_POST, "/v1/threads/{t}/runs/{r}/submit_tool_outputs", sv_submit_tool_outputs, 0, 0},
    {SV_GET, "/v1/threads/{t}/runs/{r}/steps", sv_list_steps, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/runs/{r}/steps/{s}", sv_get_step, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/runs", sv_create_thread_and_run, 0, 0},
    {SV_GET, "/v1/runs/{r}/events", read_events, 0, 0},
    {SV_GET, "/v1/runs/{r}/trace", get_trace, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/runs/{r}/cancel", cancel_run, 0, SV_ROUTE_SMALL},
    {SV_POST, "/v1/runs/{r}/answers", sv_post_answers, 0, 0},
    {SV_GET, "/v1/approvals", sv_list_approvals, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/search", sv_search, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/tree", sv_get_tree, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/checkpoints", sv_list_checkpoints, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/{t}/fork", sv_fork_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/restore", sv_restore_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/checkout", sv_checkout_thread, 0, 0},
    {SV_GET, "/v1/threads/{t}/export", sv_export_thread, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/configurations", sv_list_configurations, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/import", sv_import_thread, SV_IMPORT_BODY, SV_ROUTE_LARGE},
    {SV_POST, "/v1/files", sv_create_file, SV_FILE_BODY, SV_ROUTE_PIECES},
    {SV_GET, "/v1/files", sv_list_files, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/files/{f}", sv_get_file, 0, 0},
    {SV_GET, "/v1/files/{f}/content", sv_get_file_content, 0, 0},
    {SV_DELETE, "/v1/files/{f}", sv_delete_file, 0, 0},
    {SV_POST, "/v1/threads/{t}", sv_modify_thread, 0, 0}, /* after the paths that would pass for a thread's */
};
const struct sv_door sv_door_v1 = {.name = "v1",
                                   .prefix = "/v1/",
                                   .routes = rows,
                                   .n_routes = WB_LEN(rows),
                                   .home = sv_home_of_path,
                                   .check = check_version,
                                   .stream = "assistants",
                                   .agents = true};
