/* support/rows.h — rows out of a seed, and whether two rows are the same: for tests and fuzzers of the model. */
#pragma once

#include <upp/model.h>

#include "model/id.h"
#include "model/row.h"

struct rows {
    struct wb_arena *a;
    uint64_t seed;
};

static inline uint32_t rows_draw(struct rows *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

/* WTF-8 of up to `max` pieces; a high half is never followed by a low one. */
static inline struct upp_str rows_text(struct rows *g, uint32_t max)
{
    static const struct upp_str pieces[] = {
        UPP_STR_INIT("a"),
        UPP_STR_INIT("plain text of many bytes. "),
        UPP_STR_INIT("\0"),
        UPP_STR_INIT("\""),
        UPP_STR_INIT("\\"),
        UPP_STR_INIT("\n"),
        UPP_STR_INIT("\xc3\xa9"),
        UPP_STR_INIT("\xe2\x82\xac"),
        UPP_STR_INIT("\xf0\x9f\x98\x80"),
        UPP_STR_INIT("\x7f/"),
        UPP_STR_INIT("\xed\xb8\x80-"),
        UPP_STR_INIT("\xed\xa0\xbd-"),
    };
    struct upp_str pick[16];
    size_t n = rows_draw(g, WB_MIN(max, 15u) + 1), total = 0;
    for (size_t i = 0; i < n; i++) {
        pick[i] = pieces[rows_draw(g, WB_LEN(pieces))];
        total += pick[i].n;
    }
    char *p = wb_arena_alloc(g->a, total + 1, 1), *at = p;
    if (!p)
        return (struct upp_str){0};
    for (size_t i = 0; i < n; at += pick[i++].n)
        memcpy(at, pick[i].p, pick[i].n);
    return wb_str(p, total);
}

static inline struct upp_str rows_maybe(struct rows *g)
{
    return rows_draw(g, 3) ? (struct upp_str){0} : rows_text(g, 3);
}

/* JSON as our writer spells it. */
static inline struct upp_str rows_json(struct rows *g, bool object)
{
    static const struct upp_str values[] = {
        UPP_STR_INIT("null"),         UPP_STR_INIT("true"),       UPP_STR_INIT("-0"),
        UPP_STR_INIT("1.50E+3"),      UPP_STR_INIT("\"\""),       UPP_STR_INIT("\"\\u0000\\ud83d \\n\""),
        UPP_STR_INIT("[]"),           UPP_STR_INIT("[1,[2,{}]]"), UPP_STR_INIT("12345678901234567890123"),
        UPP_STR_INIT("\"\xc3\xa9\""),
    };
    static const struct upp_str objects[] = {
        UPP_STR_INIT("{}"),
        UPP_STR_INIT("{\"anthropic\":{\"signature\":\"abc==\",\"n\":[1,2.0]}}"),
        UPP_STR_INIT("{\"a\":1,\"a\":2,\"\":null}"),
    };
    return object || rows_draw(g, 3) == 0 ? objects[rows_draw(g, WB_LEN(objects))]
                                          : values[rows_draw(g, WB_LEN(values))];
}

static inline struct upp_str rows_maybe_json(struct rows *g, bool object)
{
    return rows_draw(g, 3) ? (struct upp_str){0} : rows_json(g, object);
}

static inline struct upp_str rows_maybe_number(struct rows *g)
{
    static const struct upp_str numbers[] = {{0}, UPP_STR_INIT("0.5"), UPP_STR_INIT("640"), UPP_STR_INIT("1e3")};
    return numbers[rows_draw(g, WB_LEN(numbers))];
}

static inline struct wb_uuid rows_uuid(struct rows *g)
{
    struct wb_uuid u;
    for (size_t i = 0; i < sizeof u.b; i++)
        u.b[i] = (unsigned char)(1 + rows_draw(g, 255));
    return u;
}

static inline uint64_t rows_u64(struct rows *g)
{
    static const uint64_t edges[] = {0, 1, 9, 10, UINT32_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    return edges[rows_draw(g, WB_LEN(edges))];
}

static inline int64_t rows_time(struct rows *g, int64_t usual)
{
    static const int64_t edges[] = {0, 1, -1, 1770091506007, INT64_MAX, INT64_MIN};
    return rows_draw(g, 2) ? usual : edges[rows_draw(g, WB_LEN(edges))];
}

static inline const struct upp_media *rows_media(struct rows *g)
{
    struct upp_media *m = wb_new(g->a, struct upp_media);
    if (m)
        *m = (struct upp_media){.source = (uint8_t)rows_draw(g, UPP_SOURCE_TEXT + 1),
                                .data = rows_maybe(g),
                                .mime = rows_maybe(g),
                                .title = rows_maybe(g),
                                .duration = rows_maybe_number(g),
                                .width = rows_maybe_number(g),
                                .height = rows_maybe_number(g)};
    return m;
}

static inline void rows_part(struct rows *g, struct upp_part *p)
{
    *p = (struct upp_part){.kind = (uint8_t)(1 + rows_draw(g, UPP_PART_RESULT)),
                           .is_error = rows_draw(g, 4) == 0,
                           .cut = rows_draw(g, 4) == 0,
                           .id = rows_maybe(g),
                           .name = rows_maybe(g),
                           .metadata = rows_maybe_json(g, true)};
    if (p->kind == UPP_PART_RESULT)
        p->text = rows_maybe_json(g, false);
    else
        p->text = rows_draw(g, 4) ? rows_text(g, 15) : (struct upp_str){0};
    if (p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY && rows_draw(g, 4))
        p->media = rows_media(g);
}

static inline void rows_entry(struct rows *g, const struct wm_row *row, struct wm_entry *e)
{
    *e = (struct wm_entry){.kind = (uint8_t)(1 + rows_draw(g, WM_ENTRY_TURN)),
                           .origin = (uint8_t)(1 + rows_draw(g, WM_ORIGIN_IMPORT)),
                           .audience = (uint8_t)(1 + rows_draw(g, WM_AUDIENCE_MODEL)),
                           .attempt = (uint8_t)(rows_draw(g, 2) * rows_draw(g, WM_ATTEMPTS)),
                           .step = rows_draw(g, 2) ? row->step : (uint32_t)rows_u64(g),
                           .who = rows_maybe(g),
                           .phase = rows_maybe(g),
                           .data = rows_maybe_json(g, false)};
    if (rows_draw(g, 4) == 0)
        e->erased = (struct wm_erased){.time_ms = 1 + (int64_t)(rows_u64(g) % (INT64_MAX - 1)), .why = rows_maybe(g)};
    e->message = (struct upp_message){.role = (uint8_t)(1 + rows_draw(g, UPP_ROLE_TOOL)),
                                      .interrupted = rows_draw(g, 4) == 0,
                                      .id = rows_maybe(g),
                                      .time_ms = rows_time(g, row->time_ms),
                                      .time_text = rows_maybe(g),
                                      .metadata = rows_maybe_json(g, true),
                                      .n_parts = rows_draw(g, 4)};
    e->message.parts = e->message.n_parts ? wb_new_n(g->a, struct upp_part, e->message.n_parts) : NULL;
    for (size_t i = 0; e->message.parts && i < e->message.n_parts; i++)
        rows_part(g, &e->message.parts[i]);
    e->n_refs = rows_draw(g, 3) ? 0 : rows_draw(g, 4);
    e->refs = e->n_refs ? wb_new_n(g->a, struct upp_str, e->n_refs) : NULL;
    for (size_t i = 0; e->refs && i < e->n_refs; i++)
        e->refs[i] = rows_text(g, 2);
}

static inline void rows_record(struct rows *g, const struct wm_row *row, struct wm_event *ev)
{
    *ev = (struct wm_event){.kind = (uint8_t)(1 + rows_draw(g, WM_VOID)),
                            .step = rows_draw(g, 2) ? row->step : (uint32_t)rows_u64(g),
                            .time_ms = rows_time(g, row->time_ms)};
    if (ev->kind == WM_MESSAGE && row->n_entries == 0)
        ev->kind = WM_VOID;
    struct upp_usage usage = {0};
    if (rows_draw(g, 2))
        usage = (struct upp_usage){rows_u64(g), rows_u64(g), rows_u64(g), rows_u64(g), rows_u64(g)};
    struct upp_str one = rows_maybe(g), two = rows_maybe(g);
    switch (ev->kind) {
    case WM_RUN:
        ev->run = (struct wm_run_event){.status = (uint8_t)rows_draw(g, WM_EXPIRED + 1),
                                        .error = rows_maybe_json(g, false),
                                        .api_key = one,
                                        .answered_by = two,
                                        .waits_ms = rows_u64(g),
                                        .usage = usage};
        break;
    case WM_MESSAGE:
        ev->message = (struct wm_message_event){.stop = (uint8_t)rows_draw(g, UPP_STOP_ERROR + 1),
                                                .entry = &row->entries[rows_draw(g, (uint32_t)row->n_entries)],
                                                .provider = one,
                                                .model = two,
                                                .usage = usage};
        break;
    case WM_TOOL_STARTED:
        ev->call = (struct wm_call_event){one, two};
        ev->tool_started.arguments = rows_maybe(g);
        if (rows_draw(g, 2)) {
            ev->tool_started.child = rows_uuid(g);
            ev->tool_started.child_node = rows_u64(g);
        }
        break;
    case WM_TOOL_ENDED:
        ev->call = (struct wm_call_event){one, two};
        ev->tool_ended = (struct wm_tool_ended){.result = rows_maybe_json(g, false),
                                                .outcome = (uint8_t)rows_draw(g, WM_INVALID + 1),
                                                .ms = rows_u64(g),
                                                .usage = usage,
                                                .model_calls = rows_u64(g)};
        break;
    case WM_STEP_END:
        ev->step_end.usage = usage;
        break;
    case WM_CHECKPOINT:
        ev->checkpoint.id = rows_uuid(g);
        break;
    case WM_VOID:
        ev->voided.last = rows_u64(g);
        break;
    default:
        break;
    }
    if (ev->kind == WM_RUN) {
        size_t n = rows_draw(g, 3);
        struct wm_pending *p = n ? wb_new_n(g->a, struct wm_pending, n) : NULL;
        ev->run.pending = p;
        ev->run.n_pending = p ? n : 0;
        for (size_t i = 0; i < ev->run.n_pending; i++)
            p[i] = (struct wm_pending){.call = rows_maybe(g),
                                       .name = rows_maybe(g),
                                       .arguments = rows_maybe(g),
                                       .run = rows_uuid(g),
                                       .approval = rows_draw(g, 2)};
    }
}

/* A row of all that a row can hold; without a tape. */
static inline void rows_make(struct rows *g, struct wm_row *row)
{
    *row = (struct wm_row){.event = rows_u64(g),
                           .epoch = (uint32_t)rows_u64(g),
                           .step = (uint32_t)rows_u64(g),
                           .time_ms = rows_time(g, 1770091506007),
                           .n_entries = rows_draw(g, 4),
                           .n_records = rows_draw(g, 5),
                           .state = rows_maybe_json(g, false)};
    row->entries = row->n_entries ? wb_new_n(g->a, struct wm_entry, row->n_entries) : NULL;
    row->records = row->n_records ? wb_new_n(g->a, struct wm_event, row->n_records) : NULL;
    row->n_entries = row->entries ? row->n_entries : 0;
    row->n_records = row->records ? row->n_records : 0;
    for (size_t i = 0; i < row->n_entries; i++)
        rows_entry(g, row, &row->entries[i]);
    for (size_t i = 0; i < row->n_records; i++)
        rows_record(g, row, &row->records[i]);
}

/* ---- Are two the same? NULL, or what is not. ------------------------------------------------------------- */

#define ROWS_STR(a, b, m)                                                                                              \
    if (!(a)->m.p != !(b)->m.p || !wb_str_eq((a)->m, (b)->m))                                                          \
    return #m
#define ROWS_NUM(a, b, m)                                                                                              \
    if ((a)->m != (b)->m)                                                                                              \
    return #m

static inline const char *rows_media_differ(const struct upp_media *a, const struct upp_media *b)
{
    if (!a || !b)
        return a == b ? NULL : "media";
    ROWS_NUM(a, b, source);
    ROWS_STR(a, b, data);
    ROWS_STR(a, b, mime);
    ROWS_STR(a, b, title);
    ROWS_STR(a, b, duration);
    ROWS_STR(a, b, width);
    ROWS_STR(a, b, height);
    return NULL;
}

static inline const char *rows_message_differ(const struct upp_message *a, const struct upp_message *b)
{
    ROWS_NUM(a, b, role);
    ROWS_NUM(a, b, interrupted);
    ROWS_STR(a, b, id);
    ROWS_NUM(a, b, time_ms);
    ROWS_STR(a, b, time_text);
    ROWS_STR(a, b, metadata);
    ROWS_NUM(a, b, n_parts);
    for (size_t i = 0; i < a->n_parts; i++) {
        const struct upp_part *p = &a->parts[i], *q = &b->parts[i];
        ROWS_NUM(p, q, kind);
        ROWS_NUM(p, q, is_error);
        ROWS_NUM(p, q, cut);
        ROWS_STR(p, q, id);
        ROWS_STR(p, q, name);
        ROWS_STR(p, q, text);
        ROWS_STR(p, q, metadata);
        const char *media = rows_media_differ(p->media, q->media);
        if (media)
            return media;
    }
    return NULL;
}

static inline const char *rows_entry_differ(const struct wm_entry *a, const struct wm_entry *b)
{
    ROWS_NUM(a, b, kind);
    ROWS_NUM(a, b, origin);
    ROWS_NUM(a, b, audience);
    ROWS_NUM(a, b, attempt);
    ROWS_NUM(a, b, step);
    ROWS_STR(a, b, who);
    ROWS_STR(a, b, phase);
    ROWS_STR(a, b, data);
    ROWS_NUM(a, b, erased.time_ms);
    ROWS_STR(a, b, erased.why);
    ROWS_NUM(a, b, n_refs);
    for (size_t i = 0; i < a->n_refs; i++)
        ROWS_STR(a, b, refs[i]);
    return rows_message_differ(&a->message, &b->message);
}

/* Without `entry`, which is in another row, and `from`. */
static inline const char *rows_usage_differ(const struct upp_usage *a, const struct upp_usage *b)
{
    ROWS_NUM(a, b, input);
    ROWS_NUM(a, b, output);
    ROWS_NUM(a, b, cache_read);
    ROWS_NUM(a, b, cache_write);
    ROWS_NUM(a, b, reasoning);
    return NULL;
}

static inline const char *rows_run_differ(const struct wm_run_event *a, const struct wm_run_event *b)
{
    ROWS_NUM(a, b, status);
    ROWS_STR(a, b, error);
    ROWS_STR(a, b, answered_by);
    ROWS_STR(a, b, api_key);
    ROWS_NUM(a, b, waits_ms);
    ROWS_NUM(a, b, n_pending);
    for (size_t i = 0; i < a->n_pending; i++) {
        ROWS_STR(a, b, pending[i].call);
        ROWS_STR(a, b, pending[i].name);
        ROWS_STR(a, b, pending[i].arguments);
        ROWS_NUM(a, b, pending[i].approval);
        if (!wb_uuid_eq(a->pending[i].run, b->pending[i].run))
            return "pending.run";
    }
    return rows_usage_differ(&a->usage, &b->usage);
}

static inline const char *rows_event_differ(const struct wm_event *a, const struct wm_event *b)
{
    ROWS_NUM(a, b, kind);
    ROWS_NUM(a, b, step);
    ROWS_NUM(a, b, number);
    ROWS_NUM(a, b, time_ms);
    switch (a->kind) {
    case WM_RUN:
        return rows_run_differ(&a->run, &b->run);
    case WM_MESSAGE:
        ROWS_NUM(a, b, message.stop);
        ROWS_STR(a, b, message.model);
        ROWS_STR(a, b, message.provider);
        if (!wb_uuid_eq(a->message.id, b->message.id))
            return "id";
        return rows_usage_differ(&a->message.usage, &b->message.usage);
    case WM_TOOL_STARTED:
        ROWS_STR(a, b, call.id);
        ROWS_STR(a, b, call.name);
        ROWS_STR(a, b, tool_started.arguments);
        ROWS_NUM(a, b, tool_started.child_node);
        return wb_uuid_eq(a->tool_started.child, b->tool_started.child) ? NULL : "child";
    case WM_TOOL_ENDED:
        ROWS_STR(a, b, call.id);
        ROWS_STR(a, b, call.name);
        ROWS_STR(a, b, tool_ended.result);
        ROWS_NUM(a, b, tool_ended.outcome);
        ROWS_NUM(a, b, tool_ended.ms);
        ROWS_NUM(a, b, tool_ended.model_calls);
        return rows_usage_differ(&a->tool_ended.usage, &b->tool_ended.usage);
    case WM_STEP_END:
        if (!wb_uuid_eq(a->step_end.id, b->step_end.id))
            return "id";
        return rows_usage_differ(&a->step_end.usage, &b->step_end.usage);
    case WM_CHECKPOINT:
        return wb_uuid_eq(a->checkpoint.id, b->checkpoint.id) ? NULL : "id";
    case WM_VOID:
        ROWS_NUM(a, b, voided.last);
        return NULL;
    case WM_SYSTEM:
        return wb_uuid_eq(a->system.id, b->system.id) ? NULL : "id";
    case WM_STEP_START:
        ROWS_STR(a, b, step_start.plan_step);
        return wb_uuid_eq(a->step_start.id, b->step_start.id) ? NULL : "id";
    case WM_MESSAGE_OPEN:
        ROWS_STR(a, b, message_open.phase);
        ROWS_NUM(a, b, message_open.aside);
        return wb_uuid_eq(a->message_open.id, b->message_open.id) ? NULL : "id";
    default:
        ROWS_NUM(a, b, part.index);
        ROWS_NUM(a, b, part.kind);
        ROWS_STR(a, b, part.call);
        ROWS_STR(a, b, part.name);
        ROWS_STR(a, b, part.text);
        return NULL;
    }
}

static inline const char *rows_differ(const struct wm_row *a, const struct wm_row *b)
{
    const char *what;
    ROWS_NUM(a, b, event);
    ROWS_NUM(a, b, epoch);
    ROWS_NUM(a, b, step);
    ROWS_NUM(a, b, time_ms);
    ROWS_STR(a, b, state);
    ROWS_STR(a, b, tape);
    ROWS_NUM(a, b, n_entries);
    ROWS_NUM(a, b, n_records);
    for (size_t i = 0; i < a->n_entries; i++)
        if ((what = rows_entry_differ(&a->entries[i], &b->entries[i])))
            return what;
    for (size_t i = 0; i < a->n_records; i++) {
        const struct wm_event *x = &a->records[i], *y = &b->records[i];
        if ((what = rows_event_differ(x, y)))
            return what;
        if (x->kind == WM_MESSAGE && x->message.entry - a->entries != y->message.entry - b->entries)
            return "entry";
    }
    return NULL;
}
