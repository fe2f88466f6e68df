/* dialects/core/document.h — documents in many languages, through the one model.
 *
 * A dialect lifts its document into the model and lowers the model into its document, both in plain code, and need not
 * think of what the model cannot hold: each of its objects is *anchored* on the thread or on the entry it became, and
 * what the object said beyond what the dialect itself would write back is hung there as residue
 * (dialects/core/residue.h). So lower(lift(x)) is x by construction, and what another dialect does not get is known:
 * the losses.
 *
 * Conversion takes its clock and its ids from the caller: the same input gives the same bytes.
 */
#ifndef WD_DOCUMENT_H
#define WD_DOCUMENT_H

#include "json/compact.h"
#include "json/decode.h"
#include "json/scan.h"
#include "json/write.h"
#include "model/doc.h"

enum {
    WD_DOC_BYTES    = 256 << 20, /* of one document */
    WD_DOC_DEPTH    = 192,
    WD_MAX_PROBLEMS = 1000, /* that are told one by one; the rest is counted */
    WD_MAX_LOSSES   = 100000,
};

#define WD_DOC_MEMORY ((size_t)8 << 30) /* that one may take beside its text: many times its bytes where it is dense   \
                                         */

/* ---- Problems and losses: data, never prose alone ----------------------------------------------------- */

enum wd_severity { WD_ERROR = 1, WD_WARNING };

struct wd_problem {
    struct upp_str pointer; /* JSON pointer */
    const char    *rule;    /* "TP-41" */
    uint8_t        severity;
    struct upp_str sentence;
};

struct wd_problems {
    struct wb_arena *a; /* of the texts */
    yyjson_val      *root;
    bool             utf8; /* no text in it has half of a surrogate pair */
    WB_VEC(struct wd_problem) list;
    size_t errors, warnings; /* of all, also of those that are not in the list */
    int    failed;
};

/* `at` lies in root; its pointer is found from its address. */
void wd_problem(struct wd_problems *p, enum wd_severity severity, const char *rule, const yyjson_val *at,
                const char *fmt, ...) UPP_PRINTF(5, 6);

/* The same where the pointer is known, and the sentence made. */
void wd_problem_at(struct wd_problems *p, enum wd_severity severity, const char *rule, const char *pointer,
                   const char *sentence);

struct wd_loss {
    struct upp_str pointer; /* into the document that was read; of what came from elsewhere: "entries/7" */
    struct upp_str what, why;
};

struct wd_losses {
    struct wb_arena *a;
    WB_VEC(struct wd_loss) list;
    size_t more; /* that are not in the list: it was full */
    int    failed;
};

/* ---- Reading ------------------------------------------------------------------------------------------- */

#define WD_THREAD UINT32_MAX /* the place of what is no entry's */

/* An object of the document, and what it became. */
struct wd_anchor {
    yyjson_val    *wire;
    const char    *slot;
    uint32_t       entry;   /* the first entry it became, or WD_THREAD */
    uint32_t       entries; /* how many */
    uint32_t       natural; /* how many its dialect would have taken for one object */
    bool           settled; /* it is known to say what its dialect would write */
    uint32_t       next;    /* place in the list, plus 1, of another of the same entry; 0: none */
    struct upp_str json;    /* the residue; no text: none */
};

enum {
    WD_ANCHORS = 1 << 25, /* of one document */
    WD_LOST    = 1 << 20, /* values of one document that are not in the model, and known one by one */
};

struct wd_lifting {
    struct wb_arena    *a; /* texts of the document live in it */
    yyjson_val         *root;
    struct wm_doc      *doc;
    struct wd_problems *problems;
    WB_VEC(struct wd_anchor) anchors;
    uint32_t *first;           /* place of the first of each entry, plus 1, and of all others; NULL: not made yet */
    uint32_t *index;           /* the same for all of them, by entry and slot; NULL: not made yet */
    size_t    index_n;         /* a power of 2 */
    uint8_t  *elsewhere;       /* a bit for each value of the document: it has an anchor */
    WB_VEC(yyjson_val *) lost; /* of the document, and not in the model */
    size_t lost_more;          /* that are not in the list: it was full */
    int    failed;

    struct upp_str agent;  /* on whose behalf: the agent where the dialect names none; no text: "agent" */
    int64_t        now_ms; /* for times that nobody has said */
    struct upp_str said;   /* the last time that was, and its moment: often the next is the same */
    int64_t        said_ms;
    /* A new id ("call_" and 32 hex digits where the prefix says so), the same ones in the same order. */
    struct upp_str (*id)(void *arg, struct wb_arena *a, const char *prefix);
    void *arg;
};

/* The object `wire` became these n entries, or is the thread's (WD_THREAD, 0). Each slot once a place. Every object
 * that the dialect's lower opens has an anchor from its lift: what has none is a loss when the object around it is
 * compared. */
int wd_anchor(struct wd_lifting *l, yyjson_val *wire, const char *slot, size_t entry, size_t n,
              struct upp_err *err) UPP_MUST_CHECK;

/* The object of the last anchor says, in members and their order, what the dialect will write for what it became: it
 * need not be written to be compared. A lift that can tell may say so of plain objects; it is all about time. */
static inline void wd_canonical(struct wd_lifting *l, bool settled)
{
    l->anchors.p[l->anchors.n - 1].settled = settled;
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* An object that is open. */
struct wd_opened {
    size_t      from; /* of its text */
    uint32_t    entry;
    const char *slot;
    bool        comma; /* one was due before it */

    const struct wm_residue *residue; /* that is put back at its end */
    size_t                   inner;   /* where the places of objects in it begin, in `within` */

    struct wd_anchor *anchor; /* what it is compared with, where it is */
    struct wj_match  *around; /* and what the object around it is */
};

/* The last moment as it was spelled: often the next is the same. */
struct wd_timed {
    struct upp_str spelled; /* no text: none was */
    struct upp_str text;    /* as the model had it, where that counts; and the moment */
    int64_t        ms;
};

enum {
    WD_WITHIN = 8,       /* objects of a dialect within each other */
    WD_PLACES = 1 << 24, /* of objects in those that have residue; the rest is looked for */
};

struct wd_lowering {
    const struct wm_doc *doc;
    struct wj_writer     w;
    struct wd_losses    *losses;  /* NULL: not asked for */
    struct wb_arena      scratch; /* for one thing at a time */
    struct wb_arena      keep;    /* until the document is written */
    int64_t              now_ms;
    struct upp_str       view;   /* the agent for whom it is written; no text: for nobody, everything as it was */
    unsigned             target; /* version of the dialect where it has several; 0: its default */
    bool                 pure, no_system;
    struct wd_timed      pai_time, upp_time; /* each has what it spelled itself */

    /* dialects/core/writer.c's own. */
    const char        *dialect;
    struct upp_str     compact;            /* the text of the model that was last found to be so */
    struct wd_lifting *compare;            /* the residue of this document is being made */
    struct wj_match   *matches[WD_WITHIN]; /* for each that is open, made when it is needed */
    WB_VEC(struct wd_opened) open;
    WB_VEC(struct wj_extent) within; /* places of objects in those that have residue */
    struct wb_buf spare;
};

static inline const struct wm_doc_entry *wd_entry_at(const struct wd_lowering *l, uint32_t i)
{
    return &l->doc->entries.p[i];
}

static inline bool wd_is_event(const struct wm_doc_entry *e)
{
    return e->e.kind == WM_ENTRY_EVENT;
}

/* One of the dialect's objects (or its list at the top) begins and ends: what is written between is its JSON. `entry`:
 * the first it is about, or WD_THREAD. Objects within each other are opened within each other. */
void wd_open(struct wd_lowering *l, uint32_t entry, const char *slot);
void wd_close(struct wd_lowering *l);

/* Is there nothing to do for the object? So it is when a document is compared and the object settled: then it is as if
 * it had been opened, written and closed. */
bool wd_is_canonical(struct wd_lowering *l, uint32_t entry, const char *slot);

/* How many entries the object of this slot at this entry stood for when it was read, as far as they are still there;
 * `otherwise` where nobody knows. */
uint32_t wd_span(struct wd_lowering *l, uint32_t entry, const char *slot, uint32_t otherwise);

/* The slot of an object that was read for this entry, or has residue there, whose name begins so; no text: none. */
struct upp_str wd_slot_like(struct wd_lowering *l, uint32_t entry, const char *prefix);

/* Something of the model that this dialect cannot say. */
void wd_lose(struct wd_lowering *l, uint32_t entry, const char *what, const char *why);

/* The same of all that stands beside messages: whatever of it the document has, and the dialect no place for. */
enum {
    WD_IMPLIED_ID          = 1 << 0, /* the thread's */
    WD_IMPLIED_THREAD      = 1 << 1, /* its title, metadata and parent */
    WD_IMPLIED_MADE        = 1 << 2, /* its times */
    WD_IMPLIED_AGENTS      = 1 << 3, /* all of them but their names */
    WD_IMPLIED_TURNS       = 1 << 4, /* what a turn has of its own */
    WD_IMPLIED_IDS         = 1 << 5, /* of entries */
    WD_IMPLIED_LATER_IDS   = 1 << 6, /* of those that do not begin a turn */
    WD_IMPLIED_LATER_TIMES = 1 << 7,
};
void wd_implied(struct wd_lowering *l, unsigned what);

/* Members, and values, of the object that is open; no text: left out. */
static inline void wd_name(struct wd_lowering *l, const char *name) /* one that needs no escapes */
{
    wj_write_plain_name(&l->w, name, strlen(name));
}

static inline void wd_json_value(struct wd_lowering *l, struct upp_str json) /* an item, or the value behind a name */
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
    wj_write_plain_str(&l->w, word.p, word.n);
}

static inline void wd_member_u64(struct wd_lowering *l, const char *name, uint64_t n)
{
    wd_name(l, name);
    wj_write_u64(&l->w, n);
}

static inline void wd_member_json(struct wd_lowering *l, const char *name, struct upp_str json) /* text as it is */
{
    if (json.n) {
        wd_name(l, name);
        wd_json_value(l, json);
    }
}

/* A text of the model as a value, in `scratch`, which is not emptied before. NULL: it is no JSON; or there is no
 * memory, and the writer has failed: what cannot be read for that reason is never taken for what it is not. */
yyjson_val *wd_scratch_read(struct wd_lowering *l, struct upp_str json);

/* Is a text of the model JSON that wd_scratch_read would read, and the writer write again as it is? Then it need not be
 * read to be written. */
static inline bool wd_is_compact(struct upp_str json)
{
    return wj_is_compact(json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH));
}

/* The same for one that may be asked about twice: when it is written, and to know whether that says all of it. */
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

    /* Is it one of its documents? 0: no. The surest wins: 1 perhaps, 2 by its members, 3 by its name and version. */
    int (*detect)(yyjson_val *root);

    /* Every problem there is, by rule, but for those of texts. < 0 only for what is no problem of the document. */
    int (*validate)(struct wd_problems *p, yyjson_val *root, struct upp_err *err);

    /* Half of a surrogate pair in a text or a name: JSON can say it, and not everybody can read it. How bad it is, and
     * by which rule; none: it is no problem. */
    enum wd_severity half;
    const char      *half_rule;

    /* Fills l->doc, which is empty. -UPP_EINVALID: it is no document of this dialect at all; where it is one with
     * mistakes, what can be understood is. */
    int (*lift)(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);

    /* Writes the document, whose entries are divided into turns. Failures of the writer are found by the caller. */
    int (*lower)(struct wd_lowering *l, struct upp_err *err);

    bool carries; /* it has a place for the residue of other dialects, and writes and reads it */
};

extern const struct wd_document_ops wd_document_thread, wd_document_pydantic, wd_document_ui, wd_document_aitp,
    wd_document_assistants, wd_document_agentapi, wd_document_envelope, wd_document_upp, wd_document_uap;

const struct wd_document_ops *wd_document_find(struct upp_str name); /* NULL: none */
const struct wd_document_ops *wd_document_detect(yyjson_val *root);  /* NULL: nobody knows it */
const struct wd_document_ops *wd_document_at(size_t i);              /* in a settled order; NULL: no more */

#endif
