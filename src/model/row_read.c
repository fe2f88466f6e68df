/* model/row_read.c — bytes to a row: format 1. The table of its members is in model/row.c.
 *
 * Nothing is trusted: unknown and duplicate members, wrong types and numbers out of range are refused with their
 * pointer, so that a row of a later version is never half understood.
 */
#include <upp/model.h>

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/id.h"
#include "model/row_get.h"

/* ---- Records -------------------------------------------------------------------------------------- */

static void pending_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct wm_pending *p = into;
    switch (name) {
    case 'c':
        p->call = wm_get_str(g, v);
        break;
    case 'n':
        p->name = wm_get_str(g, v);
        break;
    case 'a':
        p->arguments = wm_get_str(g, v);
        break;
    case 'r':
        p->run = wm_get_uuid(g, v);
        break;
    case 'y':
        p->approval = wm_get_flag(g, v);
        break;
    case 't':
        p->since_ms = wm_get_time(g, v, g->row->time_ms);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

static void get_pending(struct wm_get *g, yyjson_val *v, struct wm_event *ev)
{
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, UINT32_MAX, &item);
    struct wm_pending *p = n ? wb_new_n(g->a, struct wm_pending, n) : NULL;
    ev->run.pending = p;
    ev->run.n_pending = p ? n : 0;
    for (size_t i = 0; i < ev->run.n_pending && !g->failed; i++, item = unsafe_yyjson_get_next(item)) {
        p[i].since_ms = g->row->time_ms;
        wm_get_members(g, item, &p[i], pending_member);
    }
}

static void get_usage(struct wm_get *g, yyjson_val *v, struct upp_usage *u)
{
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, 5, &item);
    if (n < 4) {
        wm_get_refuse(g, v, "four numbers, or five");
        return;
    }
    u->input = wm_get_number(g, item);
    u->output = wm_get_number(g, item + 1);
    u->cache_read = wm_get_number(g, item + 2);
    u->cache_write = wm_get_number(g, item + 3);
    u->reasoning = n > 4 ? wm_get_number(g, item + 4) : 0;
}

/* The entry by its index: entries come before the records. */
static const struct wm_entry *get_entry(struct wm_get *g, yyjson_val *v)
{
    size_t n = g->row->n_entries;
    size_t i = (size_t)wm_get_u64(g, v, 0, n ? n - 1 : 0, "the number of an entry of the row");
    return i < n ? &g->row->entries[i] : NULL;
}

static void record_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct wm_event *ev = into;
    if (!ev->kind && name != 'k') {
        wm_get_refuse_name(g, v - 1, "the kind of the record before all else");
        return;
    }
    switch (name) {
    case 'k':
        ev->kind = wm_get_enum(g, v, WM_STEP_START - 1);
        return;
    case 't':
        ev->time_ms = wm_get_time(g, v, g->row->time_ms);
        return;
    case 's':
        ev->step = wm_get_u32(g, v);
        return;
    default:
        break;
    }
    const struct wm_record_member *m = wm_record_members(ev->kind);
    while (m->name && m->name != name)
        m++;
    void *at = (char *)ev + m->at;
    switch (m->name ? (int)m->type : 0) {
    case WM_ENUM:
        *(uint8_t *)at = wm_get_enum(g, v, m->max);
        break;
    case WM_TEXT:
        *(struct upp_str *)at = wm_get_str(g, v);
        break;
    case WM_JSON:
        *(struct upp_str *)at = wm_get_json(g, v, false);
        break;
    case WM_NUMBER:
        *(uint64_t *)at = wm_get_number(g, v);
        break;
    case WM_USAGE:
        get_usage(g, v, at);
        break;
    case WM_UUID:
        *(struct wb_uuid *)at = wm_get_uuid(g, v);
        break;
    case WM_ENTRY:
        *(const struct wm_entry **)at = get_entry(g, v);
        break;
    case WM_PENDING:
        get_pending(g, v, ev);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

/* Is it a record whose result a history's entry may need? */
static bool is_result(yyjson_val *record)
{
    yyjson_val *kind = yyjson_obj_getn(record, "k", 1);
    return kind && yyjson_is_raw(kind) && wb_str_eq(wj_text(kind), UPP_STR("4"));
}
_Static_assert(WM_TOOL_ENDED == 4, "is_result");

static void get_records(struct wm_get *g, yyjson_val *v)
{
    struct wm_row *row = g->row;
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, UINT32_MAX, &item);
    row->records = n ? wb_new_n(g->a, struct wm_event, n) : NULL;
    if (!row->records)
        return;
    for (; n && !g->failed; n--, item = unsafe_yyjson_get_next(item)) {
        if (g->entries_only && !is_result(item))
            continue;
        struct wm_event *ev = &row->records[row->n_records++];
        ev->step = row->step;
        ev->time_ms = row->time_ms;
        wm_get_members(g, item, ev, record_member);
        if (!ev->kind)
            wm_get_refuse(g, item, "a record with a kind");
        if (wm_has_entry(ev->kind) && !ev->message.entry) {
            ev->message.entry = row->entries;
            if (!row->entries)
                wm_get_refuse(g, item, "an entry in the row");
        }
    }
}

/* ---- Sidecars -------------------------------------------------------------------------------------- */

static void sidecar_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct wm_sidecar *b = into;
    switch (name) {
    case 'e':
        b->entry = wm_get_u32(g, v);
        break;
    case 'n':
        b->entries = wm_get_u32(g, v);
        break;
    case 'g':
        b->thread = wm_get_flag(g, v);
        break;
    case 'd':
        b->dialect = wm_get_str(g, v);
        break;
    case 'l':
        b->slot = wm_get_str(g, v);
        break;
    case 'x':
        b->text = wm_get_str(g, v);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

static void get_sidecars(struct wm_get *g, yyjson_val *v)
{
    struct wm_row *row = g->row;
    yyjson_val *item = NULL;
    size_t n = g->entries_only ? 0 : wm_get_items(g, v, UINT32_MAX, &item);
    row->beside = n ? wb_new_n(g->a, struct wm_sidecar, n) : NULL;
    if (!row->beside)
        return;
    for (; n && !g->failed; n--, item = unsafe_yyjson_get_next(item)) {
        struct wm_sidecar *b = &row->beside[row->n_beside++];
        wm_get_members(g, item, b, sidecar_member);
        if (!g->failed && !b->thread && b->entry >= row->n_entries)
            wm_get_refuse(g, item, "an entry in the row");
    }
}

/* ---- The row -------------------------------------------------------------------------------------- */

static void get_lost(struct wm_get *g, yyjson_val *v)
{
    struct wm_row *row = g->row;
    size_t n;
    row->lost = wm_get_entries(g, v, &n);
    if (n != 1 || !row->n_records || row->records[0].kind != WM_VOID)
        wm_get_refuse(g, v, "one entry, behind a void as the first record");
}

static void get_state(struct wm_get *g, yyjson_val *v)
{
    struct wm_row *row = g->row;
    yyjson_val *grants = g->entries_only ? yyjson_obj_get(v, WM_STATE_GRANTS) : NULL;
    if (!g->entries_only)
        row->state = wm_get_json(g, v, false);
    else if (grants)
        row->grants = wm_get_json(g, grants, false);
}

static void row_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct wm_row *row = into;
    if (strchr("vcsta", name) && (row->n_entries || row->n_records)) {
        wm_get_refuse_name(g, v - 1, "entries and records behind step and time");
        return;
    }
    switch (name) {
    case 'v':
        row->event = wm_get_number(g, v);
        break;
    case 'c':
        row->epoch = wm_get_u32(g, v);
        break;
    case 's':
        row->step = wm_get_u32(g, v);
        break;
    case 't':
        row->time_ms = wm_get_time(g, v, 0);
        break;
    case 'a':
        row->agent = wm_get_str(g, v);
        break;
    case 'e':
        if (row->n_records)
            wm_get_refuse_name(g, v - 1, "entries before records");
        row->entries = wm_get_entries(g, v, &row->n_entries);
        break;
    case 'r':
        get_records(g, v);
        break;
    case 'x':
        get_state(g, v);
        break;
    case 'b':
        get_sidecars(g, v);
        break;
    case 'l':
        if (!g->entries_only)
            get_lost(g, v);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

/* Text that is not JSON is not a row either (-UPP_ESTORE); a limit stays a limit. */
static int read_value(struct wm_get *g, struct upp_str body)
{
    int r = wj_read(g->a, body, UPP_OPTS(wj_read_opts, .max_bytes = WM_ROW_MAX, .depth = WJ_MAX_DEPTH + 8), &g->root,
                    g->err);
    if (r == -UPP_EINVALID) {
        if (g->err)
            g->err->code = UPP_ESTORE;
        r = -UPP_ESTORE;
    }
    return r;
}

static int read_row(struct wb_arena *a, unsigned format, struct upp_str body, bool entries_only, struct wm_row *ret,
                    struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(2u * WM_ROW_MAX);
    struct wm_row row = {0};
    struct wm_get g = {.a = a, .scratch = &scratch, .err = err, .row = &row, .entries_only = entries_only};
    if (format != WM_FORMAT)
        return upp_fail(err, UPP_ESTORE, "a row of format %u, which this version does not know", format);
    int r = read_value(&g, body);
    if (r < 0)
        return r;
    wm_get_members(&g, g.root, &row, row_member);
    r = wb_arena_check(a, g.failed ? NULL : err);
    if (g.failed || r < 0)
        return g.failed ? g.failed : r;
    *ret = row;
    return 0;
}

int wm_row_read(struct wb_arena *a, unsigned format, struct upp_str body, struct upp_str tape, struct wm_row *ret,
                struct upp_err *err)
{
    struct wm_row row;
    uint64_t events;
    int r = read_row(a, format, body, false, &row, err);
    if (r < 0)
        return r;
    row.tape = wb_arena_dup(a, tape);
    r = wb_arena_check(a, err);
    if (r == 0 && tape.n)
        r = wm_row_events(&row, &events, err);
    if (r < 0)
        return r;
    *ret = row;
    return 0;
}

int wm_row_read_entries(struct wb_arena *a, unsigned format, struct upp_str body, struct wm_row *ret,
                        struct upp_err *err)
{
    return read_row(a, format, body, true, ret, err);
}
