/* server/doors/v1/routes.h — threads, messages and runs over HTTP, in the shapes of the Assistants API. */
#ifndef SV_ROUTES_V1_H
#define SV_ROUTES_V1_H

#include "json/write.h"
#include "run/engine.h"
#include "server/http/route.h"

/* For sv_server_opts.routes, with .engine and .store set. */
extern const struct sv_routes sv_routes_v1;

/* ---- Shared by the files of these routes ---- */

/* A run's id in any spelling. -UPP_ENOTFOUND. */
int sv_run_id(struct upp_str text, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The response body is complete: 200. */
int sv_finish(struct sv_exchange *x, struct wj_writer *w) UPP_MUST_CHECK;

/* Responds with this thread. */
int sv_answer_thread(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the current state of the run. */
WEFT_SUSPENDS int sv_answer_run(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err) UPP_MUST_CHECK;

/* Streams a run's events (server/doors/v1/run_stream.c): `?as=` chooses the dialect, `?target=` and `?children=` its
 * options. to_wait: the stream ends when the run waits for an answer from outside. */
WEFT_SUSPENDS int sv_stream_events(struct sv_exchange *x, struct wb_uuid run, const struct wr_from *from, bool to_wait,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Is the dialect known? Checked before anything is started. */
int sv_stream_check(struct sv_exchange *x, struct upp_err *err) UPP_MUST_CHECK;

/* Handlers of server/doors/v1/messages.c. */
WEFT_SUSPENDS int sv_create_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_create_message(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_list_messages(struct sv_exchange *x, struct upp_err *err);

/* Of server/doors/v1/answers.c: the member `answers` of a body (n 0: none), and the handler that passes them to a
 * run. */
struct sv_body;
struct sv_answers {
    struct wr_answer *p;
    size_t            n;
};
int               sv_read_answers(struct sv_exchange *x, const struct sv_body *b, struct sv_answers *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_post_answers(struct sv_exchange *x, struct upp_err *err);

/* The same for whatever has open calls on a thread. 1: a run waited for them and resumes: *run. 0: they came with an
 * imported document, and `start` begins with their results. */
WEFT_SUSPENDS int sv_put_answers(struct sv_exchange *x, const struct wl_thread *t, const struct sv_answers *a,
                                 struct wr_start *start, struct wb_uuid *run, struct upp_err *err) UPP_MUST_CHECK;

/* Handler of server/doors/v1/threads.c. */
WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_get_thread(struct sv_exchange *x, struct upp_err *err);

/* Handlers of server/doors/v1/delete.c. */
WEFT_SUSPENDS int sv_delete_thread(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_delete_message(struct sv_exchange *x, struct upp_err *err);

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

/* The thread that {t} names. */
WEFT_SUSPENDS int sv_find_thread(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Parameters of a list: `limit`, and, if `ascending` is not NULL, `order` (asc or desc). */
enum { SV_LIST_MAX = 100 };
int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err) UPP_MUST_CHECK;

/* The envelope of a list: begins with `data`, ends with first_id, last_id and has_more. */
void sv_list_begin(struct wj_writer *w);
void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more);

/* Entries of an array of messages for an agent (NULL: none); no entries without an array. */
struct sv_entries {
    struct wm_entry *p;
    size_t           n;
};
enum { SV_MAX_MESSAGES = 256 /* in one request */ };
int sv_read_messages(struct sv_exchange *x, const struct sv_body *b, struct upp_str name,
                     const struct wr_agent_def *agent, struct sv_entries *ret, struct upp_err *err) UPP_MUST_CHECK;

/* After -UPP_EBUSY: OpenAI's sentence, which names the run that holds the thread. */
WEFT_SUSPENDS int sv_busy_error(struct sv_exchange *x, const struct wl_thread *t, bool for_run, struct upp_err *err);

#endif
