/* server/doors/v1/routes.h — threads, messages and runs over HTTP, in the shapes of the Assistants API. */
#ifndef SV_ROUTES_V1_H
#define SV_ROUTES_V1_H

#include "server/doors/options.h"
#include "json/write.h"
#include "server/doors/run_stream.h"
#include "server/doors/system_text.h"
#include "server/doors/start.h"
#include "server/http/body.h"
#include "server/http/door.h"

/* For sv_server_opts.doors, with .engine and .store set. */
extern const struct sv_door sv_door_v1;

/* ---- Shared by the files of these routes ---- */

/* A run's id in any spelling. -UPP_ENOTFOUND. */
int sv_run_id(struct upp_str text, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, if it is a run of the client's tenant and user. */
WEFT_SUSPENDS int sv_find_run(struct sv_exchange *x, struct upp_str text, struct wb_uuid *ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* The home of a request about a thread or a run (struct sv_door). */
WEFT_SUSPENDS int sv_home_v1(struct sv_exchange *x, uint32_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The response body is complete: 200. */
int sv_finish(struct sv_exchange *x, struct wj_writer *w) UPP_MUST_CHECK;

/* Responds with this thread. */
int sv_answer_thread(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

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
    struct sv_start      start;
    struct sv_run_stream stream;
    bool                 streams;
    unsigned char        hash[32]; /* of the body, for start.run.body */
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

int               sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_post_answers(struct sv_exchange *x, struct upp_err *err);

/* The Idempotency-Key of a request that answers a run, as sv_start_key: keys are for this run. */
int sv_answers_key(struct sv_exchange *x, struct wb_uuid run, const char *route, struct wr_start *start,
                   unsigned char hash[32], struct upp_err *err) UPP_MUST_CHECK;

/* Handlers of server/doors/v1/threads.c. */
WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_thread(struct sv_exchange *x, struct upp_err *err);

/* The metadata of a thread as it is to be stored, from the members metadata and tool_resources of a request: 1; 0: it
 * has neither, *ret is unchanged. What it does not give is as in `old`. */
WEFT_SUSPENDS int sv_read_thread_metadata(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                          const struct wl_thread *t, struct upp_str *ret, struct wb_uuid *parent,
                                          struct upp_err *err) UPP_MUST_CHECK;

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

/* The thread that {t} names. */
WEFT_SUSPENDS int sv_find_thread(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, if the client may change it. -UPP_EREFUSED: its actor has left. */
WEFT_SUSPENDS int sv_find_thread_to_change(struct sv_exchange *x, struct wl_thread *ret,
                                           struct upp_err *err) UPP_MUST_CHECK;

/* Parameters of a list: `limit`, and, if `ascending` is not NULL, `order` (asc or desc). */
enum { SV_LIST_MAX = 100 };
int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err) UPP_MUST_CHECK;

/* A parameter that is a time, in milliseconds since 1970: RFC 3339, or seconds since 1970. 1; 0: it is absent. */
int sv_read_time(struct sv_exchange *x, struct upp_str name, int64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The envelope of a list: begins with `data`, ends with first_id, last_id and has_more. */
void sv_list_begin(struct wj_writer *w);
void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more);

/* Entries of an array of messages of an object, for an agent (NULL: none); no entries without an array. `system`: where
 * a gateway's system messages go (server/doors/system_text.h). */
enum { SV_MAX_MESSAGES = 256 /* in one request */ };
WEFT_SUSPENDS int sv_read_messages(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                   struct upp_str name, const struct wr_agent_def *agent, struct sv_system *system,
                                   struct sv_entries *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A thread that a request describes, with its messages. */
WEFT_SUSPENDS int sv_read_thread(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                 const struct wr_agent_def *agent, struct sv_system *system,
                                 struct wl_thread_opts *opts, struct sv_entries *entries,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Why a message is incomplete: its run tells. One whose run the sweep has removed can only have failed. */
WEFT_SUSPENDS int sv_why_incomplete(struct sv_exchange *x, const struct wl_line *line, const char **ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the thread as UI messages (server/doors/v1/documents.c), with the ids that streams have. `pending`: the
 * calls of its run that wait. An answer is partial while its run works, not while it waits for the client. */
struct sv_chat_opts {
    unsigned                 target; /* version of the AI SDK; 0: the default */
    const struct wm_pending *pending;
    size_t                   n_pending;
    bool                     works;
};
WEFT_SUSPENDS int sv_write_chat(struct sv_exchange *x, const struct wl_thread *t, const struct sv_chat_opts *opts,
                                struct upp_err *err) UPP_MUST_CHECK;

#endif
