/* dialects/aitp/members.h — who takes part in a thread: its actors, what they can do together, and their roles.
 *
 * A thread's metadata has the members: {"actors": [{"id", "capabilities": [{"schema"}], ...}], "weft": {"user": ID}}.
 * weft.user is the actor who created the thread. A thread without `actors` has no members: it is an ordinary one of the
 * Assistants API. Everything here is a pure function of these values.
 */
#pragma once

#include <upp/message.h>

#include "dialects/aitp/capabilities.h"
#include "json/write.h"

enum {
    WD_AITP_MEMBERS_MAX = 64,      /* of one thread */
    WD_AITP_CAPABILITIES_MAX = 64, /* of one actor */
    WD_AITP_ID_MAX = 256           /* bytes of an actor's id */
};

struct wd_aitp_members {
    yyjson_val *actors;     /* NULL: the thread has no members */
    struct upp_str creator; /* its id */
};

/* Those of a thread's metadata (NULL: it has none). */
struct wd_aitp_members wd_aitp_members_of(yyjson_val *metadata);

/* The actor with this id; NULL: it is no member. */
yyjson_val *wd_aitp_member(const struct wd_aitp_members *m, struct upp_str id);

/* The actor that is bound to an API key, by its client_id; NULL: none. */
yyjson_val *wd_aitp_member_of_key(yyjson_val *actors, struct upp_str key);

/* Looks at one actor, or at a list of them, of a request: NULL, or what is wrong, and *at points there. */
const char *wd_aitp_actor_wrong(yyjson_val *actor, const yyjson_val **at);
const char *wd_aitp_actors_wrong(yyjson_val *actors, const yyjson_val **at);

/* Writes an actor with its capabilities as {"schema"}; other members as they are. */
void wd_aitp_put_member(struct wj_writer *w, yyjson_val *actor);

/* user: the creator; assistant: everybody else. */
uint8_t wd_aitp_role(const struct wd_aitp_members *m, struct upp_str actor);

/* Who an assistant's message is of that names nobody: the only actor besides the creator, else `agent`, else the first
 * one that is not the creator. Empty: there is none. */
struct upp_str wd_aitp_other(const struct wd_aitp_members *m, struct upp_str agent);

/* Writes the list of capabilities that all members have: of each name the highest common major, as {"schema", "name",
 * "major"}; a URL of another form if all have exactly that, as {"schema"}. */
void wd_aitp_write_shared(struct wj_writer *w, yyjson_val *actors);

/* The id after an @ at the beginning of a text; empty: there is none. It ends at a blank, a comma, a colon or the end.
 */
struct upp_str wd_aitp_mention(struct upp_str text);
