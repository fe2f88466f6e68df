/* thread/repair.c — finds calls without a result, and closes them by repair entries. */
#include "thread/repair.h"

#include "base/defs.h"
#include "model/doc_calls.h"

#define UNKNOWN "\"outcome unknown: this conversation was cut off, or taken over, before there was a result\""

/* ---- Open calls ------------------------------------------------------------------------------------------------ */

static bool has_result(const struct upp_message *m, struct upp_str call)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_RESULTS));)
        if (wb_str_eq(p->id, call))
            return true;
    return false;
}

static bool is_open(const struct wa_open *o, const struct upp_part *call)
{
    for (size_t i = 0; i < o->n_results; i++)
        if (has_result(o->results[i], call->id))
            return false;
    return !call->cut;
}

static size_t count_open(const struct wa_open *o)
{
    size_t n = 0;
    for (const struct upp_part *p = NULL; o->of && (p = upp_part_next(o->of, p, UPP_PARTS_CALLS));)
        n += is_open(o, p);
    return n;
}

const struct upp_part *wa_open_next(const struct wa_open *o, const struct upp_part *after)
{
    while (o->of && (after = upp_part_next(o->of, after, UPP_PARTS_CALLS)) && !is_open(o, after))
        ;
    return o->of ? after : NULL;
}

static bool has_call(const struct upp_str *calls, size_t n, struct upp_str call)
{
    while (n && !wb_str_eq(calls[n - 1], call))
        n--;
    return n > 0;
}

int wa_open_check(const struct wa_open *o, const struct upp_str *calls, size_t n, struct upp_err *err)
{
    const struct upp_part *p;
    for (size_t i = 0; i < n; i++) {
        for (p = NULL; (p = wa_open_next(o, p)) && !wb_str_eq(p->id, calls[i]);)
            ;
        if (!p)
            return upp_fail(err, UPP_EINVALID, "call '%.*s' is not open", UPP_FMT(calls[i]));
        if (has_call(calls, i, calls[i]))
            return upp_fail(err, UPP_EINVALID, "call '%.*s' is answered twice", UPP_FMT(calls[i]));
    }
    for (p = NULL; (p = wa_open_next(o, p));)
        if (!has_call(calls, n, p->id))
            return upp_fail(err, UPP_EINVALID,
                            "call '%.*s' has no answer: all open calls of a thread are answered at once",
                            UPP_FMT(p->id));
    return 0;
}

bool wa_is_open(const struct wa_open *o)
{
    return count_open(o) > 0;
}

void wa_open_follow(struct wa_open *o, const struct upp_message *m)
{
    if (m->role == UPP_ROLE_TOOL) {
        if (o->n_results < WB_LEN(o->results))
            o->results[o->n_results++] = m;
        return;
    }
    *o = (struct wa_open){.of = m->role == UPP_ROLE_ASSISTANT ? m : NULL};
}

/* ---- Repairing ------------------------------------------------------------------------------------------------- */

/* Sets to->parts to `others` and the missing results. */
static int add_results(struct wb_arena *a, const struct wa_open *o, const struct upp_part *others, size_t n,
                       struct upp_message *to, struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(a, struct upp_part, n + count_open(o));
    if (!parts)
        return wb_arena_check(a, err);
    if (n)
        memcpy(parts, others, n * sizeof *parts);
    for (const struct upp_part *p = NULL; (p = upp_part_next(o->of, p, UPP_PARTS_CALLS));)
        if (is_open(o, p))
            parts[n++] = (struct upp_part){
                .kind = UPP_PART_RESULT, .is_error = true, .id = p->id, .name = p->name, .text = UPP_STR(UNKNOWN)};
    to->parts = parts;
    to->n_parts = n;
    return 0;
}

int wa_open_close(struct wb_arena *a, struct wa_open *o, struct upp_message *ret, struct upp_err *err)
{
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    if (!count_open(o))
        return 0;
    int r = wb_uuid_new(&id, err);
    if (r < 0)
        return r;
    *ret = (struct upp_message){.role = UPP_ROLE_TOOL,
                                .id = wb_arena_dup(a, wb_uuid_text(id, text)),
                                .time_ms = o->of->time_ms,
                                .time_text = o->of->time_text};
    r = add_results(a, o, NULL, 0, ret, err);
    *o = (struct wa_open){0};
    if (r >= 0)
        r = wb_arena_check(a, err);
    return r < 0 ? r : 1;
}

/* Adds the missing results to the last message if it has results, otherwise as a new message. */
static int close_open(struct wb_arena *a, struct wa_open *o, struct wa_mended *to, struct upp_err *err)
{
    struct upp_message *last = to->n ? &to->list[to->n - 1] : NULL;
    int r = 0;
    if (last && last->role == UPP_ROLE_TOOL && count_open(o)) {
        r = add_results(a, o, last->parts, last->n_parts, last, err);
        *o = (struct wa_open){0};
        return r < 0 ? r : wb_arena_check(a, err);
    }
    r = wa_open_close(a, o, &to->list[to->n], err);
    to->n += r > 0;
    return r < 0 ? r : 0;
}

/* True: no result is missing, and `open` is the state after the last message. */
static bool is_complete(const struct upp_message *list, size_t n, struct wa_open *open, bool close)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].role != UPP_ROLE_TOOL && count_open(open))
            return false;
        wa_open_follow(open, &list[i]);
    }
    return !close || !count_open(open);
}

int wa_repair_list(struct wb_arena *a, struct upp_message *list, size_t n, struct wa_open *open, bool close,
                   struct wa_mended *ret, struct upp_err *err)
{
    struct wa_open before = *open;
    *ret = (struct wa_mended){.list = list, .n = n};
    if (is_complete(list, n, open, close))
        return 0;
    *open = before;
    *ret = (struct wa_mended){.list = wb_new_n(a, struct upp_message, 2 * n + 1), .map = wb_new_n(a, uint32_t, n + 1)};
    int r = wb_arena_check(a, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        ret->map[i] = (uint32_t)ret->n;
        if (list[i].role != UPP_ROLE_TOOL)
            r = close_open(a, open, ret, err);
        if (r < 0)
            return r;
        wa_open_follow(open, &list[i]);
        ret->list[ret->n++] = list[i];
    }
    if (r < 0)
        return r;
    ret->map[n] = (uint32_t)ret->n;
    return close ? close_open(a, open, ret, err) : 0;
}

/* ---- Documents --------------------------------------------------------------------------------------------------- */

struct mending {
    struct wb_arena *a;
    struct wm_session *doc;
    struct wm_tree_node *nodes; /* before the repair */
    struct wa_mended *mended;
    struct wa_open end; /* open calls after the current node */
};

static size_t branch_of(const struct mending *x, const struct wm_tree_node *n)
{
    return WB_MIN((size_t)n->branch, x->nodes[n->parent].thread.n);
}

/* The calls that are open where a node begins: searches its ancestors backwards. */
static void open_before(const struct mending *x, uint32_t node, struct wa_open *ret)
{
    const struct upp_message *tools[WB_LEN(ret->results)];
    size_t n = 0;
    *ret = (struct wa_open){0};
    for (const struct wm_tree_node *at = &x->nodes[node]; at->parent != UINT32_MAX; at = &x->nodes[at->parent]) {
        const struct wm_tree_node *parent = &x->nodes[at->parent];
        for (size_t i = branch_of(x, at); i-- > 0;) {
            const struct upp_message *m = &parent->thread.messages[i];
            if (m->role == UPP_ROLE_TOOL) {
                if (n < WB_LEN(tools))
                    tools[n++] = m;
                continue;
            }
            wa_open_follow(ret, m);
            while (n)
                wa_open_follow(ret, tools[--n]);
            return;
        }
    }
}

/* The number of messages now that corresponds to the first `n` before the repair. */
static uint32_t new_count(const struct mending *x, uint32_t node, size_t n)
{
    n = WB_MIN(n, x->nodes[node].thread.n);
    return x->mended[node].map ? x->mended[node].map[n] : (uint32_t)n;
}

static int mend_node(struct mending *x, uint32_t i, struct upp_err *err)
{
    struct wa_open open;
    struct wm_tree_node *n = &x->doc->tree.nodes[i];
    open_before(x, i, &open);
    int r = wa_repair_list(x->a, n->thread.messages, n->thread.n, &open, false, &x->mended[i], err);
    if (r < 0)
        return r;
    if (i == x->doc->tree.current)
        x->end = open;
    n->thread.messages = x->mended[i].list;
    n->thread.n = x->mended[i].n;
    return 0;
}

int wa_repair_session(struct wb_arena *a, struct wm_session *doc, struct upp_message *closing, struct upp_err *err)
{
    struct wm_tree_doc *t = &doc->tree;
    struct mending x = {.a = a, .doc = doc};
    x.nodes = wb_new_n(a, struct wm_tree_node, t->n);
    x.mended = wb_new_n(a, struct wa_mended, t->n);
    if (!x.nodes || !x.mended)
        return wb_arena_check(a, err);
    memcpy(x.nodes, t->nodes, t->n * sizeof *t->nodes);
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < t->n; i++)
        r = mend_node(&x, i, err);
    for (uint32_t i = 0; r >= 0 && i < t->n; i++)
        if (x.nodes[i].parent != UINT32_MAX)
            t->nodes[i].branch = new_count(&x, x.nodes[i].parent, x.nodes[i].branch);
    /* A checkpoint without a length is at the end of its node, as that is now. */
    for (size_t i = 0; r >= 0 && i < doc->n_checkpoints; i++)
        doc->checkpoints[i].length = new_count(&x, doc->checkpoints[i].node, doc->checkpoints[i].length);
    return r < 0 ? r : wa_open_close(a, &x.end, closing, err);
}

/* ---- The log --------------------------------------------------------------------------------- */

static bool is_visible_message(const struct wm_entry *e)
{
    return (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR) && e->audience == WM_AUDIENCE_ALL &&
           !wm_is_hidden(e);
}

enum { TAIL = 32 /* entries that are searched: results come right after their call */ };

int wa_open_at(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length, struct wb_arena *a,
               struct wa_open *ret, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    *ret = (struct wa_open){0};
    int r = wl_path_open(s, o, node, length, a, &path, err);
    if (r >= 0)
        r = wl_path_tail(s, o, &path, path.length, TAIL, a, &lines, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (is_visible_message(&lines[i].entry))
            wa_open_follow(ret, &lines[i].entry.message);
    if (r >= 0 && !count_open(ret))
        *ret = (struct wa_open){0};
    return r;
}

int wa_open_imported(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct wb_arena *a,
                     struct wa_open *ret, uint32_t *at, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n = 0;
    *ret = (struct wa_open){0};
    int r = wl_thread_path(s, o, t, a, &path, err);
    if (r >= 0)
        r = wl_path_tail(s, o, &path, path.length, TAIL, a, &lines, &n, err);
    if (r < 0 || !n)
        return r;
    const struct wl_line *last = &lines[n - 1];
    if (last->entry.kind != WM_ENTRY_REPAIR || last->entry.origin != WM_ORIGIN_IMPORT || last->node != t->head ||
        t->at || wm_is_hidden(&last->entry))
        return 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (is_visible_message(&lines[i].entry))
            wa_open_follow(ret, &lines[i].entry.message);
    *at = last->index + 1;
    return count_open(ret) > 0;
}

/* Appends the results among the records of one row. */
static int take_results(struct wb_arena *a, const struct wm_row *row, struct upp_message *to, struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(a, struct upp_part, to->n_parts + row->n_records);
    if (!parts)
        return wb_arena_check(a, err);
    if (to->n_parts)
        memcpy(parts, to->parts, to->n_parts * sizeof *parts);
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind != WM_TOOL_ENDED || wm_is_branch(ev))
            continue;
        parts[to->n_parts++] = (struct upp_part){.kind = UPP_PART_RESULT,
                                                 .is_error = ev->tool_ended.outcome != WM_DONE,
                                                 .id = wb_arena_dup(a, ev->call.id),
                                                 .name = wb_arena_dup(a, ev->call.name),
                                                 .text = wb_arena_dup(a, ev->tool_ended.result),
                                                 .metadata = wm_result_metadata(ev->tool_ended.outcome)};
        to->time_ms = row->time_ms;
    }
    to->parts = parts;
    return wb_arena_check(a, err);
}

int wa_results_waiting(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t length, struct wb_arena *a,
                       struct upp_message *ret, struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    *ret = (struct upp_message){.role = UPP_ROLE_TOOL};
    for (uint64_t from = wl_pos(length, 0); rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = node, .from = from, .to = wl_pos(length + 1, 0)};
        int r = wl_store_rows(s, o, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            struct wm_row row;
            from = rows.p[i].pos + 1;
            r = wm_row_read(&page, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, err);
            if (r >= 0 && row.n_records)
                r = take_results(a, &row, ret, err);
        }
        if (r < 0)
            return r;
    }
    return ret->n_parts > 0;
}
