/* server/doors/v1/routes.h — threads, messages and runs over HTTP, in the shapes of the Assistants API. */
#pragma once

#include "json/write.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/doors/system_text.h"
#include "server/http/body.h"
#include "server/http/route.h"
#include "thread/summary.h"

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

/* What a body says of a run on start.thread, which was found before (all zero: it comes with a thread of its own). */
struct sv_run_request {
    struct sv_start start;
    struct sv_run_stream stream;
    bool streams;
    unsigned char hash[32]; /* of the body, for start.run.body */
};

/* The member `answers` of a body. 1; 0: absent. */
int sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* A thread that a request describes, with its messages. */
WEFT_SUSPENDS int sv_read_thread(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                 const struct wr_agent_def *agent, struct sv_system *system,
                                 struct wl_thread_opts *opts, struct sv_entries *entries,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Writes a message of the thread, with its author and, if it was cut short, the reason. */
WEFT_SUSPENDS int sv_put_message(struct sv_exchange *x, const struct wl_thread *t, struct wl_line *line,
                                 struct wj_writer *w, struct upp_err *err) UPP_MUST_CHECK;

/* "user", "assistant", "tool"; NULL: another one. */
struct upp_str sv_role_name(uint8_t role);

/* Is it listed as an entry of the log, and such an entry; `node` is the id of its node. */
bool sv_is_entry(const struct wl_line *line);
void sv_write_entry(struct wj_writer *w, struct wb_uuid node, const struct wl_line *line);

/* The tree of a thread as JSON, for the route and for `weft tree --json`. */
void sv_write_tree(struct wj_writer *w, const struct wl_thread *t, const struct wa_tree_summary *l);

enum { SV_IMPORT_BODY = 64 << 20 };

/* ---- Handlers ---- */

/* runs.c */
WEFT_SUSPENDS int sv_create_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_create_thread_and_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_runs(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_cancel_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_cancel_thread_run(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_read_run_events(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_run_trace(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_steps(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_step(struct sv_exchange *x, struct upp_err *err);

/* answers.c, approvals.c */
WEFT_SUSPENDS int sv_post_answers(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_submit_tool_outputs(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_approvals(struct sv_exchange *x, struct upp_err *err);

/* threads.c */
WEFT_SUSPENDS int sv_create_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_thread(struct sv_exchange *x, struct upp_err *err);

/* messages.c, family.c, entries.c */
WEFT_SUSPENDS int sv_create_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_messages(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_family(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_entries(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_create_event(struct sv_exchange *x, struct upp_err *err);

/* assistants.c */
WEFT_SUSPENDS int sv_create_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_assistants(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_modify_assistant(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_assistant(struct sv_exchange *x, struct upp_err *err);
int sv_list_models(struct sv_exchange *x, struct upp_err *err);
int sv_get_model(struct sv_exchange *x, struct upp_err *err);

/* tree.c */
WEFT_SUSPENDS int sv_get_tree(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_checkpoints(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_fork_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_restore_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_checkout_thread(struct sv_exchange *x, struct upp_err *err);

/* documents.c */
WEFT_SUSPENDS int sv_export_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_import_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_configurations(struct sv_exchange *x, struct upp_err *err);

/* files.c */
WEFT_SUSPENDS int sv_create_file(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_files(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_file(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_file_content(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_file(struct sv_exchange *x, struct upp_err *err);

/* search.c */
WEFT_SUSPENDS int sv_search(struct sv_exchange *x, struct upp_err *err);
