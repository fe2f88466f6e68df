/* server/members/members.h — who may write to a thread, and as whom.
 *
 * What AITP adds to threads and messages of requests, for every door that takes them.
 * A thread with members has `actors` as the first member of its metadata (dialects/aitp/members.h). Messages to it get
 * an author and a role; structured ones are checked against the requests of the thread. Other threads are not touched.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "dialects/aitp/capabilities.h"
#include "dialects/aitp/members.h"
#include "json/write.h"
#include "log/log.h"
#include "server/http/body.h"

enum { SV_AGENT_MESSAGES = 16 }; /* between agents in one run, unless its agent has max_agent_messages: AITP-13 */

/* Messages of a request, as entries for a thread. */
struct sv_entries {
    struct wm_entry *p;
    size_t n;
    yyjson_val **from; /* the message of the request that each was read from; NULL: not told */
};

/* Has the thread members? From its metadata, without parsing it. */
bool sv_has_members(const struct wl_thread *t);

/* The members of a thread's metadata, parsed into the arena. Without members: .actors is NULL. */
int sv_members_read(struct wb_arena *a, struct upp_str metadata, struct wd_aitp_members *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

/* The metadata of a thread from a request that creates it (t NULL; *parent: the thread that parent_id names) or that
 * modifies it: then its members and its parent stay, and a request that has others is refused. `actors` and `parent_id`
 * at the top level of the body are taken as metadata. *ret empty: none. */
WEFT_SUSPENDS int sv_members_metadata(struct sv_exchange *x, const struct sv_body *b, const struct wl_thread *t,
                                      struct upp_str *ret, struct wb_uuid *parent, struct upp_err *err) UPP_MUST_CHECK;

/* Writes the metadata of a thread object: what is stored, and parent_id; or parent_id alone, if it has one. */
void sv_members_put_parent(struct wj_writer *w, const struct wl_thread *t);
void sv_members_put_metadata(struct wj_writer *w, const struct wl_thread *t);

/* Messages that were read from a request (e->from), to be appended to this thread. Sets author, role and metadata of
 * the entries, and checks structured messages. fresh: the thread has no messages yet. -UPP_EREFUSED: an author who is
 * not a member, or not the client. */
WEFT_SUSPENDS int sv_members_receive(struct sv_exchange *x, const struct sv_body *b, const struct wl_thread *t,
                                     bool fresh, struct sv_entries *e, struct upp_err *err) UPP_MUST_CHECK;

/* Gives a message that a run wrote its author, metadata.actor, before it is shown: in threads with members, and of an
 * agent behind another AITP service its actor there. In a thread with members of whom that actor is none, it is the
 * agent, and metadata.weft.remote_actor names the other one. */
int sv_members_name_author(struct wb_arena *a, const struct wl_thread *t, struct wl_line *line,
                           struct upp_err *err) UPP_MUST_CHECK;

/* A thread is moved, or forked from `from`: with this store, in front of `behind`, its members become those of its new
 * position in the same commit. m->metadata: what the thread has then; NULL: as before. */
struct sv_members_move {
    struct wl_store store;
    struct sv_exchange *x;
    const struct wl_thread *from;
    struct upp_str metadata;
};
struct wl_store *sv_members_move_begin(struct sv_exchange *x, struct wl_store *behind, const struct wl_thread *from,
                                       struct sv_members_move *m);

/* The actors that the thread was made with: those of now, with all that came and went undone. *n 0: it has no members.
 * They live in the arena of the exchange. */
WEFT_SUSPENDS int sv_members_made_with(struct sv_exchange *x, const struct wl_thread *t, const struct wl_path *path,
                                       yyjson_val ***ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

/* Who the client is on this thread: the actor that its API key is bound to; empty: the owner of the thread.
 * -UPP_EREFUSED: its actor has left. */
int sv_members_client(const struct sv_exchange *x, yyjson_val *metadata, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* May the client write to the thread, through whatever door? -UPP_EREFUSED: its actor has left. */
int sv_may_write(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* Gives messages of users that came through a door without actors their author and role: the client's actor, or the
 * creator of the thread. -UPP_EREFUSED: it has left. */
int sv_members_attribute(struct sv_exchange *x, const struct wl_thread *t, struct sv_entries *e,
                         struct upp_err *err) UPP_MUST_CHECK;

/* Who the client is, for the log of the thread: its actor, else its user, else the name of its key; empty: nobody
 * knows. -UPP_EREFUSED: its actor has left. */
int sv_members_author(struct sv_exchange *x, const struct wl_thread *t, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* Fails with 403 and the code not_a_member. */
int sv_members_refuse(struct upp_err *err, const char *fmt, ...) UPP_PRINTF(2, 3);

/* The agent that answers next on a thread when the request names none (AITP-13): that of the last message's
 * metadata.to or @id, else the agent that spoke last, else the default agent. */
WEFT_SUSPENDS int sv_members_answerer(struct sv_exchange *x, const struct wl_thread *t, const struct sv_entries *added,
                                      struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Fails if the agent would answer itself: the last message of the thread is its own, and the request adds none. */
WEFT_SUSPENDS int sv_members_may_answer(struct sv_exchange *x, const struct wl_thread *t,
                                        const struct sv_entries *added, struct upp_str agent,
                                        struct upp_err *err) UPP_MUST_CHECK;

/* The structured messages of a thread in the log, as dialects/aitp follows them. */

/* An AITP thread that has only the messages with something structured in them. */
struct sv_transcript {
    struct wb_buf json;
    struct wj_writer w;
    WB_VEC(struct wb_uuid) ids; /* of its messages, in order; all zero: not in the log yet */
};

void sv_transcript_begin(struct sv_transcript *s, const struct wl_thread *t, struct upp_err *err);
void sv_transcript_done(struct sv_transcript *s);

/* Adds those of a thread. */
WEFT_SUSPENDS int sv_transcript_read(struct sv_transcript *s, struct wl_store *store, const struct wl_owner *o,
                                     const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* Ends it: *ret is the thread, in the arena. */
int sv_transcript_end(struct sv_transcript *s, struct wb_arena *a, yyjson_val **ret,
                      struct upp_err *err) UPP_MUST_CHECK;
