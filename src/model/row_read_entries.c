/* model/row_read_entries.c — the entries of a stored row: messages, their parts and media. */
#include <upp/model.h>

#include "json/value.h"
#include "model/id.h"
#include "model/row_get.h"

static void media_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct upp_media *m = into;
    switch (name) {
    case 's':
        m->source = wm_get_enum(g, v, UPP_SOURCE_TEXT);
        break;
    case 'u':
        m->data = wm_get_str(g, v);
        break;
    case 'm':
        m->mime = wm_get_str(g, v);
        break;
    case 'l':
        m->title = wm_get_str(g, v);
        break;
    case 't':
        m->duration = wm_get_num(g, v);
        break;
    case 'w':
        m->width = wm_get_num(g, v);
        break;
    case 'h':
        m->height = wm_get_num(g, v);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

static void part_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct upp_part *p = into;
    struct upp_media *m;
    switch (name) {
    case 'k':
        if (p->text.p)
            wm_get_refuse_name(g, v - 1, "the kind of the part before its text");
        p->kind = wm_get_enum(g, v, UPP_PART_RESULT);
        break;
    case 'i':
        p->id = wm_get_str(g, v);
        break;
    case 'n':
        p->name = wm_get_str(g, v);
        break;
    case 'x':
        if (p->kind == UPP_PART_RESULT)
            wm_get_unknown(g, v);
        p->text = wm_get_str(g, v);
        break;
    case 'j':
        if (p->kind != UPP_PART_RESULT)
            wm_get_unknown(g, v);
        p->text = wm_get_json(g, v, false);
        break;
    case 'e':
        p->is_error = wm_get_flag(g, v);
        break;
    case 'c':
        p->cut = wm_get_flag(g, v);
        break;
    case 'd':
        p->metadata = wm_get_json(g, v, true);
        break;
    case 'm':
        p->media = m = wb_new(g->a, struct upp_media);
        if (m)
            wm_get_members(g, v, m, media_member);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

static void get_parts(struct wm_get *g, yyjson_val *v, struct upp_message *m)
{
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, WM_PARTS, &item);
    m->parts = n ? wb_new_n(g->a, struct upp_part, n) : NULL;
    m->n_parts = m->parts ? n : 0;
    for (size_t i = 0; i < m->n_parts && !g->failed; i++, item = unsafe_yyjson_get_next(item)) {
        m->parts[i].kind = UPP_PART_TEXT;
        wm_get_members(g, item, &m->parts[i], part_member);
    }
}

static void get_refs(struct wm_get *g, yyjson_val *v, struct wm_entry *e)
{
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, WM_PARTS, &item);
    e->refs = n ? wb_new_n(g->a, struct upp_str, n) : NULL;
    e->n_refs = e->refs ? n : 0;
    for (size_t i = 0; i < e->n_refs; i++, item = unsafe_yyjson_get_next(item))
        e->refs[i] = wm_get_str(g, item);
}

static void entry_member(struct wm_get *g, char name, yyjson_val *v, void *into)
{
    struct wm_entry *e = into;
    switch (name) {
    case 'k':
        e->kind = wm_get_enum(g, v, WM_ENTRY_TURN);
        break;
    case 'o':
        e->origin = wm_get_enum(g, v, WM_ORIGIN_IMPORT);
        break;
    case 'a':
        e->audience = wm_get_enum(g, v, WM_AUDIENCE_MODEL);
        break;
    case 'n':
        e->attempt = (uint8_t)wm_get_u64(g, v, 0, WM_ATTEMPTS - 1, "an attempt below 64");
        break;
    case 's':
        e->step = wm_get_u32(g, v);
        break;
    case 'w':
        e->who = wm_get_str(g, v);
        break;
    case 'h':
        e->phase = wm_get_str(g, v);
        break;
    case 'e':
        e->erased.time_ms = (int64_t)wm_get_u64(g, v, 1, INT64_MAX, "when it was erased");
        break;
    case 'y':
        e->erased.why = wm_get_str(g, v);
        break;
    case 'j':
        e->data = wm_get_json(g, v, false);
        break;
    case 'r':
        e->message.role = wm_get_enum(g, v, UPP_ROLE_TOOL);
        break;
    case 'i':
        e->message.id = wm_get_str(g, v);
        break;
    case 't':
        e->message.time_ms = wm_get_time(g, v, g->row->time_ms);
        break;
    case 'z':
        e->message.time_text = wm_get_str(g, v);
        break;
    case 'b':
        e->message.interrupted = wm_get_flag(g, v);
        break;
    case 'd':
        e->message.metadata = wm_get_json(g, v, true);
        break;
    case 'p':
        get_parts(g, v, &e->message);
        break;
    case 'f':
        get_refs(g, v, e);
        break;
    default:
        wm_get_unknown(g, v);
    }
}

struct wm_entry *wm_get_entries(struct wm_get *g, yyjson_val *v, size_t *ret)
{
    const struct wm_row *row = g->row;
    yyjson_val *item = NULL;
    size_t n = wm_get_items(g, v, UINT32_MAX, &item);
    struct wm_entry *list = n ? wb_new_n(g->a, struct wm_entry, n) : NULL;
    *ret = list ? n : 0;
    for (size_t i = 0; i < *ret && !g->failed; i++, item = unsafe_yyjson_get_next(item)) {
        struct wm_entry *e = &list[i];
        e->kind = WM_ENTRY_MESSAGE;
        e->origin = WM_ORIGIN_RUN;
        e->audience = WM_AUDIENCE_ALL;
        e->step = row->step;
        e->message.time_ms = row->time_ms;
        wm_get_members(g, item, e, entry_member);
        if (e->message.role == 0 && (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR))
            wm_get_refuse(g, item, "a message with a role");
    }
    return list;
}
