/* dialects/aitp/aitp.h — AITP threads: messages of texts between actors.
 *
 * parent_id, actors and actor are read from the metadata or from the top level: the specification's example and its
 * class diagram differ. What the model knows about a message and AITP has no member for is in its metadata:
 *
 *     "metadata": {"actor", "weft": {"time", "model", "provider", "role", "metadata", "message", "parts"} or
 *                                   {"time", "event"}}
 *
 * `message` is the whole message in UPP's JSON, if it is more than texts; `parts` is what UPP's JSON cannot express, by
 * part index. Both are used only while the texts of `content` are those of the message: an edited `content` wins.
 */
#pragma once

#include "dialects/core/lift.h"

/* Types of the system events that record who joined and who left. */
#define WD_AITP_JOINED "actor.joined"
#define WD_AITP_LEFT   "actor.left"
#define WD_AITP_REMOTE "aitp" /* in the metadata of a message: the note of an agent behind another AITP service */
#define WD_AITP_USER   "user" /* the actor who created the thread, if it is unknown */

/* The message's author; empty: not given. */
struct upp_str wd_aitp_actor(yyjson_val *message);

/* The participants: a list, or NULL. */
yyjson_val *wd_aitp_actors(yyjson_val *thread);

/* The thread that it was forked from; empty: none. */
struct upp_str wd_aitp_parent(yyjson_val *thread);

/* The creator of the thread: the first actor with a message of role user. Empty: none. */
struct upp_str wd_aitp_creator(yyjson_val *thread);

/* The text of an item of `content`: a string, or OpenAI's {"type": "text", "text": TEXT or {"value": TEXT}}. NULL
 * `.p`: something else. */
struct upp_str wd_aitp_text(yyjson_val *item);

int wd_aitp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_aitp_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_aitp_lower(struct wd_lowering *l, struct upp_err *err);

/* parts.c: messages that are more than texts. */

/* Must the message be written as a whole? `actor_role`: the role that follows from its actor. */
bool wd_aitp_needs_whole(const struct upp_message *m, uint8_t actor_role);

/* The members "role", "metadata", "message" and "parts" of metadata.weft. */
void wd_aitp_put_whole(struct wd_lowering *l, uint32_t entry, const struct upp_message *m);

/* 1: metadata.weft has a message with the same texts, and m has its parts, role and metadata. 0: it has none. On
 * entry m has the role that follows from its actor; a user message stays one. */
int wd_aitp_read_whole(struct wb_arena *a, yyjson_val *weft, const struct wd_parts *texts, struct upp_message *m,
                       struct upp_err *err) UPP_MUST_CHECK;
