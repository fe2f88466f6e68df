/* server/doors/v1/routes.c — the table of the routes of /v1. */
#include "server/doors/v1/routes.h"

#include "base/defs.h"
#include "server/doors/files.h"
#include "server/doors/objects/find.h"

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
    {SV_GET, "/v1/threads/{t}/runs/{r}", sv_get_run, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs/{r}", sv_modify_run, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs/{r}/cancel", sv_cancel_thread_run, 0, SV_ROUTE_SMALL},
    {SV_POST, "/v1/threads/{t}/runs/{r}/submit_tool_outputs", sv_submit_tool_outputs, 0, 0},
    {SV_GET, "/v1/threads/{t}/runs/{r}/steps", sv_list_steps, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/runs/{r}/steps/{s}", sv_get_step, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/runs", sv_create_thread_and_run, 0, 0},
    {SV_GET, "/v1/runs/{r}/events", sv_read_run_events, 0, 0},
    {SV_GET, "/v1/runs/{r}/trace", sv_get_run_trace, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/runs/{r}/cancel", sv_cancel_run, 0, SV_ROUTE_SMALL},
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
