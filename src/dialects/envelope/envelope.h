/* dialects/envelope/envelope.h — envelopes "multiagent-1.0": the wire format, shared by check, lift and lower.
 *
 * A document is one envelope, or a list of them: a log. One part of the model is one envelope. What an envelope has no
 * member for is in its member "weft", which never holds the content itself:
 *
 *     of                      the id of the first envelope of the same message
 *     kind                    of the part: reasoning; medium, with its mime and title; nothing, if there is no part
 *     call, name              of a result
 *     event, source, targets  of a system event
 *     agent                   of text with role user that was sent to the model in this agent's turn
 *     provider, metadata, cut
 *
 * What an envelope has about a text (that it is json, code or an error, and additional data) is in the metadata of the
 * part: {"envelope": {"type", "data"}}.
 */
#pragma once

#include "dialects/core/document.h"

#define WD_ENVELOPE_PROTOCOL "multiagent-1.0"
#define WD_ENVELOPE_NO_MODEL "n/a"

enum { WD_ENVELOPE_TASK = 160 /* UTF-16 units of a task, at most, when written */ };

struct wd_envelope {
    struct wj_node node;
    struct upp_str protocol, role, timestamp, intent, task;
    yyjson_val *agent, *inputs, *content, *outputs, *confidence, *trace, *weft;

    /* Members of these objects, if they are strings: not in the table. */
    struct upp_str agent_id, agent_name, model;            /* agent */
    struct upp_str type, text;                             /* content */
    struct upp_str parent, id;                             /* trace; parent: the last */
    struct upp_str of, kind, within, provider, call, name; /* weft; within: its "agent" */
    yyjson_val *data, *cost;                               /* content's, trace's */
    bool canonical; /* has only members that lower writes, in its order, without those of media and of user text in an
                     * agent's turn */
};
WJ_SHAPE_EXTERN(wd_envelope, struct wd_envelope);

/* Reads an object; what is not a member of an envelope is residue. */
int wd_envelope_read(struct wb_arena *a, yyjson_val *v, struct wd_envelope *e, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a canonical envelope. False: it is not canonical. */
bool wd_envelope_read_canonical(yyjson_val *v, struct wd_envelope *e);

/* The slot of the envelope of a message's part k. Empty: out of memory. */
struct upp_str wd_envelope_slot(struct wb_arena *a, unsigned k);

/* Of a stream. */
struct wd_envelope_opts {
    bool whole;          /* one frame at the end: the answer, or an error with the name "error" */
    bool over;           /* the run has ended: its waits are no answers any more */
    uint32_t types;      /* of content that the client takes: bits in the order of wd_envelope_contents; 0: all */
    uint64_t max_tokens; /* of an envelope that it takes; 0: no limit */
};

int wd_envelope_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_envelope_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_envelope_lower(struct wd_lowering *l, struct upp_err *err);

/* The schema of an envelope: one table, for the validator, the JSON Schema and the TypeScript types. */

enum wd_envelope_type {
    WD_ENV_TEXT = 1,
    WD_ENV_TIME,    /* RFC 3339, with an offset */
    WD_ENV_WORD,    /* one of `words` */
    WD_ENV_RATIO,   /* a number, 0 to 1 */
    WD_ENV_COUNT,   /* an integer, 0 or more */
    WD_ENV_ANY,     /* any value */
    WD_ENV_MAP,     /* any object */
    WD_ENV_OBJECT,  /* an object with the members `of` */
    WD_ENV_OBJECTS, /* a list of such objects */
    WD_ENV_TEXTS,   /* a list of strings */
};

enum {
    WD_ENV_REQUIRED = 1 << 0,
    WD_ENV_FILLED = 1 << 1,   /* a string that is not empty */
    WD_ENV_NULLABLE = 1 << 2, /* or null */
    WD_ENV_OPEN = 1 << 3,     /* other words are warnings; in the types it is any string */
};

struct wd_envelope_words {
    const char *name;           /* of the type; NULL: written inline */
    const struct upp_str *list; /* ends with {NULL} */
};

enum { WD_ENV_FIELDS = 16 };                            /* per shape, at most */
enum { WD_ENV_ROW_CONTENT = 7, WD_ENV_ROW_TRACE = 10 }; /* of an envelope */

struct wd_envelope_field {
    struct upp_str name;
    uint8_t type, flags;
    const char *rule; /* NULL: that of the enclosing object */
    const struct wd_envelope_words *words;
    const struct wd_envelope_shape *of;
    const char *about;
};

struct wd_envelope_shape {
    const char *name;                       /* of the type; NULL: written inline */
    const struct wd_envelope_field *fields; /* ends with an empty name */
};

extern const struct wd_envelope_shape wd_envelope_table;
extern const struct wd_envelope_words wd_envelope_roles, wd_envelope_intents, wd_envelope_contents;

bool wd_envelope_is_word(const struct wd_envelope_words *words, struct upp_str text);

/* For members that must not be empty: the text, or a replacement. */
static inline struct upp_str wd_envelope_filled(struct upp_str text, const char *otherwise)
{
    return text.n ? text : wb_cstr(otherwise);
}

/* Is it a time in the format of envelopes? */
bool wd_envelope_is_time(struct upp_str text);

/* Envelopes that a run of the router has recorded as they are: its input, the arguments and the results of its calls,
 * and its answer (envelope/run/router.h). */

#define WD_ENVELOPE_ROUTER "weft.router" /* the agent whose messages are envelopes */

/* The envelope that a text of such a run is, read into the arena; NULL: it is none (the refusal of a call, for
 * example). */
yyjson_val *wd_envelope_recorded(struct wb_arena *a, struct upp_str text);

/* Its trace.id; NULL: none. */
struct upp_str wd_envelope_id(yyjson_val *envelope);

/* Writes the envelope with its content as text: its summary, or its data as JSON. `scratch` is not reset. */
void wd_envelope_put_as_text(struct wj_writer *w, struct wb_arena *scratch, yyjson_val *envelope);

/* The text in which a part has an envelope; NULL: it has none. */
struct upp_str wd_envelope_part_text(const struct upp_part *p);
