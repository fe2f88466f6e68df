/* thread/doc_put.c — writes the entries of a document, and their sidecars, as rows of the log.
 *
 * A row ends only where no object of the document continues, so that an entry and its sidecars are in one row and are
 * deleted together.
 */
#include "thread/doc_put.h"
#include "base/vec_add.h"
#include "thread/commits.h"
#include "thread/repair.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/defs.h"
#include "model/doc_sidecar.h"

enum { ROW_ENTRIES = 256 /* more if one object has more */ };

struct importing {
    const struct wm_doc *doc;
    struct wl_new_thread made;
    struct wa_put put;
    struct wb_arena a; /* of one row */
    struct wa_open open;
    struct wl_end end;
    int64_t now;
    size_t turn; /* index of the turn of the next entry */
    WB_VEC(struct wm_entry) entries;
    WB_VEC(struct wm_sidecar) sidecars;
};

static void importing_done(struct importing *p)
{
    wa_put_done(&p->put);
    wb_arena_done(&p->a);
    wb_vec_done(&p->entries);
    wb_vec_done(&p->sidecars);
}

static int add_sidecar(struct importing *p, struct wm_sidecar b, struct upp_err *err)
{
    if (b.text.n > WA_SIDECAR_MAX)
        return upp_fail(err, UPP_EINVALID, "what one object ('%.*s') says beyond the model is longer than %d bytes",
                        UPP_FMT(b.slot), WA_SIDECAR_MAX);
    return wb_vec_push(&p->sidecars, b, SIZE_MAX) ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for what came beside");
}

static int add_residue(struct importing *p, const struct wm_residue *list, bool thread, uint32_t entry,
                       struct upp_err *err)
{
    int r = 0;
    for (const struct wm_residue *x = list; r >= 0 && x; x = x->next)
        r = add_sidecar(p,
                        (struct wm_sidecar){.entry = entry,
                                            .entries = x->entries,
                                            .thread = thread,
                                            .dialect = x->dialect,
                                            .slot = x->slot,
                                            .text = x->json},
                        err);
    return r;
}

static int add_own(struct importing *p, const char *slot, struct wm_sidecar b, const struct wb_buf *text,
                   struct upp_err *err)
{
    b.dialect = UPP_STR(WM_SIDECAR_OWN);
    b.slot = wb_cstr(slot);
    b.text = wb_arena_dup(&p->a, wb_buf_str(text));
    int r = wb_arena_check(&p->a, err);
    return r < 0 || !b.text.n ? r : add_sidecar(p, b, err);
}

static int add_thread_sidecars(struct importing *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WA_SIDECAR_MAX);
    int r = wm_sidecar_thread(p->doc, p->made.thread.id, &text, err);
    if (r >= 0)
        r = add_own(p, "thread", (struct wm_sidecar){.thread = true}, &text, err);
    return r < 0 ? r : add_residue(p, p->doc->residue, true, 0, err);
}

static int add_turn_sidecar(struct importing *p, const struct wm_doc_turn *t, uint32_t entry, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WA_SIDECAR_MAX);
    int r = wm_sidecar_turn(t, &text, err);
    return r < 0 ? r : add_own(p, "turn", (struct wm_sidecar){.entry = entry, .entries = t->n}, &text, err);
}

static int add_entry_sidecars(struct importing *p, const struct wm_doc_entry *e, const struct wm_doc_turn *t,
                              uint32_t entry, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WA_SIDECAR_MAX);
    int r = wm_sidecar_entry(e, t ? t->agent : WM_NO_AGENT, &text, err);
    if (r >= 0)
        r = add_own(p, "entry", (struct wm_sidecar){.entry = entry, .entries = 1}, &text, err);
    return r < 0 ? r : add_residue(p, e->residue, false, entry, err);
}

static int add_entry(struct importing *p, const struct wm_entry *e, struct upp_err *err)
{
    struct wm_entry entry = *e;
    entry.origin = WM_ORIGIN_IMPORT;
    if (!entry.message.time_ms && !entry.message.time_text.p)
        entry.message.time_ms = p->now;
    return wb_vec_add(&p->entries, entry, (size_t)WM_DOC_ENTRIES, "entries in one document", err);
}

/* Closes open calls before the next message. */
static int close_calls(struct importing *p, struct upp_err *err)
{
    struct wm_entry e = {.kind = WM_ENTRY_REPAIR, .audience = WM_AUDIENCE_ALL};
    int r = wa_open_close(&p->a, &p->open, &e.message, err);
    return r > 0 ? add_entry(p, &e, err) : r;
}

WEFT_SUSPENDS static int end_row(struct importing *p, struct upp_err *err)
{
    struct wm_row row = {.time_ms = p->now,
                         .entries = p->entries.p,
                         .n_entries = p->entries.n,
                         .beside = p->sidecars.p,
                         .n_beside = p->sidecars.n};
    int r = wa_put_row(&p->put, p->made.root.key, &p->end, &row, err);
    p->entries.n = p->sidecars.n = 0;
    wb_arena_reset(&p->a);
    return r;
}

/* A text of the user's role that a document says is an agent's: what another agent asked it. */
static bool is_prompt(const struct wm_doc_entry *e)
{
    return e->e.kind == WM_ENTRY_MESSAGE && e->e.message.role == UPP_ROLE_USER && e->agent != WM_NO_AGENT && !e->users;
}

static int add_one(struct importing *p, uint32_t i, struct upp_err *err)
{
    const struct wm_doc_entry *e = &p->doc->entries.p[i];
    const struct wm_doc_turn *turn = p->turn < p->doc->turns.n ? &p->doc->turns.p[p->turn] : NULL;
    bool is_message = e->e.kind == WM_ENTRY_MESSAGE || e->e.kind == WM_ENTRY_REPAIR;
    int r = is_message && e->e.message.role != UPP_ROLE_TOOL ? close_calls(p, err) : 0;
    uint32_t at = (uint32_t)p->entries.n;
    if (r >= 0)
        r = add_entry(p, &e->e, err);
    if (r >= 0 && is_prompt(e))
        p->entries.p[at].phase = UPP_STR(WM_PHASE_PROMPT);
    if (r >= 0 && turn && turn->first == i)
        r = add_turn_sidecar(p, turn, at, err);
    if (r >= 0)
        r = add_entry_sidecars(p, e, turn, at, err);
    if (is_message)
        wa_open_follow(&p->open, &e->e.message);
    if (turn && i + 1 >= turn->first + turn->n)
        p->turn++;
    return r;
}

/* The end of the objects that begin at entry i or before it. */
static uint32_t reach_of(const struct wm_doc *d, uint32_t i, uint32_t before)
{
    for (const struct wm_residue *x = d->entries.p[i].residue; x; x = x->next)
        before = (uint32_t)WB_MAX(before, WB_MIN((uint64_t)i + x->entries, (uint64_t)d->entries.n));
    return before;
}

WEFT_SUSPENDS static int put_entries(struct importing *p, struct upp_err *err)
{
    uint32_t n = (uint32_t)p->doc->entries.n, reach = 0;
    int r = add_thread_sidecars(p, err);
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        reach = reach_of(p->doc, i, reach);
        r = add_one(p, i, err);
        if (r >= 0 && p->entries.n >= ROW_ENTRIES && reach <= i + 1 && !wa_is_open(&p->open))
            r = end_row(p, err);
    }
    if (r >= 0)
        r = close_calls(p, err);
    return r >= 0 && (p->entries.n || p->sidecars.n) ? end_row(p, err) : r;
}

WEFT_SUSPENDS static int put_all(struct importing *p, struct upp_err *err)
{
    struct wl_thread *t = &p->made.thread;
    int r = wa_put_node(&p->put, &p->made.root, err);
    if (r >= 0)
        r = put_entries(p, err);
    if (r >= 0)
        r = wa_put_add(&p->put, (struct wl_change){.kind = WL_ADD_THREAD, .thread = t}, err);
    if (r >= 0 && p->made.alias.text.p)
        r = wa_put_add(&p->put, (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &p->made.alias}, err);
    return r < 0 ? r : wa_put_commit(&p->put, err);
}

/* 1: another thread has the name by now. */
WEFT_SUSPENDS static int put_named(struct wl_store *s, const struct wl_owner *o, const struct wm_doc *doc,
                                   struct upp_str name, struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(importing_done) struct importing p = {.doc = doc, .now = wb_wall_ms(), .a = WB_ARENA(1u << 30)};
    wa_put_init(&p.put, s, o);
    int r = wl_thread_make(
        s, o, UPP_OPTS(wl_thread_opts, .title = doc->title, .metadata = doc->metadata, .alias = name), &p.made, err);
    p.put.new_thread = &p.made.thread;
    wb_crashpoint("import.before");
    if (r >= 0)
        r = put_all(&p, err);
    if (r < 0)
        return wa_put_lost_name(&p.put, r);
    wb_crashpoint("import.after");
    *ret = p.made.thread;
    ret->title = wb_arena_dup(a, ret->title);
    ret->metadata = wb_arena_dup(a, ret->metadata);
    ret->owner = *o;
    return wb_arena_check(a, err);
}

/* 1: the owner has a thread with this id or alias. fail_taken returns that as an error. */
WEFT_SUSPENDS static int is_taken(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                                  struct upp_err *err)
{
    struct wl_thread t;
    int r = wl_thread_find(s, o, id, a, &t, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

static int fail_taken(struct upp_str id, struct upp_err *err)
{
    return upp_fail(err, UPP_EBUSY,
                    "there is a thread '%.*s' already: on_conflict=copy (`weft import --on-conflict copy`) imports it "
                    "as another one",
                    UPP_FMT(id));
}

int wa_doc_put(struct wl_store *s, const struct wl_owner *o, const struct wm_doc *doc, bool copy, struct wb_arena *a,
               struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(16u << 20);
    int taken = doc->id.n ? is_taken(s, o, doc->id, &memory, err) : 0;
    if (taken < 0)
        return taken;
    if (taken && !copy)
        return fail_taken(doc->id, err);
    int r = put_named(s, o, doc, taken ? (struct upp_str){0} : doc->id, a, ret, err);
    if (r <= 0)
        return r;
    return copy ? put_named(s, o, doc, (struct upp_str){0}, a, ret, err) : fail_taken(doc->id, err);
}

/* A document that exceeds a limit is invalid: change it, do not retry. */
static int read_document(struct wb_arena *a, struct upp_str json, struct wm_session *ret, struct upp_err *err)
{
    int r = wm_session_read(a, json, ret, err);
    if (r != -UPP_ELIMIT)
        return r;
    if (err)
        err->code = UPP_EINVALID;
    return -UPP_EINVALID;
}

int wa_thread_import(struct wl_store *s, const struct wl_owner *o, struct upp_str json, bool copy, struct wb_arena *a,
                     struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    struct wm_session doc;
    struct wl_thread t;
    struct upp_message closing;
    int r = read_document(&memory, json, &doc, err);
    if (r >= 0)
        r = copy ? 0 : is_taken(s, o, doc.id, &memory, err);
    if (r > 0)
        return fail_taken(doc.id, err);
    if (r < 0)
        return r;
    r = wa_repair_session(&memory, &doc, &closing, err);
    if (r < 0)
        return r;
    wb_crashpoint("import.before");
    r = wa_session_put(s, o, &doc, (struct upp_str){0}, r > 0 ? &closing : NULL, copy, &memory, &t, err);
    if (r >= 0)
        wb_crashpoint("import.after");
    if (r == -UPP_EBUSY && !copy && is_taken(s, o, doc.id, &memory, NULL) > 0) /* taken in the meantime */
        return fail_taken(doc.id, err);
    if (r < 0)
        return r;
    t.title = wb_arena_dup(a, t.title); /* they point into the document */
    t.metadata = wb_arena_dup(a, t.metadata);
    t.owner = *o;
    *ret = t;
    return wb_arena_check(a, err);
}
