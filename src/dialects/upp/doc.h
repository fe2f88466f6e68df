/* dialects/upp/doc.h — UPP's messages as a document's: what ThreadJSON and SessionJSON share.
 *
 * A message is what model/upp_json.h reads and writes. What the model knows beside it stands in metadata.weft of the
 * message, beside what upp_json.h has there, and only where it is needed:
 *
 *     agent, name      whose it is; null: nobody knows. Not said: the user's, or of the document's own agent
 *     turn             {"id","run","started","ended","usage","partial","agent"}: a turn begins here
 *     model, provider, response, stop, usage     of the call of the model that said it
 *     id               the entry's, where it is not the message's
 *     more             true: what is said here belongs to the message before; role: whose, where the type cannot say it
 *     parts            {"INDEX": {"kind","name","title","metadata"}}: what a part says and UPP's cannot
 *     events           [{"id","agent","timestamp","said"}]: what came after it
 *
 * and of the whole in metadata.weft of the document: title, parent, agents, and the events before all messages.
 */
#ifndef WD_UPP_DOC_H
#define WD_UPP_DOC_H

#include "dialects/core/lift.h"
#include "model/names.h"

/* The tool of each call, by the id of the call: results do not name it. Most follow their calls at once: only for one
 * that does not are the ids put into a table. */
struct wd_upp_call {
    struct upp_str id, tool;
};
struct wd_upp_calls {
    WB_VEC(struct wd_upp_call) list; /* as they came */
    struct wm_names ids;             /* of the first of them */
    WB_VEC(uint32_t) last;           /* by the number of its id: the place of the last that has it */
    size_t n_known;                  /* how many are in that table */
};
int wd_upp_call_note(struct wd_upp_calls *c, const struct upp_part *call, struct upp_err *err) UPP_MUST_CHECK;
struct upp_str wd_upp_call_tool(struct wd_upp_calls *c, struct upp_str id);
void           wd_upp_calls_done(struct wd_upp_calls *c);

/* ---- Into the model -------------------------------------------------------------------------------------- */

struct wd_upp_in {
    struct wd_lifting  *l;
    struct upp_err     *err;
    struct upp_str      agent; /* whose the messages are that do not say it; no text: the caller's */
    struct wd_upp_calls calls;
    struct wd_parts     parts; /* of a message of which there was more */
    struct wb_buf       scratch;
    uint32_t            last;  /* the entry of the last message, while nothing came after it */
    unsigned            more;  /* objects that it became after its first */
    uint8_t             piece; /* the type of the last of them, where more can follow it; 0: it cannot */
    bool                open;  /* there is one */
    struct upp_str      usual; /* whose messages are that the writer lets say nothing of it */
    bool                plain; /* so far the message says what would be written for it */
    bool                alone; /* some did as long as no other agent was known */
};

/* Which type of message has such a part; 0: any. */
static inline uint8_t wd_upp_part_role(const struct upp_part *p)
{
    return p->kind == UPP_PART_CALL ? UPP_ROLE_ASSISTANT : p->kind == UPP_PART_RESULT ? UPP_ROLE_TOOL : 0;
}

/* What the document says of itself in its metadata: before the messages. */
int wd_upp_lift_about(struct wd_upp_in *t, yyjson_val *metadata) UPP_MUST_CHECK;

/* The events of a map's weft: they come before what is lifted next. */
int wd_upp_lift_events(struct wd_upp_in *t, yyjson_val *metadata) UPP_MUST_CHECK;

/* So many messages will come. */
void wd_upp_lift_some(struct wd_upp_in *t, size_t messages);

/* One message, if it is one: what is none stays where it is. And the end of them. */
int  wd_upp_lift_message(struct wd_upp_in *t, yyjson_val *v) UPP_MUST_CHECK;
int  wd_upp_lift_end(struct wd_upp_in *t) UPP_MUST_CHECK;
void wd_upp_lift_all(struct wd_upp_in *t); /* all of the document are lifted */
void wd_upp_in_done(struct wd_upp_in *t);

/* Do the members of a turn, of a usage, or all of `weft` with the entry that came of it, say just what would be
 * written? They have no others, and stand in the order in which they are written. No: they may yet. */
bool wd_upp_is_plain_turn(yyjson_val *const *found);
bool wd_upp_is_plain_usage(yyjson_val *const *found, const uint64_t *counts);
bool wd_upp_is_plain_entry(struct wd_upp_in *t, yyjson_val *const *weft, const struct wm_doc_entry *e);

/* ---- Out of the model ------------------------------------------------------------------------------------ */

struct wd_upp_out {
    struct wd_lowering *l;
    struct upp_str      agent; /* of messages that do not say whose they are */
    struct wd_upp_calls calls;
    uint32_t            turn; /* where looking for the turn of an entry begins */
};

void wd_upp_out_done(struct wd_upp_out *t);
uint32_t
wd_upp_first(const struct wd_lowering *l); /* the first entry that is a message: events before it are the document's */

/* The message of entry i, with the events that come after it. Returns how many entries it took. */
uint32_t wd_upp_put_message(struct wd_upp_out *t, uint32_t i);

/* The member "metadata"; nothing where there is nothing to say, unless it must be there. */
void wd_upp_put_about(struct wd_upp_out *t, bool always);

/* A time as UPP spells it where that says it all, as it was written where it does not, else the moment. */
struct upp_str wd_upp_time(struct wd_lowering *l, struct upp_str text, int64_t ms);

/* The member "metadata" with what is ours in its "weft", behind what others have; what others have in theirs stays, but
 * for the names of ours. All of it is there only where something is in it. */
struct wd_upp_weft {
    struct wd_lowering   *l;
    const struct upp_str *names;  /* of ours */
    struct upp_str        others; /* a JSON object; no text: none */
    unsigned              depth;  /* of that */
    bool                  weft;   /* it may have a "weft" */
    bool                  open;   /* members of ours come */
};

/* What others have, if it is an object of at most that depth. It will be read in `scratch`, which is emptied. */
void wd_upp_weft_others(struct wd_upp_weft *o, struct upp_str json, unsigned depth);

unsigned wd_upp_weft_depth(const struct wd_upp_weft *o);        /* of what will be written of them */
void     wd_upp_weft_open(struct wd_upp_weft *o);               /* before the first of ours */
void     wd_upp_weft_close(struct wd_upp_weft *o, bool always); /* always: also where there is nothing */

/* When the document began and was last added to: as it says, or as its messages do. */
struct upp_str wd_upp_created(struct wd_lowering *l);
struct upp_str wd_upp_updated(struct wd_lowering *l);

/* ---- Rules ----------------------------------------------------------------------------------------------- */

/* A list of messages: each is read, ids that come twice and results without a call are told. */
int  wd_upp_check_messages(struct wd_problems *p, yyjson_val *list, struct upp_err *err) UPP_MUST_CHECK;
void wd_upp_check_text(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule);
void wd_upp_check_time(struct wd_problems *p, yyjson_val *obj, const char *name, const char *rule);

int wd_upp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_uap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_uap_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);

/* The slot of a session's node on its path; where they do not stand there from the root on, it ends with a dash and
 * which of them it is. */
#define WD_UAP_NODE "node"

#endif
