/* model/row_read.c — bytes to a row: format 1. The table of its members stands in model/row.c.
 *
 * Nothing is trusted: a member that is not in the table or stands twice, another type, a number that is not in its
 * range are refused with their place, so that what a later version wrote is never half understood.
 */
#include <upp/model.h>

#include "base/err.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/id.h"
#include "model/row.h"

struct get {
    struct wb_arena *a;
    yyjson_val      *root;
    struct wb_buf   *scratch; /* for JSON that is given out as text */
    struct upp_err  *err;
    int              failed;
    struct wm_row   *row;
    bool             entries_only;
};

/* ---- Values --------------------------------------------------------------------------------------- */

/* After the first failure nothing more is looked at. */
static void refuse(struct get *g, yyjson_val *v, const char *expected)
{
    char found[WJ_QUOTED];
    if (g->failed)
        return;
    g->failed = upp_fail(g->err, UPP_ESTORE, "expected %s, found %s", expected, wj_found(v, found, sizeof found));
    wj_pointer_err(g->err, g->root, v);
}

/* The same for the name of a member. */
static void refuse_name(struct get *g, yyjson_val *name, const char *expected)
{
    char found[WJ_QUOTED];
    if (g->failed)
        return;
    g->failed =
        upp_fail(g->err, UPP_ESTORE, "expected %s, found %s", expected, wj_quote(wj_text(name), found, sizeof found));
    wj_pointer_err(g->err, g->root, name);
}

static void fail(struct get *g, int r)
{
    if (!g->failed)
        g->failed = r;
}

static struct upp_str get_str(struct get *g, yyjson_val *v)
{
    if (WB_LIKELY(yyjson_is_str(v)))
        return wj_text(v);
    refuse(g, v, "a string");
    return (struct upp_str){0};
}

static uint64_t get_u64(struct get *g, yyjson_val *v, uint64_t from, uint64_t to, const char *expected)
{
    uint64_t n;
    if (yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) && n >= from && n <= to)
        return n;
    refuse(g, v, expected);
    return from;
}

static uint32_t get_u32(struct get *g, yyjson_val *v)
{
    return (uint32_t)get_u64(g, v, 0, UINT32_MAX, "a whole number of 32 bits");
}

static uint64_t get_number(struct get *g, yyjson_val *v)
{
    return get_u64(g, v, 0, UINT64_MAX, "a whole number of 64 bits");
}

static uint8_t get_enum(struct get *g, yyjson_val *v, unsigned last)
{
    return (uint8_t)get_u64(g, v, 1, last, "a value that this version knows");
}

static bool get_flag(struct get *g, yyjson_val *v)
{
    return get_u64(g, v, 1, 1, "1");
}

static int64_t get_time(struct get *g, yyjson_val *v, int64_t from)
{
    int64_t n = 0;
    if (!yyjson_is_raw(v) || !wb_str_i64(wj_text(v), &n))
        refuse(g, v, "a whole number of milliseconds");
    return (int64_t)((uint64_t)from + (uint64_t)n);
}

static struct upp_str get_num(struct get *g, yyjson_val *v)
{
    if (yyjson_is_raw(v))
        return wj_text(v);
    refuse(g, v, "a number");
    return (struct upp_str){0};
}

static struct wb_uuid get_uuid(struct get *g, yyjson_val *v)
{
    struct wb_uuid u = {0};
    if (!yyjson_is_str(v) || !wb_uuid_parse(wj_text(v), &u))
        refuse(g, v, "a UUID");
    return u;
}

/* As text again, token for token. */
static struct upp_str get_json(struct get *g, yyjson_val *v, bool object)
{
    if (object && !yyjson_is_obj(v)) {
        refuse(g, v, "an object");
        return (struct upp_str){0};
    }
    wb_buf_clear(g->scratch);
    int r = wj_write(v, g->scratch, g->err);
    if (r < 0) {
        fail(g, r);
        return (struct upp_str){0};
    }
    return wb_arena_dup(g->a, wb_buf_str(g->scratch));
}

/* The items of an array; 0 and a failure for what is none, or is longer than max. */
static size_t get_items(struct get *g, yyjson_val *v, size_t max, yyjson_val **first)
{
    if (!yyjson_is_arr(v)) {
        refuse(g, v, "an array");
        return 0;
    }
    size_t n = unsafe_yyjson_get_len(v);
    if (n > max) {
        refuse(g, v, "a shorter array");
        return 0;
    }
    *first = unsafe_yyjson_get_first(v);
    return n;
}

/* ---- Objects -------------------------------------------------------------------------------------- */

/* Calls `member` for each member, whose name is one letter that did not stand before. */
static void each_member(struct get *g, yyjson_val *v, void *into,
                        void (*member)(struct get *g, char name, yyjson_val *v, void *into))
{
    uint32_t seen = 0;
    if (!yyjson_is_obj(v)) {
        refuse(g, v, "an object");
        return;
    }
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n && !g->failed; n--) {
        struct upp_str name = wj_text(key);
        uint32_t       bit  = name.n == 1 && name.p[0] >= 'a' && name.p[0] <= 'z' ? 1u << (name.p[0] - 'a') : 0;
        if (!bit)
            refuse_name(g, key, "a member that this version knows");
        else if (seen & bit)
            refuse_name(g, key, "a member once");
        else
            member(g, name.p[0], key + 1, into);
        seen |= bit;
        key = unsafe_yyjson_get_next(key + 1);
    }
}

static void unknown(struct get *g, yyjson_val *v)
{
    refuse_name(g, v - 1, "a member that this version knows");
}

static void media_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct upp_media *m = into;
    switch (name) {
    case 's':
        m->source = get_enum(g, v, UPP_SOURCE_TEXT);
        break;
    case 'u':
        m->data = get_str(g, v);
        break;
    case 'm':
        m->mime = get_str(g, v);
        break;
    case 'l':
        m->title = get_str(g, v);
        break;
    case 't':
        m->duration = get_num(g, v);
        break;
    case 'w':
        m->width = get_num(g, v);
        break;
    case 'h':
        m->height = get_num(g, v);
        break;
    default:
        unknown(g, v);
    }
}

static void part_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct upp_part  *p = into;
    struct upp_media *m;
    switch (name) {
    case 'k':
        if (p->text.p)
            refuse_name(g, v - 1, "the kind of the part before its text");
        p->kind = get_enum(g, v, UPP_PART_RESULT);
        break;
    case 'i':
        p->id = get_str(g, v);
        break;
    case 'n':
        p->name = get_str(g, v);
        break;
    case 'x':
        if (p->kind == UPP_PART_RESULT)
            unknown(g, v);
        p->text = get_str(g, v);
        break;
    case 'j':
        if (p->kind != UPP_PART_RESULT)
            unknown(g, v);
        p->text = get_json(g, v, false);
        break;
    case 'e':
        p->is_error = get_flag(g, v);
        break;
    case 'c':
        p->cut = get_flag(g, v);
        break;
    case 'd':
        p->metadata = get_json(g, v, true);
        break;
    case 'm':
        p->media = m = wb_new(g->a, struct upp_media);
        if (m)
            each_member(g, v, m, media_member);
        break;
    default:
        unknown(g, v);
    }
}

static void get_parts(struct get *g, yyjson_val *v, struct upp_message *m)
{
    yyjson_val *item = NULL;
    size_t      n    = get_items(g, v, WM_PARTS, &item);
    m->parts         = n ? wb_new_n(g->a, struct upp_part, n) : NULL;
    m->n_parts       = m->parts ? n : 0;
    for (size_t i = 0; i < m->n_parts && !g->failed; i++, item = unsafe_yyjson_get_next(item)) {
        m->parts[i].kind = UPP_PART_TEXT;
        each_member(g, item, &m->parts[i], part_member);
    }
}

static void get_refs(struct get *g, yyjson_val *v, struct wm_entry *e)
{
    yyjson_val *item = NULL;
    size_t      n    = get_items(g, v, WM_PARTS, &item);
    e->refs          = n ? wb_new_n(g->a, struct upp_str, n) : NULL;
    e->n_refs        = e->refs ? n : 0;
    for (size_t i = 0; i < e->n_refs; i++, item = unsafe_yyjson_get_next(item))
        e->refs[i] = get_str(g, item);
}

static void entry_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct wm_entry *e = into;
    switch (name) {
    case 'k':
        e->kind = get_enum(g, v, WM_ENTRY_TURN);
        break;
    case 'o':
        e->origin = get_enum(g, v, WM_ORIGIN_IMPORT);
        break;
    case 'a':
        e->audience = get_enum(g, v, WM_AUDIENCE_MODEL);
        break;
    case 'n':
        e->attempt = (uint8_t)get_u64(g, v, 0, WM_ATTEMPTS - 1, "an attempt below 64");
        break;
    case 's':
        e->step = get_u32(g, v);
        break;
    case 'w':
        e->who = get_str(g, v);
        break;
    case 'h':
        e->phase = get_str(g, v);
        break;
    case 'j':
        e->data = get_json(g, v, false);
        break;
    case 'r':
        e->message.role = get_enum(g, v, UPP_ROLE_TOOL);
        break;
    case 'i':
        e->message.id = get_str(g, v);
        break;
    case 't':
        e->message.time_ms = get_time(g, v, g->row->time_ms);
        break;
    case 'z':
        e->message.time_text = get_str(g, v);
        break;
    case 'b':
        e->message.interrupted = get_flag(g, v);
        break;
    case 'd':
        e->message.metadata = get_json(g, v, true);
        break;
    case 'p':
        get_parts(g, v, &e->message);
        break;
    case 'f':
        get_refs(g, v, e);
        break;
    default:
        unknown(g, v);
    }
}

static void get_entries(struct get *g, yyjson_val *v)
{
    struct wm_row *row  = g->row;
    yyjson_val    *item = NULL;
    size_t         n    = get_items(g, v, UINT32_MAX, &item);
    row->entries        = n ? wb_new_n(g->a, struct wm_entry, n) : NULL;
    row->n_entries      = row->entries ? n : 0;
    for (size_t i = 0; i < row->n_entries && !g->failed; i++, item = unsafe_yyjson_get_next(item)) {
        struct wm_entry *e = &row->entries[i];
        e->kind            = WM_ENTRY_MESSAGE;
        e->origin          = WM_ORIGIN_RUN;
        e->audience        = WM_AUDIENCE_ALL;
        e->step            = row->step;
        e->message.time_ms = row->time_ms;
        each_member(g, item, e, entry_member);
        if (e->message.role == 0 && (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR))
            refuse(g, item, "a message with a role");
    }
}

/* ---- Records -------------------------------------------------------------------------------------- */

static void pending_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct wm_pending *p = into;
    switch (name) {
    case 'c':
        p->call = get_str(g, v);
        break;
    case 'n':
        p->name = get_str(g, v);
        break;
    case 'a':
        p->arguments = get_str(g, v);
        break;
    case 'r':
        p->run = get_uuid(g, v);
        break;
    case 'y':
        p->approval = get_flag(g, v);
        break;
    default:
        unknown(g, v);
    }
}

static void get_pending(struct get *g, yyjson_val *v, struct wm_event *ev)
{
    yyjson_val        *item = NULL;
    size_t             n    = get_items(g, v, UINT32_MAX, &item);
    struct wm_pending *p    = n ? wb_new_n(g->a, struct wm_pending, n) : NULL;
    ev->pending             = p;
    ev->n_pending           = p ? n : 0;
    for (size_t i = 0; i < ev->n_pending && !g->failed; i++, item = unsafe_yyjson_get_next(item))
        each_member(g, item, &p[i], pending_member);
}

static void get_usage(struct get *g, yyjson_val *v, struct upp_usage *u)
{
    yyjson_val *item = NULL;
    if (get_items(g, v, 4, &item) != 4) {
        refuse(g, v, "four numbers");
        return;
    }
    u->input       = get_number(g, item);
    u->output      = get_number(g, item + 1);
    u->cache_read  = get_number(g, item + 2);
    u->cache_write = get_number(g, item + 3);
}

/* Which entry it is: they stand before the records. */
static const struct wm_entry *get_entry(struct get *g, yyjson_val *v)
{
    size_t n = g->row->n_entries;
    size_t i = (size_t)get_u64(g, v, 0, n ? n - 1 : 0, "the number of an entry of the row");
    return i < n ? &g->row->entries[i] : NULL;
}

static bool is_json(const struct wm_event *ev)
{
    return ev->kind == WM_RUN || ev->kind == WM_TOOL_ENDED;
}

static void record_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct wm_event *ev = into;
    if (!ev->kind && name != 'k') {
        refuse_name(g, v - 1, "the kind of the record before all else");
        return;
    }
    switch (name) {
    case 'k':
        ev->kind = get_enum(g, v, WM_STEP_START - 1);
        break;
    case 't':
        ev->time_ms = get_time(g, v, g->row->time_ms);
        break;
    case 's':
        ev->step = get_u32(g, v);
        break;
    case 'u':
        ev->status = get_enum(g, v, WM_EXPIRED);
        break;
    case 'o':
        ev->outcome = get_enum(g, v, WM_INVALID);
        break;
    case 'y':
        ev->stop = get_enum(g, v, UPP_STOP_ERROR);
        break;
    case 'e':
        if (!wm_has_entry(ev->kind))
            unknown(g, v);
        ev->entry = get_entry(g, v);
        break;
    case 'c':
        ev->call = get_str(g, v);
        break;
    case 'n':
        ev->name = get_str(g, v);
        break;
    case 'x':
        if (is_json(ev))
            unknown(g, v);
        ev->text = get_str(g, v);
        break;
    case 'j':
        if (!is_json(ev))
            unknown(g, v);
        ev->text = get_json(g, v, false);
        break;
    case 'm':
        ev->ms = get_number(g, v);
        break;
    case 'g':
        get_usage(g, v, &ev->usage);
        break;
    case 'p':
        get_pending(g, v, ev);
        break;
    case 'i':
        if (ev->kind != WM_CHECKPOINT)
            unknown(g, v);
        ev->id = get_uuid(g, v);
        break;
    case 'l':
        ev->last = get_number(g, v);
        break;
    case 'h':
        ev->child = get_uuid(g, v);
        break;
    case 'q':
        ev->child_node = get_number(g, v);
        break;
    default:
        unknown(g, v);
    }
}

/* Is it a record whose result an entry of a history may need? */
static bool is_result(yyjson_val *record)
{
    yyjson_val *kind = yyjson_obj_getn(record, "k", 1);
    return kind && yyjson_is_raw(kind) && wb_str_eq(wj_text(kind), UPP_STR("4"));
}
_Static_assert(WM_TOOL_ENDED == 4, "is_result");

static void get_records(struct get *g, yyjson_val *v)
{
    struct wm_row *row  = g->row;
    yyjson_val    *item = NULL;
    size_t         n    = get_items(g, v, UINT32_MAX, &item);
    row->records        = n ? wb_new_n(g->a, struct wm_event, n) : NULL;
    if (!row->records)
        return;
    for (; n && !g->failed; n--, item = unsafe_yyjson_get_next(item)) {
        if (g->entries_only && !is_result(item))
            continue;
        struct wm_event *ev = &row->records[row->n_records++];
        ev->step            = row->step;
        ev->time_ms         = row->time_ms;
        each_member(g, item, ev, record_member);
        if (!ev->kind)
            refuse(g, item, "a record with a kind");
        if (wm_has_entry(ev->kind) && !ev->entry) {
            ev->entry = row->entries;
            if (!ev->entry)
                refuse(g, item, "an entry in the row");
        }
    }
}

/* ---- The row -------------------------------------------------------------------------------------- */

static void row_member(struct get *g, char name, yyjson_val *v, void *into)
{
    struct wm_row *row = into;
    if (strchr("vcsta", name) && (row->n_entries || row->n_records)) {
        refuse_name(g, v - 1, "entries and records behind step and time");
        return;
    }
    switch (name) {
    case 'v':
        row->event = get_number(g, v);
        break;
    case 'c':
        row->epoch = get_u32(g, v);
        break;
    case 's':
        row->step = get_u32(g, v);
        break;
    case 't':
        row->time_ms = get_time(g, v, 0);
        break;
    case 'a':
        row->agent = get_str(g, v);
        break;
    case 'e':
        if (row->n_records)
            refuse_name(g, v - 1, "entries before records");
        get_entries(g, v);
        break;
    case 'r':
        get_records(g, v);
        break;
    case 'x':
        if (!g->entries_only)
            row->state = get_json(g, v, false);
        break;
    default:
        unknown(g, v);
    }
}

/* What is no JSON is no row either; what is too much stays a limit. */
static int read_value(struct get *g, struct upp_str body)
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
    struct wm_row                         row     = {0};
    struct get g = {.a = a, .scratch = &scratch, .err = err, .row = &row, .entries_only = entries_only};
    if (format != WM_FORMAT)
        return upp_fail(err, UPP_ESTORE, "a row of format %u, which this version does not know", format);
    int r = read_value(&g, body);
    if (r < 0)
        return r;
    each_member(&g, g.root, &row, row_member);
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
    uint64_t      events;
    int           r = read_row(a, format, body, false, &row, err);
    if (r < 0)
        return r;
    row.tape = wb_arena_dup(a, tape);
    r        = wb_arena_check(a, err);
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
