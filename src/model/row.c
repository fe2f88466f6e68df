/* model/row.c — a row to bytes: format 1.
 *
 * Compact JSON, members in the order of this table, one letter each. A member with its default value, which is in
 * parentheses, is omitted. Texts are strings (WTF-8; a lone surrogate is an escape); "JSON" is a value, unchanged.
 *
 * row      v number of its first event (0)    c epoch (0)          s step (0)        t time, ms since 1970 (0)
 *          a agent, after a handoff (none)    e entries (none)     r records (none)  x state: JSON (none)
 *          b sidecars (none)                  l voided message: a list of one entry (none)
 * entry    k kind (1 message) 2 event 3 repair 4 turn              o origin (1 run) 2 client 3 import
 *          a audience (1 all) 2 run 3 model   n attempt (0)        s step (the row's)
 *          w who (none)                       h phase (none)       j data: JSON (none)
 *          r role (none) 1 user 2 assistant 3 tool                 i id of the message (none)
 *          t time, minus the row's (0)        z time as text (none)
 *          b 1: interrupted                   d metadata: JSON object (none)
 *          p parts (none)                     f refs: ids of calls (none)
 *          e time of erasure, ms since 1970 (0: not erased)         y why (none)
 * part     k kind (1 text) 2 reasoning 3 image 4 document 5 audio 6 video 7 binary 8 call 9 result
 *          i id of the call (none)            n name (none)        x text; arguments of a call (none)
 *          j result: JSON (none)              e 1: error           c 1: cut
 *          d metadata: JSON object (none)     m medium (none)
 * medium   s source (0) 1 base64 2 bytes 3 url 4 text              u data (none)     m MIME type (none)
 *          l title (none)                     t duration           w width           h height: numbers (none)
 * record   k kind: 1 run 2 message 3 tool started 4 tool ended 5 step end 6 checkpoint 7 void 8 system event
 *          9 approved
 *          t time, minus the row's (0)        s step (the row's)
 *          u status of a run (0) 1 queued 2 running 3 waiting 4 canceling 5 completed 6 failed 7 canceled 8 expired
 *          o outcome of a tool (0) 1 done 2 error 3 unknown 4 denied 5 stopped 6 invalid
 *          y stop of a message (0) 1 end 2 length 3 tools 4 filter 5 error
 *          e which entry of the row a message or system event is (0)
 *          c call; provider of a message; API key of answers to a run (none)
 *          n name; model of a message; who answered a run (none)
 *          x arguments of a call (none)       j result of a tool, error of a run: JSON (none)
 *          m duration of a tool, or of the wait of a run, ms (0)
 *          g usage: [input, output, cache read, cache write] (all 0), then reasoning (0)
 *          p pending calls (none)             i id of a checkpoint: 32 hex digits (all zero)
 *          l last record before a void, model calls of a child that ended (0)
 *          h child run: 32 hex digits (all zero)   q its node (0)
 * pending  c call  n name  a arguments: texts (none)               r run: 32 hex digits (all zero)
 *          y 1: an approval                   t since when it waits, minus the row's time (0)
 * sidecar  e first entry in the row (0)       n how many entries (0)                 g 1: the thread's
 *          d dialect (none)                   l slot (none)        x text (none)
 */
#include <upp/model.h>

#include "base/err.h"
#include "json/number.h"
#include "json/read.h"
#include "json/write.h"
#include "model/id.h"
#include "model/row_get.h"

/* A writer that tracks its position, for errors. */
struct put {
    struct wj_writer w;
    const struct wm_row *row;
    struct upp_err *err;
    char list;   /* 'e', 'r', 'b', 'l', or 0: the row itself */
    size_t i;    /* in the list */
    size_t part; /* of the entry; SIZE_MAX: the entry itself */
    char member;
    bool placed;
};

static bool has_failed(struct put *p)
{
    return p->w.out->failed;
}

/* Records the first failure. */
static void refuse(struct put *p, int r)
{
    if (has_failed(p))
        return;
    wj_writer_fail(&p->w, r);
}

static void set_where(struct put *p)
{
    char text[96];
    int n = 0;
    if (p->list && p->part != SIZE_MAX)
        n = snprintf(text, sizeof text, "/%c/%zu/p/%zu/%c", p->list, p->i, p->part, p->member);
    else if (p->list)
        n = snprintf(text, sizeof text, "/%c/%zu/%c", p->list, p->i, p->member);
    else
        n = snprintf(text, sizeof text, "/%c", p->member);
    wb_err_where(p->err, wb_str(text, (size_t)n));
}

/* ---- Members -------------------------------------------------------------------------------------- */

static inline void name(struct put *p, char c)
{
    struct wb_buf *b = p->w.out;
    if (!wj_room(&p->w, 5))
        return;
    char *to = b->p + b->n;
    if (p->w.comma)
        *to++ = ',';
    to[0] = '"';
    to[1] = c;
    to[2] = '"';
    to[3] = ':';
    b->n = (size_t)(to + 4 - b->p);
    p->w.comma = false;
    p->member = c;
}

static inline void put_u64(struct put *p, char c, uint64_t v, uint64_t usual)
{
    if (v != usual) {
        name(p, c);
        wj_write_u64(&p->w, v);
    }
}

/* Writes only the difference of two times, and only if there is one. It wraps around, so any two work. */
static inline void put_time(struct put *p, int64_t ms, int64_t usual)
{
    if (ms != usual) {
        name(p, 't');
        wj_write_i64(&p->w, (int64_t)((uint64_t)ms - (uint64_t)usual));
    }
}

static inline void put_flag(struct put *p, char c, bool v)
{
    put_u64(p, c, v, 0);
}

static void put_enum(struct put *p, char c, uint8_t v, uint8_t usual, uint8_t last)
{
    if (v > last)
        p->member = c, refuse(p, upp_fail(p->err, UPP_EINVALID, "expected at most %u, found %u", last, v));
    else
        put_u64(p, c, v, usual);
}

static inline void put_str(struct put *p, char c, struct upp_str s)
{
    if (s.p) {
        name(p, c);
        wj_write_str(&p->w, s);
    }
}

static void put_num(struct put *p, char c, struct upp_str s)
{
    if (s.p) {
        name(p, c);
        wj_write_num(&p->w, s);
    }
}

/* Writes JSON unchanged. Checks it first, because an unreadable row would be lost. */
static void put_json(struct put *p, char c, struct upp_str s, bool object)
{
    struct wj_syntax seen;
    if (!s.p)
        return;
    name(p, c);
    int r = wj_syntax(s, WJ_MAX_DEPTH, &seen, p->err);
    if (r == 0 && object && wb_str_trim(s).p[0] != '{')
        r = upp_fail(p->err, UPP_EINVALID, "expected an object");
    if (r < 0)
        refuse(p, r);
    else
        wj_write_raw(&p->w, s.p, s.n);
}

static void put_uuid(struct put *p, char c, struct wb_uuid u)
{
    char text[WB_UUID_HEX + 1];
    if (!wb_uuid_is_nil(u)) {
        name(p, c);
        wj_write_str(&p->w, wb_uuid_hex(u, text));
    }
}

/* ---- Entries -------------------------------------------------------------------------------------- */

static void put_media(struct put *p, const struct upp_media *m)
{
    name(p, 'm');
    wj_write_open(&p->w, '{');
    put_enum(p, 's', m->source, 0, UPP_SOURCE_TEXT);
    put_str(p, 'u', m->data);
    put_str(p, 'm', m->mime);
    put_str(p, 'l', m->title);
    put_num(p, 't', m->duration);
    put_num(p, 'w', m->width);
    put_num(p, 'h', m->height);
    wj_write_close(&p->w, '}');
}

static void put_part(struct put *p, const struct upp_part *part)
{
    wj_write_open(&p->w, '{');
    p->member = 'k';
    if (part->kind == 0)
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected a part with a kind"));
    put_enum(p, 'k', part->kind, UPP_PART_TEXT, UPP_PART_RESULT);
    put_str(p, 'i', part->id);
    put_str(p, 'n', part->name);
    if (part->kind == UPP_PART_RESULT)
        put_json(p, 'j', part->text, false);
    else
        put_str(p, 'x', part->text);
    put_flag(p, 'e', part->is_error);
    put_flag(p, 'c', part->cut);
    put_json(p, 'd', part->metadata, true);
    if (part->media)
        put_media(p, part->media);
    wj_write_close(&p->w, '}');
}

static void put_message(struct put *p, const struct upp_message *m)
{
    put_enum(p, 'r', m->role, 0, UPP_ROLE_TOOL);
    put_str(p, 'i', m->id);
    put_time(p, m->time_ms, p->row->time_ms);
    put_str(p, 'z', m->time_text);
    put_flag(p, 'b', m->interrupted);
    put_json(p, 'd', m->metadata, true);
    if (m->n_parts == 0)
        return;
    name(p, 'p');
    if (m->n_parts > WM_PARTS)
        refuse(p, upp_fail(p->err, UPP_ELIMIT, "expected at most %d parts, found %zu", WM_PARTS, m->n_parts));
    wj_write_open(&p->w, '[');
    for (p->part = 0; p->part < m->n_parts && !has_failed(p); p->part++)
        put_part(p, &m->parts[p->part]);
    if (!has_failed(p))
        p->part = SIZE_MAX;
    else
        p->part--;
    wj_write_close(&p->w, ']');
}

static void put_entry(struct put *p, const struct wm_entry *e)
{
    bool says = e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR;
    wj_write_open(&p->w, '{');
    p->member = 'k';
    if (e->kind == 0 || e->origin == 0 || e->audience == 0 || (says && e->message.role == 0))
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected an entry with kind, origin, audience and role"));
    if (e->attempt >= WM_ATTEMPTS)
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected an attempt below %d, found %u", WM_ATTEMPTS, e->attempt));
    if (e->erased.time_ms < 0)
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected an entry that was erased after 1970"));
    put_enum(p, 'k', e->kind, WM_ENTRY_MESSAGE, WM_ENTRY_TURN);
    put_enum(p, 'o', e->origin, WM_ORIGIN_RUN, WM_ORIGIN_IMPORT);
    put_enum(p, 'a', e->audience, WM_AUDIENCE_ALL, WM_AUDIENCE_MODEL);
    put_u64(p, 'n', e->attempt, 0);
    put_u64(p, 's', e->step, p->row->step);
    put_str(p, 'w', e->who);
    put_str(p, 'h', e->phase);
    put_u64(p, 'e', (uint64_t)e->erased.time_ms, 0);
    put_str(p, 'y', e->erased.why);
    put_json(p, 'j', e->data, false);
    put_message(p, &e->message);
    if (e->n_refs && !has_failed(p)) {
        name(p, 'f');
        if (e->n_refs > WM_PARTS)
            refuse(p, upp_fail(p->err, UPP_ELIMIT, "expected at most %d refs, found %zu", WM_PARTS, e->n_refs));
        wj_write_open(&p->w, '[');
        for (size_t i = 0; i < e->n_refs && !has_failed(p); i++)
            wj_write_str(&p->w, e->refs[i].p ? e->refs[i] : UPP_STR(""));
        wj_write_close(&p->w, ']');
    }
    wj_write_close(&p->w, '}');
}

/* ---- Records -------------------------------------------------------------------------------------- */

static void put_usage(struct put *p, const struct upp_usage *u)
{
    if (!u->input && !u->output && !u->cache_read && !u->cache_write && !u->reasoning)
        return;
    name(p, 'g');
    wj_write_open(&p->w, '[');
    wj_write_u64(&p->w, u->input);
    wj_write_u64(&p->w, u->output);
    wj_write_u64(&p->w, u->cache_read);
    wj_write_u64(&p->w, u->cache_write);
    if (u->reasoning)
        wj_write_u64(&p->w, u->reasoning);
    wj_write_close(&p->w, ']');
}

static void put_pending(struct put *p, const struct wm_event *ev)
{
    if (ev->run.n_pending == 0)
        return;
    name(p, 'p');
    wj_write_open(&p->w, '[');
    for (size_t i = 0; i < ev->run.n_pending && !has_failed(p); i++) {
        const struct wm_pending *at = &ev->run.pending[i];
        wj_write_open(&p->w, '{');
        put_str(p, 'c', at->call);
        put_str(p, 'n', at->name);
        put_str(p, 'a', at->arguments);
        put_uuid(p, 'r', at->run);
        put_flag(p, 'y', at->approval);
        put_time(p, at->since_ms, p->row->time_ms);
        wj_write_close(&p->w, '}');
    }
    wj_write_close(&p->w, ']');
}

#define AT(member) offsetof(struct wm_event, member)

const struct wm_record_member *wm_record_members(uint8_t kind)
{
    static const struct wm_record_member run[] = {
        {'u', WM_ENUM, WM_EXPIRED, AT(run.status)}, {'c', WM_TEXT, 0, AT(run.api_key)},
        {'n', WM_TEXT, 0, AT(run.answered_by)},     {'j', WM_JSON, 0, AT(run.error)},
        {'m', WM_NUMBER, 0, AT(run.waits_ms)},      {'g', WM_USAGE, 0, AT(run.usage)},
        {'p', WM_PENDING, 0, AT(run.pending)},      {0}};
    static const struct wm_record_member message[] = {{'y', WM_ENUM, UPP_STOP_ERROR, AT(message.stop)},
                                                      {'e', WM_ENTRY, 0, AT(message.entry)},
                                                      {'c', WM_TEXT, 0, AT(message.provider)},
                                                      {'n', WM_TEXT, 0, AT(message.model)},
                                                      {'g', WM_USAGE, 0, AT(message.usage)},
                                                      {0}};
    static const struct wm_record_member tool_started[] = {{'c', WM_TEXT, 0, AT(call.id)},
                                                           {'n', WM_TEXT, 0, AT(call.name)},
                                                           {'x', WM_TEXT, 0, AT(tool_started.arguments)},
                                                           {'h', WM_UUID, 0, AT(tool_started.child)},
                                                           {'q', WM_NUMBER, 0, AT(tool_started.child_node)},
                                                           {0}};
    static const struct wm_record_member tool_ended[] = {{'o', WM_ENUM, WM_INVALID, AT(tool_ended.outcome)},
                                                         {'c', WM_TEXT, 0, AT(call.id)},
                                                         {'n', WM_TEXT, 0, AT(call.name)},
                                                         {'j', WM_JSON, 0, AT(tool_ended.result)},
                                                         {'m', WM_NUMBER, 0, AT(tool_ended.ms)},
                                                         {'g', WM_USAGE, 0, AT(tool_ended.usage)},
                                                         {'l', WM_NUMBER, 0, AT(tool_ended.model_calls)},
                                                         {0}};
    static const struct wm_record_member step_end[] = {{'g', WM_USAGE, 0, AT(step_end.usage)}, {0}};
    static const struct wm_record_member checkpoint[] = {{'i', WM_UUID, 0, AT(checkpoint.id)}, {0}};
    static const struct wm_record_member voided[] = {{'l', WM_NUMBER, 0, AT(voided.last)}, {0}};
    static const struct wm_record_member system[] = {{'e', WM_ENTRY, 0, AT(system.entry)}, {0}};
    static const struct wm_record_member approved[] = {
        {'c', WM_TEXT, 0, AT(call.id)}, {'n', WM_TEXT, 0, AT(call.name)}, {0}};
    static const struct wm_record_member none[] = {{0}};
    static const struct wm_record_member *const members[] = {
        none, run, message, tool_started, tool_ended, step_end, checkpoint, voided, system, approved,
    };
    _Static_assert(WB_LEN(members) == WM_STEP_START, "a list for every kind of record");
    return members[wm_is_record(kind) ? kind : 0];
}

/* The index of the entry that a record refers to. */
static void put_entry_index(struct put *p, const struct wm_entry *e)
{
    for (size_t i = 0; i < p->row->n_entries; i++)
        if (e == &p->row->entries[i]) {
            put_u64(p, 'e', i, 0);
            return;
        }
    p->member = 'e';
    refuse(p, upp_fail(p->err, UPP_EINVALID, "expected an entry of the same row"));
}

static void put_record(struct put *p, const struct wm_event *ev)
{
    wj_write_open(&p->w, '{');
    p->member = 'k';
    if (ev->kind == 0 || !wm_is_record(ev->kind))
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected a record, found an event of kind %u", ev->kind));
    put_u64(p, 'k', ev->kind, 0);
    put_time(p, ev->time_ms, p->row->time_ms);
    put_u64(p, 's', ev->step, p->row->step);
    for (const struct wm_record_member *m = wm_record_members(ev->kind); m->name; m++) {
        const void *at = (const char *)ev + m->at;
        switch (m->type) {
        case WM_ENUM:
            put_enum(p, m->name, *(const uint8_t *)at, 0, m->max);
            break;
        case WM_TEXT:
            put_str(p, m->name, *(const struct upp_str *)at);
            break;
        case WM_JSON:
            put_json(p, m->name, *(const struct upp_str *)at, false);
            break;
        case WM_NUMBER:
            put_u64(p, m->name, *(const uint64_t *)at, 0);
            break;
        case WM_USAGE:
            put_usage(p, at);
            break;
        case WM_UUID:
            put_uuid(p, m->name, *(const struct wb_uuid *)at);
            break;
        case WM_ENTRY:
            put_entry_index(p, *(const struct wm_entry *const *)at);
            break;
        case WM_PENDING:
            put_pending(p, ev);
            break;
        }
    }
    wj_write_close(&p->w, '}');
}

/* ---- The row -------------------------------------------------------------------------------------- */

static void put_lists(struct put *p, const struct wm_row *row)
{
    if (row->n_entries && !has_failed(p)) {
        name(p, 'e');
        wj_write_open(&p->w, '[');
        p->list = 'e';
        for (p->i = 0; p->i < row->n_entries && !has_failed(p); p->i++)
            put_entry(p, &row->entries[p->i]);
        wj_write_close(&p->w, ']');
    }
    if (row->n_records && !has_failed(p)) {
        name(p, 'r');
        wj_write_open(&p->w, '[');
        p->list = 'r';
        for (p->i = 0; p->i < row->n_records && !has_failed(p); p->i++)
            put_record(p, &row->records[p->i]);
        wj_write_close(&p->w, ']');
    }
    if (!has_failed(p))
        p->list = 0;
    else
        p->i--; /* the loop counted on after the failure */
}

static void put_sidecars(struct put *p, const struct wm_row *row)
{
    name(p, 'b');
    wj_write_open(&p->w, '[');
    p->list = 'b';
    for (p->i = 0; p->i < row->n_beside && !has_failed(p); p->i++) {
        const struct wm_sidecar *b = &row->beside[p->i];
        wj_write_open(&p->w, '{');
        if (!b->thread && b->entry >= row->n_entries)
            p->member = 'e', refuse(p, upp_fail(p->err, UPP_EINVALID, "expected an entry of the same row"));
        put_u64(p, 'e', b->entry, 0);
        put_u64(p, 'n', b->entries, 0);
        put_flag(p, 'g', b->thread);
        put_str(p, 'd', b->dialect);
        put_str(p, 'l', b->slot);
        put_str(p, 'x', b->text);
        wj_write_close(&p->w, '}');
    }
    wj_write_close(&p->w, ']');
    if (has_failed(p))
        p->i--;
    else
        p->list = 0;
}

static void put_lost(struct put *p, const struct wm_row *row)
{
    name(p, 'l');
    if (!row->n_records || row->records[0].kind != WM_VOID) {
        refuse(p, upp_fail(p->err, UPP_EINVALID, "expected a void as the first record"));
        return;
    }
    wj_write_open(&p->w, '[');
    p->list = 'l';
    p->i = 0;
    put_entry(p, row->lost);
    wj_write_close(&p->w, ']');
    if (!has_failed(p))
        p->list = 0;
}

int wm_row_write(const struct wm_row *row, struct wb_buf *out, struct upp_err *err)
{
    struct put p = {.row = row, .err = err, .part = SIZE_MAX};
    size_t from = out->n;
    wj_writer_init(&p.w, out, err);
    wj_write_open(&p.w, '{');
    put_u64(&p, 'v', row->event, 0);
    put_u64(&p, 'c', row->epoch, 0);
    put_u64(&p, 's', row->step, 0);
    put_time(&p, row->time_ms, 0);
    put_str(&p, 'a', row->agent);
    put_lists(&p, row);
    if (!has_failed(&p))
        put_json(&p, 'x', row->state, false);
    if (row->n_beside && !has_failed(&p))
        put_sidecars(&p, row);
    if (row->lost && !has_failed(&p))
        put_lost(&p, row);
    wj_write_close(&p.w, '}');
    int r = wj_writer_check(&p.w);
    if (r < 0)
        set_where(&p);
    else if (out->n - from > WM_ROW_MAX)
        r = upp_fail(err, UPP_ELIMIT, "expected a row of at most %d bytes, found %zu", WM_ROW_MAX, out->n - from);
    return r;
}
