/* dialects/aitp/aitp.h — AITP threads: messages of texts between actors.
 *
 * Members are looked up where both the specification's example and its class diagram have them: parent_id, actors and
 * actor in metadata, or at the top. What the model knows of a message and AITP has no member for stands in its
 * metadata:
 *
 *     "metadata": {"actor", "weft": {"time", "model", "provider", "role", "metadata", "message", "parts"} or
 *                                   {"time", "event"}}
 *
 * `message` is all that was said in UPP's JSON, where it is more than texts; `parts` what that cannot say of them, by
 * index. Both count only as long as the texts of `content` are those of the message: who edits what is seen is right.
 */
#ifndef WD_AITP_H
#define WD_AITP_H

#include "dialects/core/lift.h"

#define WD_AITP_USER "user" /* the actor who made the thread, where nobody says who that is */

/* Who said it; no text: it does not say. */
struct upp_str wd_aitp_actor(yyjson_val *message);

/* Who takes part: a list, or NULL. */
yyjson_val *wd_aitp_actors(yyjson_val *thread);

/* The thread it was forked off; no text: none. */
struct upp_str wd_aitp_parent(yyjson_val *thread);

/* Whoever made the thread: the first actor that spoke as user. No text: nobody did. */
struct upp_str wd_aitp_creator(yyjson_val *thread);

/* The text of an item of `content`: a string, or OpenAI's {"type": "text", "text": TEXT or {"value": TEXT}}. No text:
 * it is something else. */
struct upp_str wd_aitp_text(yyjson_val *item);

int wd_aitp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_aitp_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_aitp_lower(struct wd_lowering *l, struct upp_err *err);

/* ---- parts.c: what is more than texts ------------------------------------------------------------------ */

/* Does the message need to be there as a whole? `natural`: the role that its actor gives it. */
bool wd_aitp_needs_whole(const struct upp_message *m, uint8_t natural);

/* The members "role", "metadata", "message" and "parts" of metadata.weft. */
void wd_aitp_put_whole(struct wd_lowering *l, uint32_t entry, const struct upp_message *m);

/* 1: metadata.weft has the message, its texts are these, and m has its parts, role and metadata. 0: it has not. m has
 * the role that its actor gives it: one of the user stays one. */
int wd_aitp_read_whole(struct wb_arena *a, yyjson_val *weft, const struct wd_parts *texts, struct upp_message *m,
                       struct upp_err *err) UPP_MUST_CHECK;

#endif
