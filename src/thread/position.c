/* thread/position.c — finds checkpoints, messages and nodes of a tree, and forks and moves threads there. */
#include "thread/position.h"

#include "thread/repair.h"
#include "base/crash.h"
#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"

enum { TRIES = 16, PAGE = 1024, RESULTS_WITHIN = 32 /* entries after a message that are searched for its results */ };

/* ---- Checkpoints ------------------------------------------------------------------------------------------- */

static int no_checkpoint(struct upp_str id, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "there is no checkpoint '%.*s' in the thread's tree", UPP_FMT(id));
}

/* 1: this row, which ends at the position, records that a step ended there. */
static int row_has_checkpoint(const struct wl_row *stored, struct wm_position pos, struct wb_arena *a,
                              struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(a, stored->format, stored->body, stored->tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++)
        if (row.records[i].kind == WM_CHECKPOINT && (uint16_t)row.records[i].step == pos.step)
            return 1;
    return r;
}

/* 1: the log has a checkpoint at this position. 0: it has none. The rows that end there are the one with the last entry
 * before the position, and rows without entries after it. */
WEFT_SUSPENDS static int log_has(struct wl_store *s, const struct wl_owner *o, struct wm_position pos,
                                 struct upp_err *err)
{
    struct wl_rows rows = {.more = true};
    for (uint64_t to = wl_pos(pos.length + 1, 0); rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
        struct wl_range range = {.node = pos.node, .from = 0, .to = to, .backwards = true, .max_rows = 16};
        int r = wl_store_rows(s, o, &range, &a, &rows, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < rows.n; i++) {
            uint64_t end = (uint64_t)wl_pos_index(rows.p[i].pos) + rows.p[i].n_entries;
            to = rows.p[i].pos;
            if (end < pos.length)
                return 0;
            r = end == pos.length ? row_has_checkpoint(&rows.p[i], pos, &a, err) : 0;
            if (r)
                return r;
        }
    }
    return 0;
}

/* A checkpoint whose id encodes its position. 1: found. */
WEFT_SUSPENDS static int find_own(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                  struct upp_str id, struct wa_position *ret, struct upp_err *err)
{
    struct wb_uuid u;
    struct wm_position pos;
    struct wl_node node;
    if (!wb_uuid_parse(id, &u) || !wm_position_parse(u, &pos) || pos.length == UINT32_MAX)
        return 0;
    int r = wl_get_node(s, o, pos.node, &node, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_uuid_eq(node.tree, t->tree)))
        return 0;
    if (r >= 0)
        r = log_has(s, o, pos, err);
    *ret = (struct wa_position){.node = pos.node, .length = pos.length};
    return r;
}

/* Creates a branch from a position, with messages. *pos becomes the branch's end. */
WEFT_SUSPENDS static int branch_off(struct wl_store *s, const struct wl_owner *o, struct wa_position *pos,
                                    const struct upp_message *list, size_t n, struct wa_put *put, struct upp_err *err)
{
    struct wl_node under, branch;
    struct wl_end end = {0};
    int r = wl_get_node(s, o, pos->node, &under, err);
    if (r >= 0)
        r = wl_branch(s, o, &under, pos->length, &branch, err);
    if (r < 0)
        return r;
    pos->node = branch.key;
    put->staged = &pos->node; /* it may take several commits: invisible before the last one */
    put->n_staged = 1;
    r = wa_put_node(put, &branch, err);
    if (r >= 0)
        r = wa_put_known(put, branch.key, &end, NULL, list, n, err);
    pos->length = end.length;
    return r;
}

/* If calls at the position have no results (a run is executing them, or a document ended with them), closes them on a
 * branch. */
WEFT_SUSPENDS static int close_calls(struct wl_store *s, const struct wl_owner *o, struct wa_position *pos,
                                     struct wa_put *put, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wa_open open;
    struct wa_mended mended;
    int r = wa_open_at(s, o, pos->node, pos->length, &a, &open, err);
    if (r < 0 || !open.of)
        return r;
    r = wa_repair_list(&a, NULL, 0, &open, true, &mended, err);
    return r < 0 ? r : branch_off(s, o, pos, mended.list, mended.n, put, err);
}

/* The position of a checkpoint whose messages are known: in its node, or on a branch created for them. */
WEFT_SUSPENDS static int locate_messages(struct wl_store *s, const struct wl_owner *o, struct wa_doc_node *node,
                                         const struct wm_checkpoint *cp, struct wa_put *put, struct wb_arena *a,
                                         struct wa_position *ret, struct upp_err *err)
{
    struct wa_open open;
    struct wa_mended mended;
    size_t k = 0;
    int r = wa_node_read(s, o, node, a, err);
    if (r < 0)
        return r;
    size_t from = WB_MIN((size_t)cp->length, node->n_messages);
    while (k < cp->n_messages && from + k < node->n_messages && cp->messages[k].id.n &&
           wb_str_eq(cp->messages[k].id, node->messages[from + k].id))
        k++;
    size_t upto = k == cp->n_messages ? from + k : from;
    *ret = (struct wa_position){.node = node->node.key, .length = upto ? node->entry_of[upto - 1] + 1 : 0};
    while (wa_events_between(node, ret->length, ret->length + 1)) /* events right after a message belong to it */
        ret->length++;
    if (k == cp->n_messages)
        return close_calls(s, o, ret, put, err);
    r = wa_open_at(s, o, ret->node, ret->length, a, &open, err);
    if (r >= 0)
        r = wa_repair_list(a, cp->messages, cp->n_messages, &open, true, &mended, err);
    return r < 0 ? r : branch_off(s, o, ret, mended.list, mended.n, put, err);
}

/* An imported checkpoint, or one made before ids encoded positions: needs the whole session. */
WEFT_SUSPENDS static int find_other(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct upp_str id, struct wa_put *put, struct wa_position *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wm_session doc;
    struct wa_doc_node *nodes;
    size_t n;
    int r = wa_session_doc(s, o, t, NULL, &a, &doc, err);
    if (r >= 0)
        r = wa_tree_nodes(s, o, t->tree, &a, &nodes, &n, err);
    for (size_t i = 0; r >= 0 && i < doc.n_checkpoints; i++) {
        const struct wm_checkpoint *cp = &doc.checkpoints[i];
        if (wb_str_eq(cp->id, id) && cp->node < n)
            return locate_messages(s, o, &nodes[cp->node], cp, put, &a, ret, err);
    }
    return r < 0 ? r : no_checkpoint(id, err);
}

int wa_checkpoint_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct upp_str id,
                       struct wa_put *put, struct wa_position *ret, struct upp_err *err)
{
    int r = find_own(s, o, t, id, ret, err);
    if (r == 0)
        return find_other(s, o, t, id, put, ret, err);
    return r < 0 ? r : 0;
}

/* ---- Forks --------------------------------------------------------------------------------------------------- */

/* Moves the position past the results of the message's calls: they belong to it. */
WEFT_SUSPENDS static int pass_results(struct wl_store *s, const struct wl_owner *o, struct wa_position *pos,
                                      struct wb_arena *a, struct upp_err *err)
{
    struct wl_end end;
    struct wl_line *lines;
    size_t n;
    int r = wl_node_end(s, o, pos->node, &end, err);
    if (r < 0)
        return r;
    uint32_t upto = WB_MIN(end.length, pos->length + RESULTS_WITHIN);
    struct wl_span span = {.node = pos->node, .length = end.length};
    struct wl_path path = {.spans = &span, .n = 1, .length = end.length};
    r = wl_path_tail(s, o, &path, upto, upto - WB_MIN(upto, pos->length), a, &lines, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        const struct wm_entry *e = &lines[i].entry;
        if ((e->kind != WM_ENTRY_MESSAGE && e->kind != WM_ENTRY_REPAIR) || e->audience != WM_AUDIENCE_ALL ||
            wm_is_hidden(e))
            continue;
        if (e->message.role != UPP_ROLE_TOOL)
            break;
        pos->length = lines[i].index + 1;
    }
    return r;
}

WEFT_SUSPENDS int wa_message_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                  struct upp_str text, bool before, struct wa_position *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wb_uuid id;
    struct wl_line line;
    struct wl_node node;
    if (!wl_id_parse(text, UPP_STR("msg_"), &id))
        return 0;
    int r = wl_entry_find(s, o, id, &a, &line, err);
    if (r >= 0)
        r = wl_get_node(s, o, line.node, &node, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_uuid_eq(node.tree, t->tree)))
        return 0;
    if (r < 0)
        return r;
    *ret = (struct wa_position){.node = line.node, .length = line.index + !before};
    r = before ? 0 : pass_results(s, o, ret, &a, err);
    return r < 0 ? r : 1;
}

WEFT_SUSPENDS static int find_position(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                       struct upp_str at, struct wa_put *put, struct wa_position *ret,
                                       struct upp_err *err)
{
    struct wl_end end;
    int r;
    if (!at.p) {
        r = wl_node_end(s, o, t->head, &end, err);
        *ret = (struct wa_position){.node = t->head, .length = r < 0 ? 0 : wl_thread_length(t, end.length)};
        return r < 0 ? r : close_calls(s, o, ret, put, err);
    }
    r = wa_message_find(s, o, t, at, false, ret, err);
    if (r)
        return r < 0 ? r : close_calls(s, o, ret, put, err);
    r = wa_checkpoint_find(s, o, t, at, put, ret, err);
    return r == -UPP_ENOTFOUND
               ? upp_fail(err, UPP_ENOTFOUND, "the thread's tree has no message and no checkpoint '%.*s'", UPP_FMT(at))
               : r;
}

int wa_thread_fork(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct upp_str at,
                   struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wl_thread from = *t;
    struct wa_position pos;
    wa_put_init(&put, s, o);
    put.thread = &from;
    int r = find_position(s, o, t, at, &put, &pos, err);
    if (r >= 0)
        r = wa_put_commit(&put, err);
    if (r < 0)
        return r;
    wb_crashpoint("fork.before");
    r = wl_fork(s, t, pos.node, pos.length, a, ret, err);
    if (r >= 0)
        wb_crashpoint("fork.after");
    return r;
}

/* ---- Moving a thread ------------------------------------------------------------------------------------------- */

/* Starting a run also writes the thread's row. So whoever finds no run and then wins the write to that row precedes
 * every run. */
WEFT_SUSPENDS static int check_idle(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                    struct wb_arena *a, struct upp_err *err)
{
    struct wm_run *runs;
    size_t n;
    char run[WB_UUID_HEX + 1], thread[WB_UUID_HEX + 1];
    int r = wl_list_runs(s, o, t->id, true, 1, a, &runs, &n, err);
    if (r < 0 || !n)
        return r;
    (void)wb_uuid_hex(runs[0].id, run);
    (void)wb_uuid_hex(t->id, thread);
    return upp_fail(err, UPP_EBUSY, "run_%s on thread_%s has not ended: cancel it first", run, thread);
}

/* 1: lost the race for the thread's row. */
WEFT_SUSPENDS static int try_move(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                  const struct wa_position *pos, bool branches, struct wa_put *put, struct wb_arena *a,
                                  struct upp_err *err)
{
    struct wl_thread now;
    const size_t before = put->changes.n;
    int r = wl_get_thread(s, o, t->id, a, &now, err);
    if (r >= 0)
        r = check_idle(s, o, &now, a, err);
    if (r < 0)
        return r;
    if (put->begun && now.version != t->version) /* that writer has dropped our staged nodes */
        return upp_fail(err, UPP_EBUSY, "somebody else has changed the thread meanwhile");
    *t = now;
    t->head = pos->node;
    t->at = branches ? pos->length + 1 : 0;
    put->moved = true;
    r = wa_put_commit(put, err); /* appends the change of the thread's row to the commit */
    if (r == -UPP_EBUSY && put->conflict == before) {
        put->changes.n = before;
        return 1;
    }
    return r;
}

WEFT_SUSPENDS static int move_thread(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                     const struct wa_position *pos, bool branches, struct wa_put *put,
                                     struct wb_arena *a, struct upp_err *err)
{
    wb_crashpoint("restore.before");
    for (unsigned i = 0; i < TRIES; i++) {
        int r = try_move(s, o, t, pos, branches, put, a, err);
        if (r == 0)
            wb_crashpoint("restore.after");
        if (r <= 0)
            return r;
    }
    return upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
}

int wa_thread_restore(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, struct upp_str checkpoint,
                      struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wa_position pos;
    wa_put_init(&put, s, o);
    put.thread = t;
    int r = check_idle(s, o, t, a, err);
    if (r >= 0)
        r = wa_checkpoint_find(s, o, t, checkpoint, &put, &pos, err);
    return r < 0 ? r : move_thread(s, o, t, &pos, true, &put, a, err);
}

int wa_thread_move(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, const struct wa_position *to,
                   struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wa_position pos = *to;
    wa_put_init(&put, s, o);
    put.thread = t;
    int r = check_idle(s, o, t, a, err);
    if (r >= 0)
        r = close_calls(s, o, &pos, &put, err);
    return r < 0 ? r : move_thread(s, o, t, &pos, true, &put, a, err);
}

static bool has_id(const struct wl_node *n, struct upp_str id, struct wb_arena *scratch)
{
    struct wb_uuid u;
    yyjson_val *v, *given;
    if (wb_uuid_parse(id, &u) && wb_uuid_eq(n->id, u))
        return true;
    wb_arena_reset(scratch);
    return n->origin.p && wj_read(scratch, n->origin, NULL, &v, NULL) >= 0 && (given = yyjson_obj_get(v, "id")) &&
           yyjson_is_str(given) && wb_str_eq(wj_text(given), id);
}

int wa_node_find(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t, struct upp_str id,
                 uint64_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30), scratch = WB_ARENA(1u << 24);
    struct wa_doc_node *nodes;
    size_t n;
    int r = wa_tree_nodes(s, o, t->tree, &a, &nodes, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (has_id(&nodes[i].node, id, &scratch)) {
            *ret = nodes[i].node.key;
            return 0;
        }
    return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "the thread's tree has no node '%.*s'", UPP_FMT(id));
}

/* 1: another thread ends at this node too, and would see what this one appends. */
WEFT_SUSPENDS static int is_shared(struct wl_store *s, const struct wl_owner *o, const struct wl_thread *t,
                                   uint64_t node, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    for (size_t n = PAGE; n == PAGE;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_thread *page;
        int r = wl_list_family_threads(s, o, wl_family(t->tree), after, PAGE, &a, &page, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = page[i].id;
            if (page[i].head == node && !page[i].at && !wb_uuid_eq(page[i].id, t->id))
                return 1;
        }
    }
    return 0;
}

int wa_thread_checkout(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, struct upp_str node,
                       struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wa_position pos = {0};
    struct wl_end end = {0};
    wa_put_init(&put, s, o);
    put.thread = t;
    int r = wa_node_find(s, o, t, node, &pos.node, err);
    if (r >= 0)
        r = wl_node_end(s, o, pos.node, &end, err);
    if (r >= 0)
        r = is_shared(s, o, t, pos.node, err);
    if (r < 0)
        return r;
    bool shared = r > 0;
    uint64_t there = pos.node;
    pos.length = end.length;
    r = close_calls(s, o, &pos, &put, err);
    return r < 0 ? r : move_thread(s, o, t, &pos, shared && pos.node == there, &put, a, err);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

int wa_thread_answer(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, uint32_t at,
                     const struct upp_message *list, size_t n, struct upp_err *err)
{
    WB_CLEANUP(wa_put_done) struct wa_put put;
    struct wa_position pos = {.node = t->head, .length = at - 1};
    wa_put_init(&put, s, o);
    put.thread = t;
    put.moved = true;
    int r = branch_off(s, o, &pos, list, n, &put, err);
    if (r < 0)
        return r;
    t->head = pos.node;
    t->at = 0;
    return wa_put_commit(&put, err);
}
