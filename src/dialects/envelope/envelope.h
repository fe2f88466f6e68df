/* dialects/envelope/envelope.h — envelopes "multiagent-1.0": the wire, for those who check, read and write it.
 *
 * A document is one envelope, or a list of them: a log. One part of the model is one envelope; what an envelope has no
 * member for stands in its member "weft", which never holds what is said itself:
 *
 *     of                      the id of the first envelope of the same message
 *     kind                    of the part: reasoning; medium, with its mime and title; nothing, where there is no part
 *     call, name              of a result
 *     event, source, targets  of a system event
 *     agent                   of words that are the user's by their role, and were said in the turn of this agent
 *     provider, metadata, cut
 *
 * What an envelope says of a text (that it is json, code, an error, and what data stand beside it) is in the metadata
 * of the part: {"envelope": {"type", "data"}}.
 */
#ifndef WD_ENVELOPE_H
#define WD_ENVELOPE_H

#include "dialects/core/document.h"

#define WD_ENVELOPE_PROTOCOL "multiagent-1.0"
#define WD_ENVELOPE_NO_MODEL "n/a"

enum {
    WD_ENVELOPE_TASK = 160, /* UTF-16 units of a task that is written */
    WD_ENVELOPE_FAR  = 4096 /* calls between a call and its result, at most */
};

struct wd_envelope {
    struct wj_node node;
    struct upp_str protocol, role, timestamp, intent, task;
    yyjson_val    *agent, *inputs, *content, *outputs, *confidence, *trace, *weft;

    /* What is in them, where it is a text: no table has it. */
    struct upp_str agent_id, agent_name, model;            /* agent */
    struct upp_str type, text;                             /* content */
    struct upp_str parent, id;                             /* trace; parent: the last */
    struct upp_str of, kind, within, provider, call, name; /* weft; within: its "agent" */
    yyjson_val    *data, *cost;                            /* content's, trace's */
    bool           plain; /* it has such members as we write, but those of media and of what is said in an agent's turn,
                           * in our order, and no more */
};
WJ_SHAPE_EXTERN(wd_envelope, struct wd_envelope);

/* Reads an object; what of it is no member of an envelope stays where it is. */
int wd_envelope_read(struct wb_arena *a, yyjson_val *v, struct wd_envelope *e, struct upp_err *err) UPP_MUST_CHECK;

/* The same for one that is plain. False: it is not. */
bool wd_envelope_read_plain(yyjson_val *v, struct wd_envelope *e);

/* The slot of the envelope of a message's part k. No text: no memory. */
struct upp_str wd_envelope_slot(struct wb_arena *a, unsigned k);

int wd_envelope_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_envelope_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_envelope_lower(struct wd_lowering *l, struct upp_err *err);

/* ---- What an envelope must be: one table, for the validator, the JSON Schema and the TypeScript types ------- */

enum wd_envelope_type {
    WD_ENV_TEXT = 1,
    WD_ENV_TIME,    /* RFC 3339, with an offset */
    WD_ENV_WORD,    /* one of `words` */
    WD_ENV_RATIO,   /* a number, 0 to 1 */
    WD_ENV_COUNT,   /* a whole number, 0 or more */
    WD_ENV_ANY,     /* any value */
    WD_ENV_MAP,     /* an object of anything */
    WD_ENV_OBJECT,  /* of these members: `of` */
    WD_ENV_OBJECTS, /* a list of them */
    WD_ENV_TEXTS,   /* a list of texts */
};

enum {
    WD_ENV_REQUIRED = 1 << 0,
    WD_ENV_FILLED   = 1 << 1, /* a text that is not empty */
    WD_ENV_NULLABLE = 1 << 2, /* or null */
    WD_ENV_OPEN     = 1 << 3, /* other words are odd, not wrong; in types it is any text */
};

struct wd_envelope_words {
    const char           *name; /* of the type; NULL: it stands where it is used */
    const struct upp_str *list; /* no text at its end */
};

enum { WD_ENV_FIELDS = 16 };                            /* of one shape, at most */
enum { WD_ENV_ROW_CONTENT = 7, WD_ENV_ROW_TRACE = 10 }; /* of an envelope */

struct wd_envelope_field {
    struct upp_str                  name;
    uint8_t                         type, flags;
    const char                     *rule; /* NULL: that of the object around */
    const struct wd_envelope_words *words;
    const struct wd_envelope_shape *of;
    const char                     *about;
};

struct wd_envelope_shape {
    const char                     *name;   /* of the type; NULL: it stands where it is used */
    const struct wd_envelope_field *fields; /* without a name at its end */
};

extern const struct wd_envelope_shape wd_envelope_table;
extern const struct wd_envelope_words wd_envelope_roles, wd_envelope_intents, wd_envelope_contents;

bool wd_envelope_is_word(const struct wd_envelope_words *words, struct upp_str text);

/* For members that are not empty: the text, or what stands for it. */
static inline struct upp_str wd_envelope_filled(struct upp_str text, const char *otherwise)
{
    return text.n ? text : wb_cstr(otherwise);
}

/* A time as an envelope has it? */
bool wd_envelope_is_time(struct upp_str text);

#endif
