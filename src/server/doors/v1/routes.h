/* server/doors/v1/routes.h — threads, messages and runs over HTTP, in the shapes of the Assistants API. */
#pragma once

#include "json/write.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/doors/system_text.h"
#include "server/http/body.h"
#include "server/http/door.h"

/* For sv_server_opts.doors, with .engine and .store set. */
extern const struct sv_door sv_door_v1;

/* ---- Shared by the files of these routes ---- */

/* Responds with the current state of the run. */
WEFT_SUSPENDS int sv_answer_run(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err) UPP_MUST_CHECK;

/* Responds with that, or with the stream that the request asks for, up to the run's next wait. */
struct sv_run_request;
WEFT_SUSPENDS int sv_answer_started(struct sv_exchange *x, struct wb_uuid run, struct sv_run_request *what,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* The run that {t}/{r} names; it must belong to that thread. */
WEFT_SUSPENDS int sv_find_in_thread(struct sv_exchange *x, struct wr_run_info *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Of server/doors/v1/run_create.c: what a body says of a run on start.thread, which was found before (all zero: it
 * comes with a thread of its own). */
struct sv_run_request {
    struct sv_start start;
    struct sv_run_stream stream;
    bool streams;
    unsigned char hash[32]; /* of the body, for start.run.body */
};
#define SV_RUN_MEMBERS "assistant_id", "stream", "on_busy", "additional_messages", "answers", SV_OPTIONS
WEFT_SUSPENDS int sv_read_run(struct sv_exchange *x, const struct sv_body *b, struct sv_run_request *ret,
                              struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_create_run(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/run_thread.c, submit.c, steps.c. */
WEFT_SUSPENDS int sv_create_thread_and_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_submit_tool_outputs(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_steps(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_step(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/messages.c. */
WEFT_SUSPENDS int sv_create_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_create_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_messages(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_entries(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/family.c. */
WEFT_SUSPENDS int sv_list_family(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/configurations.c. */
WEFT_SUSPENDS int sv_list_configurations(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/events.c. */
WEFT_SUSPENDS int sv_create_event(struct sv_exchange *x, struct upp_err *err);

/* Of server/doors/v1/answers.c: the member `answers` of a body (n 0: none), and the handler that passes them to a
 * run. */

int sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_post_answers(struct sv_exchange *x, struct upp_err *err);

/* The Idempotency-Key of a request that answers a run, as sv_start_key: keys are for this run. */
int sv_answers_key(struct sv_exchange *x, struct wb_uuid run, const char *route, struct wr_start *start,
                   unsigned char hash[32], struct upp_err *err) UPP_MUST_CHECK;

/* Handlers of server/doors/v1/threads.c. */
WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_thread(struct sv_exchange *x, struct upp_err *err);

/* The title of a new or modified thread; an empty one removes it. */
int sv_read_title(const struct sv_body *b, yyjson_val *object, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Handlers of server/doors/v1/message.c. */
WEFT_SUSPENDS int sv_get_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_message(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/assistants.c. */
WEFT_SUSPENDS int sv_create_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_assistants(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_assistant(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/models.c. */
int sv_list_models(struct sv_exchange *x, struct upp_err *err);
int sv_get_model(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/delete.c. */
WEFT_SUSPENDS int sv_delete_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_message(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/approvals.c. */
WEFT_SUSPENDS int sv_list_approvals(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/run_list.c. */
WEFT_SUSPENDS int sv_list_runs(struct sv_exchange *x, struct upp_err *err);

/* Handler of server/doors/v1/search.c. */
WEFT_SUSPENDS int sv_search(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/tree.c. */
WEFT_SUSPENDS int sv_get_tree(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_checkpoints(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/positions.c. */
WEFT_SUSPENDS int sv_fork_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_restore_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_checkout_thread(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/documents.c. */
enum { SV_IMPORT_BODY = 64 << 20 };
WEFT_SUSPENDS int sv_export_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_import_thread(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/files.c. */
WEFT_SUSPENDS int sv_create_file(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_files(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_file(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_file_content(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_file(struct sv_exchange *x, struct upp_err *err);

/* A thread that a request describes, with its messages. */
WEFT_SUSPENDS int sv_read_thread(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                 const struct wr_agent_def *agent, struct sv_system *system,
                                 struct wl_thread_opts *opts, struct sv_entries *entries,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Why a message is incomplete: its run tells. One whose run the sweep has removed can only have failed. */
WEFT_SUSPENDS int sv_why_incomplete(struct sv_exchange *x, const struct wl_line *line, const char **ret,
                                    struct upp_err *err) UPP_MUST_CHECK;
