/* dialects/core/document.h — documents of all dialects, converted through the one model.
 *
 * A dialect lifts its document into the model and lowers the model into its document, and need not care about what the
 * model cannot hold. Each of its objects is *anchored* on the thread or on the entry that it became. Whatever the
 * object has beyond what the dialect would write back is stored there as residue (dialects/core/residue.h). So
 * lower(lift(x)) is x by construction, and what another dialect does not get is known: the losses.
 *
 * Clock and ids come from the caller: the same input gives the same bytes.
 */
#pragma once

#include "json/compact.h"
#include "json/decode.h"
#include "json/scan.h"
#include "json/write.h"
#include "model/doc.h"

enum {
    WD_DOC_BYTES = 256 << 20, /* of one document */
    WD_DOC_DEPTH = 192,
    WD_MAX_PROBLEMS = 1000, /* listed; further ones are only counted */
    WD_MAX_LOSSES = 100000,
};

#define WD_DOC_MEMORY ((size_t)8 << 30) /* arena limit: a dense document takes many times its bytes */

/* ---- Problems and losses ------------------------------------------------------------------------------ */

enum wd_severity { WD_ERROR = 1, WD_WARNING };

struct wd_problem {
    struct upp_str pointer; /* JSON pointer */
    const char *rule;       /* "TP-41" */
    uint8_t severity;
    struct upp_str sentence;
};

struct wd_problems {
    struct wb_arena *a; /* for the texts */
    yyjson_val *root;
    bool utf8; /* no text in it has a lone surrogate */
    WB_VEC(struct wd_problem) list;
    size_t errors, warnings; /* all, including those not in the list */
    int failed;
};

/* `at` is a value of root; its pointer is found from its address. */
void wd_problem(struct wd_problems *p, enum wd_severity severity, const char *rule, const yyjson_val *at,
                const char *fmt, ...) UPP_PRINTF(5, 6);

/* The same for a known pointer and a formatted sentence. */
void wd_problem_at(struct wd_problems *p, enum wd_severity severity, const char *rule, const char *pointer,
                   const char *sentence);

struct wd_loss {
    struct upp_str pointer; /* into the document that was read, or "entries/7" for an entry of the model */
    struct upp_str what, why;
};

struct wd_losses {
    struct wb_arena *a;
    WB_VEC(struct wd_loss) list;
    size_t more; /* not in the list, which was full */
    int failed;
};

/* ---- Reading ------------------------------------------------------------------------------------------- */

#define WD_THREAD UINT32_MAX /* instead of an entry: the thread itself */

/* An object of the document, and the entries it became. */
struct wd_anchor {
    yyjson_val *wire;
    const char *slot;
    uint32_t entry;      /* its first entry, or WD_THREAD */
    uint32_t entries;    /* how many */
    uint32_t natural;    /* how many entries its dialect would write as one object */
    bool settled;        /* it is known to be what its dialect would write */
    uint32_t next;       /* index + 1 of the next anchor of the same entry; 0: none */
    struct upp_str json; /* the residue; empty: none */
};

enum {
    WD_ANCHORS = 1 << 25, /* of one document */
    WD_LOST = 1 << 20,    /* values of one document that are not in the model and are listed */
};

struct wd_lifting {
    struct wb_arena *a; /* owns the texts of the document */
    yyjson_val *root;
    struct wm_doc *doc;
    struct wd_problems *problems;
    WB_VEC(struct wd_anchor) anchors;
    uint32_t *first;           /* per entry, index + 1 of its first anchor; last: the thread's. NULL: not built yet */
    uint32_t *index;           /* hash table of all anchors by entry and slot: index + 1. NULL: not built yet */
    size_t index_n;            /* a power of 2 */
    uint8_t *elsewhere;        /* one bit per value of the document: it has an anchor */
    WB_VEC(yyjson_val *) lost; /* values of the document that are not in the model */
    size_t lost_more;          /* not in the list, which was full */
    int failed;

    struct upp_str agent;     /* the agent, if the dialect names none; NULL: "agent" */
    int64_t now_ms;           /* for missing times */
    struct upp_str last_time; /* cache of the last time and its milliseconds: the next is often the same */
    int64_t last_time_ms;
    /* Makes an id: the prefix and 32 hex digits. The same document gets the same ids in the same order. */
    struct upp_str (*id)(void *arg, struct wb_arena *a, const char *prefix);
    void *arg;
};

/* The object `wire` became these n entries, or is the thread's (WD_THREAD, 0). A slot is unique within its entry. Every
 * object that the dialect's lower opens needs an anchor from its lift: without one it is reported as a loss when the
 * object around it is compared. */
int wd_anchor(struct wd_lifting *l, yyjson_val *wire, const char *slot, size_t entry, size_t n,
              struct upp_err *err) UPP_MUST_CHECK;

/* Declares whether the last anchor's object is canonical: in members and their order it is what the dialect will write,
 * so it need not be written for the comparison. An optimization for lifts that can tell cheaply. */
static inline void wd_canonical(struct wd_lifting *l, bool canonical)
{
    l->anchors.p[l->anchors.n - 1].settled = canonical;
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* An object that is open. */
struct wd_opened {
    size_t from; /* start of its text */
    uint32_t entry;
    const char *slot;
    bool comma; /* a comma was due before it */

    const struct wm_residue *residue; /* restored when it is closed */
    size_t inner;                     /* index in `within` of the first object in it */

    struct wd_anchor *anchor; /* the object it is compared with, if any */
    struct wj_match *outer;   /* the comparison of the enclosing object */
};

/* Cache of the last formatted time: the next is often the same. */
struct wd_timed {
    struct upp_str spelled; /* NULL: none yet */
    struct upp_str text;    /* as in the model, if that matters; and its milliseconds */
    int64_t ms;
};

enum {
    WD_WITHIN = 8,        /* nesting depth of a dialect's objects */
    WD_EXTENTS = 1 << 24, /* recorded extents of objects in objects with residue; further ones are found by scanning */
};

/* The items of a list in what was written: the messages of a list of messages, the turns of a thread. */
struct wd_items {
    size_t from, to;
};

struct wd_lowering {
    const struct wm_doc *doc;
    struct wj_writer w;
    struct wd_losses *losses; /* NULL: not wanted */
    struct wb_arena scratch;  /* reset for each use */
    struct wb_arena keep;     /* lives until the document is written */
    int64_t now_ms;
    struct upp_str view; /* the agent for whom it is written; NULL: none, everything as it was */
    unsigned target;     /* version of the dialect, if it has several; 0: its default */
    bool pure, no_system;
    uint32_t before;       /* entries before this document: made-up ids count on from them */
    struct upp_str last;   /* of dialects that chain their items: the id of the one before; then of the last one */
    struct wd_items items; /* set by dialects whose document has its list among other members */
    struct wd_timed pai_time, upp_time; /* one cache per way of formatting */

    /* Private to dialects/core/writer.c. */
    const char *dialect;
    struct upp_str compact;              /* the last text that wd_is_compact_still found compact */
    struct wd_lifting *compare;          /* not NULL: nothing is output, the residue of this document is computed */
    struct wj_match *matches[WD_WITHIN]; /* one per open object, allocated on demand */
    WB_VEC(struct wd_opened) open;
    WB_VEC(struct wj_extent) within; /* extents of objects in objects with residue */
    struct wb_buf temp;
};

static inline const struct wm_doc_entry *wd_entry_at(const struct wd_lowering *l, uint32_t i)
{
    return &l->doc->entries.p[i];
}

static inline bool wd_is_event(const struct wm_doc_entry *e)
{
    return e->e.kind == WM_ENTRY_EVENT;
}

/* Begins and ends one of the dialect's objects (or its top-level list); what is written between is its JSON. `entry`:
 * the first entry of the object, or WD_THREAD. Calls nest like the objects. */
void wd_open(struct wd_lowering *l, uint32_t entry, const char *slot);
void wd_close(struct wd_lowering *l);

/* True if a document is being compared and the object is canonical: then nothing is to be written, and the call stands
 * for opening, writing and closing the object. */
bool wd_is_canonical(struct wd_lowering *l, uint32_t entry, const char *slot);

/* How many entries the object in this slot at this entry had when it was read, as far as they still exist; `otherwise`
 * if unknown. */
uint32_t wd_span(struct wd_lowering *l, uint32_t entry, const char *slot, uint32_t otherwise);

/* The slot, beginning with `prefix`, of an object that was read for this entry or has residue there; NULL: none. */
struct upp_str wd_slot_like(struct wd_lowering *l, uint32_t entry, const char *prefix);

/* Reports something of the model that this dialect cannot express. */
void wd_lose(struct wd_lowering *l, uint32_t entry, const char *what, const char *why);

/* Reports what is outside of messages: of these, everything that the document has and the dialect cannot express. */
enum {
    WD_IMPLIED_ID = 1 << 0,        /* of the thread */
    WD_IMPLIED_THREAD = 1 << 1,    /* title, metadata and parent of the thread */
    WD_IMPLIED_MADE = 1 << 2,      /* times of the thread */
    WD_IMPLIED_AGENTS = 1 << 3,    /* everything of agents except their names */
    WD_IMPLIED_TURNS = 1 << 4,     /* members of turns */
    WD_IMPLIED_IDS = 1 << 5,       /* of entries */
    WD_IMPLIED_LATER_IDS = 1 << 6, /* of entries that do not begin a turn */
    WD_IMPLIED_LATER_TIMES = 1 << 7,
};
void wd_implied(struct wd_lowering *l, unsigned what);

/* Members and values of the open object; a NULL text is omitted. */
static inline void wd_name(struct wd_lowering *l, const char *name) /* one that needs no escapes */
{
    wj_write_unescaped_name(&l->w, name, strlen(name));
}

static inline void wd_json_value(struct wd_lowering *l, struct upp_str json) /* an item, or a member's value */
{
    wj_write_raw(&l->w, json.p, json.n);
}

static inline void wd_member_or_null(struct wd_lowering *l, const char *name, struct upp_str text)
{
    wd_name(l, name);
    wj_write_str(&l->w, text);
}

static inline void wd_member(struct wd_lowering *l, const char *name, struct upp_str text)
{
    if (text.p)
        wd_member_or_null(l, name, text);
}

static inline void wd_member_word(struct wd_lowering *l, const char *name, struct upp_str word) /* without escapes */
{
    wd_name(l, name);
    wj_write_unescaped_str(&l->w, word.p, word.n);
}

static inline void wd_member_u64(struct wd_lowering *l, const char *name, uint64_t n)
{
    wd_name(l, name);
    wj_write_u64(&l->w, n);
}

static inline void wd_member_json(struct wd_lowering *l, const char *name, struct upp_str json) /* raw JSON */
{
    if (json.n) {
        wd_name(l, name);
        wd_json_value(l, json);
    }
}

/* Parses a JSON text of the model into `scratch`, which it does not reset. NULL: invalid JSON; or out of memory, and
 * then the writer has failed, so the text is never mistaken for invalid. */
yyjson_val *wd_scratch_read(struct wd_lowering *l, struct upp_str json);

/* Is the text JSON that wd_scratch_read would accept and the writer would write unchanged? Then it can be copied. */
static inline bool wd_is_compact(struct upp_str json)
{
    return wj_is_compact(json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH));
}

/* The same, remembering the last text: some are tested twice, when they are written and to find out whether that
 * expresses all of it. */
static inline bool wd_is_compact_still(struct wd_lowering *l, struct upp_str json)
{
    if (json.p == l->compact.p && json.n == l->compact.n && json.n)
        return true;
    bool is = wd_is_compact(json);
    if (is)
        l->compact = json;
    return is;
}

/* ---- Dialects ------------------------------------------------------------------------------------------ */

struct wd_document_ops {
    const char *name;
    const char *title; /* "ThreadProtocol 2.0 thread" */

    /* Is it a document of this dialect? 0: no, 1: perhaps, 2: by its members, 3: by its name and version. The highest
     * wins. */
    int (*detect)(yyjson_val *root);

    /* Reports every problem except lone surrogates, which the caller reports. < 0 only if it cannot validate. */
    int (*validate)(struct wd_problems *p, yyjson_val *root, struct upp_err *err);

    /* Severity and rule of a lone surrogate in a text or name: valid JSON, but not every reader accepts it. NULL: no
     * problem. */
    enum wd_severity half;
    const char *half_rule;

    /* Fills the empty l->doc. -UPP_EINVALID: not a document of this dialect at all; of one with mistakes, lifts what it
     * can. */
    int (*lift)(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);

    /* Writes the document, whose entries are divided into turns. The caller checks the writer. */
    int (*lower)(struct wd_lowering *l, struct upp_err *err);

    bool carries; /* it writes and reads the residue of other dialects */
    bool views;   /* it writes a document as one agent sees it (wd_convert_opts.view) */
};

extern const struct wd_document_ops wd_document_thread, wd_document_pydantic, wd_document_ui, wd_document_aitp,
    wd_document_assistants, wd_document_agentapi, wd_document_envelope, wd_document_upp, wd_document_uap;

const struct wd_document_ops *wd_document_find(struct upp_str name); /* NULL: none */
const struct wd_document_ops *wd_document_detect(yyjson_val *root);  /* NULL: unknown */
const struct wd_document_ops *wd_document_at(size_t i);              /* in a fixed order; NULL: no more */

/* Calls and results, for dialects that write the two as one object. */

enum { WD_RESULT_DISTANCE = 4096 }; /* maximum number of entries between a call and its result */

/* The first result of a call in entry `at`, searched up to the next call with the same id. NULL: none. */
const struct upp_part *wd_result_of(const struct wm_doc *d, uint32_t at, struct upp_str id);

/* The call that a result in entry `at` answers; NULL: none. */
const struct upp_part *wd_call_of(const struct wm_doc *d, uint32_t at, struct upp_str id);

/* Reports the entry's results that no call receives: the call is missing, or has a result already. They are not
 * written. */
void wd_lose_unmatched_results(struct wd_lowering *l, uint32_t entry);
