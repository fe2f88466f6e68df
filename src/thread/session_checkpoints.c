/* thread/session_checkpoints.c — reads the checkpoints of a session from the log.
 *
 * A checkpoint is a position in the log. Its messages are those of its run on its node, so the message lists of all
 * checkpoints are slices of the node's list. Its state is in the row that ended its step.
 *
 * Imported checkpoints are stored unchanged, under the thread's id (commits.c).
 */
#include <stdlib.h>

#include "thread/session_extras.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"

enum { SUBS = 4096 };

/* With `every_turn`, retains only the last checkpoint of a completed turn. */
static void leave_run(struct wa_reading *x, struct wa_progress *p)
{
    if (x->opts->every_turn && p->checkpoints.n > x->first) {
        if (x->completed)
            p->checkpoints.p[x->first++] = p->checkpoints.p[p->checkpoints.n - 1];
        p->checkpoints.n = x->first;
    }
    x->first = p->checkpoints.n;
    x->ended = x->completed = false;
    x->subs.n = 0;
    x->run = (struct wm_run){0};
}

/* Sub-agents have trees of their own, so a sub-thread in this tree belongs to a query. */
static WEFT_SUSPENDS int detect_query(struct wa_reading *x, struct upp_err *err)
{
    struct wl_thread t = {0};
    x->is_query = false;
    if (wb_uuid_eq(x->run.thread, x->thread->id))
        return 0;
    int r = wl_get_thread(x->store, x->owner, x->run.thread, x->to, &t, err);
    x->is_query = t.kind == WL_SUB && x->thread->kind != WL_SUB;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

static WEFT_SUSPENDS int enter_run(struct wa_reading *x, struct wa_progress *p, const struct wl_row *row,
                                   struct upp_err *err)
{
    if (wb_uuid_eq(row->run, x->run.id))
        return 0;
    leave_run(x, p);
    x->run_from = row->pos;
    if (wb_uuid_is_nil(row->run))
        return 0;
    int r = wl_get_run(x->store, x->owner, row->run, x->to, &x->run, err);
    if (r == -UPP_ENOTFOUND) { /* its thread was deleted, and other threads share its entries */
        x->run = (struct wm_run){.id = row->run, .input = wl_pos_index(row->pos)};
        x->is_query = false;
        return 0;
    }
    return r < 0 ? r : detect_query(x, err);
}

/* Adds the session of a sub-agent: its own thread, with its latest checkpoint. */
static WEFT_SUSPENDS int add_sub(struct wa_reading *x, const struct wm_event *ev, struct upp_err *err)
{
    struct wm_run run;
    struct wl_thread thread;
    struct wl_store *s = x->store;
    struct wa_doc_opts opts = *x->opts;
    opts.latest_only = true;
    opts.every_turn = opts.no_checkpoints = false;
    opts.nested++;
    opts.agent_id = (struct upp_str){0};
    if (opts.nested > WM_SESSION_NESTED)
        return 0;
    int r = wl_get_run(s, x->owner, ev->tool_started.child, x->to, &run, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* announced, but not created yet */
    if (r >= 0)
        r = wl_get_thread(s, x->owner, run.thread, x->to, &thread, err);
    if (r == -UPP_ENOTFOUND)
        return 0; /* its thread was deleted with that of the run, and this one shares its entries */
    struct wm_session *sub = wb_new(x->to, struct wm_session);
    if (r >= 0)
        r = wb_arena_check(x->to, err);
    if (r >= 0)
        r = wa_session_doc(s, x->owner, &thread, &opts, x->to, sub, err);
    if (r < 0)
        return r;
    struct wm_sub_session item = {.call = wb_arena_dup(x->to, ev->call.id), .session = sub};
    return wb_vec_push(&x->subs, item, SUBS) ? wb_arena_check(x->to, err)
                                             : upp_fail(err, UPP_ELIMIT, "more than %d agents below a run", SUBS);
}

/* A JSON value of the run's state; empty: absent. */
static int value_of(struct wa_reading *x, yyjson_val *state, const char *name, struct upp_str *ret, struct upp_err *err)
{
    *ret = (struct upp_str){0};
    return wj_value_text(x->to, yyjson_obj_get(state, name), ret, err);
}

static uint64_t number_at(yyjson_val *list, size_t i)
{
    yyjson_val *v = yyjson_arr_get(list, i);
    uint64_t n;
    return v && yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* The metadata with totalTokens: a row stores the tokens only once, as its usage. */
static int metadata_of(struct wa_reading *x, yyjson_val *state, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
    yyjson_val *usage = yyjson_obj_get(state, "usage");
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_members_but(&w, yyjson_obj_get(state, "metadata"), WJ_NAMES("totalTokens"));
    wj_put_u64(&w, "totalTokens", number_at(usage, 0) + number_at(usage, 1));
    wj_write_close(&w, '}');
    return wj_writer_text(&w, x->to, ret);
}

static int read_state(struct wa_reading *x, struct upp_str json, struct wm_checkpoint *ret, struct upp_err *err)
{
    yyjson_val *state;
    if (!json.p)
        return 0;
    int r = wj_read(&x->scratch, json, NULL, &state, err);
    if (r >= 0)
        r = metadata_of(x, state, &ret->state_metadata, err);
    if (r >= 0)
        r = value_of(x, state, "plan", &ret->plan, err);
    return r < 0 ? r : value_of(x, state, "own", &ret->own, err);
}

/* The reasoning of the run before this position. */
static int read_reasoning(struct wa_reading *x, const struct wa_doc_node *node, uint32_t length,
                          struct wm_checkpoint *ret, struct upp_err *err)
{
    size_t upto = node->n_thoughts;
    while (upto && node->thoughts[upto - 1].index >= length)
        upto--;
    size_t from = upto;
    while (from && wb_uuid_eq(node->thoughts[from - 1].run, x->run.id))
        from--;
    ret->n_reasoning = upto - from;
    ret->reasoning = wb_new_n(x->to, struct upp_str, ret->n_reasoning);
    if (!ret->reasoning)
        return wb_arena_check(x->to, err);
    for (size_t i = from; i < upto; i++)
        ret->reasoning[i - from] = node->thoughts[i].text;
    ret->has_reasoning = ret->n_reasoning > 0;
    return 0;
}

static int add_checkpoint(struct wa_reading *x, size_t at, const struct wl_row *stored, const struct wm_row *row,
                          const struct wm_event *ev, struct upp_err *err)
{
    const struct wa_doc_node *node = &x->nodes[at];
    uint32_t length = wl_pos_index(stored->pos) + stored->n_entries;
    struct wb_uuid id = ev->checkpoint.id;
    if (wb_uuid_is_nil(id))
        id = wm_position_uuid((struct wm_position){node->node.key, length, (uint16_t)ev->step});
    size_t from = wa_messages_before(node, x->run.input), to = wa_messages_before(node, length);
    struct wm_checkpoint cp = {
        .id = wa_uuid_text(x->to, id),
        .time = wa_time_text(x->to, row->time_ms),
        .step = ev->step,
        .node = (uint32_t)at,
        .length = (uint32_t)from,
        .state_step = ev->step,
        .n_messages = to - WB_MIN(from, to), /* they begin at .length */
        .subs = wb_new_n(x->to, struct wm_sub_session, x->subs.n),
        .n_subs = x->subs.n,
    };
    int r = wb_arena_check(x->to, err);
    if (r >= 0 && x->subs.n)
        memcpy(cp.subs, x->subs.p, x->subs.n * sizeof *cp.subs);
    if (r >= 0)
        r = read_state(x, row->state, &cp, err);
    if (r >= 0)
        r = read_reasoning(x, node, length, &cp, err);
    if (r < 0)
        return r;
    return wb_vec_push(&x->progress.p[at].checkpoints, cp, WM_SESSION_CHECKPOINTS)
               ? 0
               : upp_fail(err, UPP_ELIMIT, "more than %d checkpoints", WM_SESSION_CHECKPOINTS);
}

static WEFT_SUSPENDS int read_row(struct wa_reading *x, size_t at, const struct wl_row *stored, struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(&x->scratch, stored->format, stored->body, stored->tape, &row, err);
    if (r >= 0)
        r = enter_run(x, &x->progress.p[at], stored, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++) {
        const struct wm_event *ev = &row.records[i];
        if (x->is_query)
            x->ended |= ev->kind == WM_RUN && wm_status_ended(ev->run.status);
        else if (ev->kind == WM_TOOL_STARTED && ev->tool_started.child_node && !wm_is_branch(ev))
            r = add_sub(x, ev, err);
        else if (ev->kind == WM_CHECKPOINT)
            r = add_checkpoint(x, at, stored, &row, ev, err);
        else if (ev->kind == WM_RUN) {
            x->completed |= ev->run.status == WM_COMPLETED;
            x->ended = wm_status_ended(ev->run.status);
        }
    }
    return r;
}

/* True for a row that is newer than the node's messages: it is left for the next read. */
static bool is_later(const struct wa_doc_node *node, const struct wl_row *row)
{
    return wl_pos_index(row->pos) + row->n_entries > node->length;
}

static WEFT_SUSPENDS int read_rows(struct wa_reading *x, size_t at, struct upp_err *err)
{
    struct wa_progress *p = &x->progress.p[at];
    struct wl_rows rows = {.more = true};
    uint64_t from = p->from;
    p->checkpoints.n = p->n_final;
    x->first = p->n_final;
    while (rows.more) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = x->nodes[at].node.key, .from = from, .to = UINT64_MAX >> 1};
        int r = wl_store_rows(x->store, x->owner, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            if (is_later(&x->nodes[at], &rows.p[i])) {
                rows.more = false;
                break;
            }
            wb_arena_reset(&x->scratch);
            r = read_row(x, at, &rows.p[i], err);
            from = wl_pos_next(rows.p[i].pos, rows.p[i].n_entries);
        }
        if (r < 0)
            return r;
    }
    bool active = !wb_uuid_is_nil(x->run.id) && !x->ended;
    size_t first = x->first;
    p->from = active ? x->run_from : from;
    leave_run(x, p);
    p->n_final = active ? first : p->checkpoints.n;
    return 0;
}

static int take_length(struct upp_str *line, uint32_t *ret, struct upp_err *err)
{
    const char *end = line->n ? memchr(line->p, ' ', line->n) : NULL;
    uint64_t value;
    if (!end || !wb_str_u64(wb_str(line->p, (size_t)(end - line->p)), &value) || value > UINT32_MAX)
        return upp_fail(err, UPP_ESTORE, "the checkpoints of an imported session have no lengths");
    *ret = (uint32_t)value;
    *line = wb_str_sub(*line, (size_t)(end - line->p) + 1, SIZE_MAX);
    return 0;
}

/* Reads the checkpoints of the document from which the thread was imported. */
static WEFT_SUSPENDS int read_imported(struct wa_reading *x, const struct wm_tree_doc *tree, struct upp_err *err)
{
    char name[WB_UUID_TEXT + 1];
    struct upp_str json;
    struct wm_session doc = {0};
    int r =
        wl_get_value(x->store, x->owner, UPP_STR(WA_IMPORTED), wb_uuid_text(x->thread->id, name), x->to, &json, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    bool has = r >= 0;
    const char *line = has ? memchr(json.p, '\n', json.n) : NULL;
    size_t n = line ? (size_t)(line - json.p) : 0;
    struct upp_str lengths = has ? wb_str(json.p, n) : (struct upp_str){0};
    r = has ? wm_session_read(x->to, wb_str_sub(json, n, SIZE_MAX), &doc, err) : 0;
    x->imported = wb_new_n(x->to, struct wm_checkpoint, doc.n_checkpoints + 1);
    if (r >= 0)
        r = wb_arena_check(x->to, err);
    for (size_t i = 0; r >= 0 && i < doc.n_checkpoints; i++) {
        struct wm_checkpoint cp = doc.checkpoints[i];
        r = take_length(&lengths, &cp.length, err);
        struct upp_str id = doc.tree.nodes[cp.node].id;
        for (cp.node = 0; cp.node < tree->n && !wb_str_eq(tree->nodes[cp.node].id, id);)
            cp.node++;
        if (cp.node < tree->n)
            x->imported[x->n_imported++] = cp;
    }
    return r;
}

/* By creation time; the times that Weft writes have one format. Of equal times: by position in the log. */
static int by_time(const void *a, const void *b)
{
    const struct wm_checkpoint *x = a, *y = b;
    int c = memcmp(x->time.p, y->time.p, WB_MIN(x->time.n, y->time.n));
    if (c)
        return c;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Collects all checkpoints, the imported ones first. */
static int gather(struct wa_reading *x, struct wm_session *ret, struct upp_err *err)
{
    size_t n = x->n_imported;
    for (size_t i = 0; i < x->n_nodes; i++)
        n += x->progress.p[i].checkpoints.n;
    if (n > WM_SESSION_CHECKPOINTS)
        return upp_fail(err, UPP_ELIMIT, "more than %d checkpoints", WM_SESSION_CHECKPOINTS);
    struct wm_checkpoint *list = wb_new_n(x->to, struct wm_checkpoint, n);
    if (!list)
        return wb_arena_check(x->to, err);
    n = 0;
    for (size_t i = 0; i < x->n_imported; i++)
        list[n++] = x->imported[i];
    for (size_t i = 0; i < x->n_nodes; i++)
        for (size_t k = 0; k < x->progress.p[i].checkpoints.n; k++) {
            list[n] = x->progress.p[i].checkpoints.p[k];
            list[n].messages = x->nodes[i].messages + list[n].length;
            n++;
        }
    if (n > x->n_imported)
        qsort(list + x->n_imported, n - x->n_imported, sizeof *list, by_time);
    bool last = x->opts->latest_only && n;
    ret->checkpoints = last ? list + n - 1 : list;
    ret->n_checkpoints = last ? 1 : n;
    return 0;
}

int wa_read_checkpoints(struct wa_reading *x, struct wm_session *ret, struct upp_err *err)
{
    int r = x->imported ? 0 : read_imported(x, &ret->tree, err);
    for (size_t i = 0; r >= 0 && i < x->n_nodes; i++)
        r = read_rows(x, i, err);
    return r < 0 ? r : gather(x, ret, err);
}
