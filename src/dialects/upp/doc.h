/* dialects/upp/doc.h — UPP messages in documents: what ThreadJSON and SessionJSON share.
 *
 * model/upp_json.h reads and writes a message. What UPP has no member for is in metadata.weft of the message, next to
 * what upp_json.h has there, and only where it is needed:
 *
 *     agent, name      the author; null: unknown. Absent: the user, or the document's own agent
 *     turn             {"id","run","started","ended","usage","partial","agent"}: a turn begins here
 *     model, provider, response, stop, usage     of the model call that produced the message
 *     id               the entry's id, if it differs from the message's
 *     more             true: it continues the previous message; role: the role, if the type cannot express it
 *     parts            {"INDEX": {"kind","name","title","metadata"}}: what a UPP block cannot express of a part
 *     events           [{"id","agent","timestamp","said"}]: the events after it
 *
 * metadata.weft of the document has title, parent, agents, and the events before all messages.
 */
#pragma once

#include "dialects/core/lift.h"
#include "model/names.h"

/* The tool of each call, by call id: results do not name it. Most results directly follow their calls; the hash table
 * is built only for one that does not. */
struct wd_upp_call {
    struct upp_str id, tool;
};
struct wd_upp_calls {
    WB_VEC(struct wd_upp_call) list; /* in order */
    struct wm_names ids;             /* of those that are indexed */
    WB_VEC(uint32_t) last;           /* by the number of an id: index of the last call that has it */
    size_t n_indexed;                /* how many are in the hash table */
};
int wd_upp_call_note(struct wd_upp_calls *c, const struct upp_part *call, struct upp_err *err) UPP_MUST_CHECK;
struct upp_str wd_upp_call_tool(struct wd_upp_calls *c, struct upp_str id);
void wd_upp_calls_done(struct wd_upp_calls *c);

struct wd_upp_in {
    struct wd_lifting *l;
    struct upp_err *err;
    struct upp_str agent; /* author of messages that name none; NULL: the caller's agent */
    bool nameless;        /* that agent was added by its id alone: its first message may have its name */
    struct wd_upp_calls calls;
    struct wd_parts parts; /* of a message that was continued */
    struct wb_buf scratch;
    uint32_t last;                /* the entry of the last message, if `open` */
    unsigned more;                /* how many objects continued it */
    uint8_t piece;                /* the type of its last object, if it can be continued; 0: it cannot */
    bool open;                    /* a message is open: nothing came after it */
    struct upp_str default_agent; /* the agent that the writer does not name */
    bool canonical;               /* so far the message is what would be written for it */
    bool agent_omitted;           /* canonical messages named no agent: valid only if there is one */
};

/* The message type that such a part requires; 0: any. */
static inline uint8_t wd_upp_part_role(const struct upp_part *p)
{
    return p->kind == UPP_PART_CALL ? UPP_ROLE_ASSISTANT : p->kind == UPP_PART_RESULT ? UPP_ROLE_TOOL : 0;
}

/* Lifts the document's metadata; call it before the messages. */
int wd_upp_lift_about(struct wd_upp_in *t, yyjson_val *metadata) UPP_MUST_CHECK;

/* Lifts the events in the map's "weft"; they come before what is lifted next. */
int wd_upp_lift_events(struct wd_upp_in *t, yyjson_val *metadata) UPP_MUST_CHECK;

/* Reserves memory for this many messages. */
void wd_upp_lift_reserve(struct wd_upp_in *t, size_t messages);

/* Lifts one message; an invalid one becomes residue. Call wd_upp_lift_end after the last one. */
int wd_upp_lift_message(struct wd_upp_in *t, yyjson_val *v) UPP_MUST_CHECK;
int wd_upp_lift_end(struct wd_upp_in *t) UPP_MUST_CHECK;
void wd_upp_lift_finish(struct wd_upp_in *t); /* call when the whole document is lifted */
void wd_upp_in_done(struct wd_upp_in *t);

/* Are the members of a turn, of a usage, or of `weft` with the entry that came of it, just what would be written? The
 * caller has checked that there are no other members, and their order. False: perhaps. */
bool wd_upp_is_canonical_turn(yyjson_val *const *found);
bool wd_upp_is_canonical_usage(yyjson_val *const *found, const uint64_t *counts);
bool wd_upp_is_canonical_entry(struct wd_upp_in *t, yyjson_val *const *weft, const struct wm_doc_entry *e);

struct wd_upp_out {
    struct wd_lowering *l;
    struct upp_str agent; /* author of messages that name none */
    struct wd_upp_calls calls;
    uint32_t turn; /* where the search for an entry's turn begins */
};

void wd_upp_out_done(struct wd_upp_out *t);

/* The first entry that is a message; events before it belong to the document. */
uint32_t wd_upp_first(const struct wd_lowering *l);

/* Writes the message of entry i, with the events after it. Returns how many entries it took. */
uint32_t wd_upp_put_message(struct wd_upp_out *t, uint32_t i);

/* Writes the member "metadata". If it is empty, only if `always`. */
void wd_upp_put_about(struct wd_upp_out *t, bool always);

/* Formats a time: as UPP spells it if that is exact, otherwise as it was written; without a valid text, from ms. */
struct upp_str wd_upp_time(struct wd_lowering *l, struct upp_str text, int64_t ms);

/* Writes the member "metadata" with our members at the end of its "weft". Foreign members stay, in "weft" too, except
 * those with names of ours. Nothing is written if it would be empty. */
struct wd_upp_weft {
    struct wd_lowering *l;
    const struct upp_str *names; /* of our members */
    struct upp_str others;       /* foreign metadata, a JSON object; empty: none */
    unsigned depth;              /* of `others` */
    bool weft;                   /* `others` may have a "weft" */
    bool open;                   /* our object is open */
};

/* Sets the foreign metadata, if it is an object of at most that depth. Resets `scratch`, in which it will be parsed. */
void wd_upp_weft_others(struct wd_upp_weft *o, struct upp_str json, unsigned depth);

unsigned wd_upp_weft_depth(const struct wd_upp_weft *o);    /* of the foreign metadata as it will be written */
void wd_upp_weft_open(struct wd_upp_weft *o);               /* before our first member */
void wd_upp_weft_close(struct wd_upp_weft *o, bool always); /* always: even if empty */

/* When the document was created and last changed: its own times, or those of its messages. */
struct upp_str wd_upp_created(struct wd_lowering *l);
struct upp_str wd_upp_updated(struct wd_lowering *l);

/* Checks each message of a list. Warns of duplicate ids and of results without a call. */
int wd_upp_check_messages(struct wd_problems *p, yyjson_val *list, struct upp_err *err) UPP_MUST_CHECK;
void wd_upp_check_text(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule);
void wd_upp_check_time(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule);

int wd_upp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_uap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_uap_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);

/* The slot of a session's node on the path. If the nodes are not in order from the root on, it ends with a dash and the
 * node's rank. */
#define WD_UAP_NODE "node"
