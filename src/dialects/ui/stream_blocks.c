/* dialects/ui/stream_blocks.c — model output as blocks of a UI message stream. */
#include "dialects/ui/stream.h"

#include <stdio.h>

#include "model/id.h"

/* A block's id is that of its part. */
static struct upp_str part_id(struct wb_uuid entry, size_t index, char out[64])
{
    struct wm_id id;
    if (wm_id_parse(entry, &id)) {
        id.noun = WM_NOUN_PART;
        id.part = (uint16_t)index;
        return wb_uuid_text(wm_id_uuid(id), out);
    }
    (void)wb_uuid_text(entry, out);
    int n = snprintf(out + WB_UUID_TEXT, 64 - WB_UUID_TEXT, ".%zu", index);
    return wb_str(out, WB_UUID_TEXT + (size_t)n);
}

/* Begins "text-start" and similar chunks. */
static void block(struct wd_out *o, struct wb_uuid entry, size_t index, uint8_t kind, const char *what)
{
    char id[64], type[32];
    (void)snprintf(type, sizeof type, "%s-%s", kind == UPP_PART_TEXT ? "text" : "reasoning", what);
    ui_chunk(o, type);
    wd_str(o, "id", part_id(entry, index, id));
}

static bool is_block(uint8_t kind)
{
    return kind == UPP_PART_TEXT || kind == UPP_PART_REASONING;
}

static void end_block(struct ui *u, struct wd_out *o, size_t index)
{
    struct wd_part *p = &u->open.parts.p[index];
    p->state = WD_CLOSED;
    if (is_block(p->kind) && p->shown) {
        block(o, u->open.entry, index, p->kind, "end");
        wd_frame_close(o, UPP_STR("}"));
    }
}

void ui_end_blocks(struct ui *u, struct wd_out *o, const char *why)
{
    for (size_t i = 0; u->open.open && i < u->open.parts.n; i++)
        if (u->open.parts.p[i].state == WD_OPEN)
            end_block(u, o, i);
    wd_open_end(&u->open);
    for (size_t i = 0; i < u->calls.list.n; i++)
        if (u->calls.list.p[i]->state == UI_CALL_STREAMING)
            ui_call_bad(u, o, u->calls.list.p[i], UPP_STR(""), why);
}

static uint8_t aside_of(bool aside, struct upp_str phase)
{
    return !aside ? UI_OUTPUT : wb_str_eq(phase, UPP_STR("reason")) ? UI_REASONING : UI_HIDDEN;
}

/* The kind that a part is sent as. */
static uint8_t shown_as(const struct ui *u, uint8_t kind)
{
    return u->aside == UI_REASONING && kind == UPP_PART_TEXT ? UPP_PART_REASONING : kind;
}

/* False: the part is hidden. Calls of scaffolding are sent only when their tools run, if at all. */
static bool is_shown(const struct ui *u, uint8_t kind)
{
    return u->aside == UI_OUTPUT || (u->aside == UI_REASONING && kind != UPP_PART_CALL);
}

int ui_message_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    bool open = u->open.open; /* then wd_open_begin refuses the event */
    if (!open)
        u->aside = aside_of(ev->message_open.aside, ev->message_open.phase);
    if (!open && u->aside != UI_HIDDEN)
        ui_to_fresh_step(u, ev, o);
    return wd_open_begin(&u->open, ev, err);
}

int ui_part_open(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    struct wd_call *c;
    int r = wd_open_part(&u->open, ev, &p, err);
    if (r < 0 || !is_shown(u, ev->part.kind))
        return r;
    p->kind = shown_as(u, ev->part.kind);
    if (is_block(p->kind)) {
        block(o, u->open.entry, ev->part.index, p->kind, "start");
        wd_frame_close(o, UPP_STR("}"));
        block(o, u->open.entry, ev->part.index, p->kind, "delta");
        wj_write_name(&o->w, UPP_STR("delta"));
    } else if (ev->part.kind == UPP_PART_CALL && (c = ui_call_add(u, o, ev->part.call, ev->part.name))) {
        if (c->state != UI_CALL_NEW)
            ui_bug(o, ev, "made twice", ev->part.call);
        ui_call_streams(c, o);
        ui_chunk(o, "tool-input-delta");
        wd_str(o, "toolCallId", ev->part.call);
        wj_write_name(&o->w, UPP_STR("inputTextDelta"));
    } else {
        p->shown = ev->part.media != NULL;
        if (ev->part.media)
            ui_file(u, o, ev->part.media);
        return 0;
    }
    p->shown = true;
    return wd_open_head(&u->open, p, o, err);
}

int ui_delta(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&u->open, ev, &p, err);
    if (WB_UNLIKELY(r < 0 || !p->n_head))
        return r;
    wd_frame_open(o, wd_open_head_of(&u->open, p));
    wj_write_str(&o->w, ev->part.text.p ? ev->part.text : UPP_STR(""));
    wd_frame_close(o, UPP_STR("}"));
    return 0;
}

int ui_part_close(struct ui *u, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&u->open, ev, &p, err);
    if (r == 0)
        end_block(u, o, ev->part.index);
    return r;
}

/* A part without events of its own: the tape is gone, or it is media. */
static void whole_part(struct ui *u, const struct wm_event *ev, struct wd_out *o, size_t index,
                       const struct upp_part *p)
{
    uint8_t kind = shown_as(u, p->kind);
    if (is_block(kind)) {
        block(o, ev->message.id, index, kind, "start");
        wd_frame_close(o, UPP_STR("}"));
        block(o, ev->message.id, index, kind, "delta");
        wd_str(o, "delta", p->text);
        wd_frame_close(o, UPP_STR("}"));
        block(o, ev->message.id, index, kind, "end");
        wd_frame_close(o, UPP_STR("}"));
    } else if (p->media)
        ui_file(u, o, p->media);
}

/* Calls come last: the client may act on a call as soon as it is complete. */
static void message_calls(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    const struct upp_message *m = &ev->message.entry->message;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        struct wd_call *c = p->kind == UPP_PART_CALL ? ui_call_add(u, o, p->id, p->name) : NULL;
        if (c && c->state > UI_CALL_STREAMING)
            ui_bug(o, ev, "made twice", p->id);
        else if (c && p->cut)
            ui_call_bad(u, o, c, p->text, "cut off");
        else if (c)
            ui_call_ready(u, o, c, p->text);
    }
}

void ui_message(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (!ev->message.entry || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
        return; /* only assistant messages are model output */
    const struct upp_message *m = &ev->message.entry->message;
    if (!u->open.open)
        u->aside = aside_of(ev->message.entry->audience == WM_AUDIENCE_RUN, ev->message.entry->phase);
    if (u->aside == UI_HIDDEN) {
        wd_open_end(&u->open);
        return;
    }
    if (!u->open.open)
        ui_to_fresh_step(u, ev, o);
    for (size_t i = 0; i < WB_MAX(m->n_parts, u->open.parts.n); i++) {
        struct wd_part *p = wd_open_at(&u->open, i);
        if (p && p->shown) {
            if (p->state == WD_OPEN)
                end_block(u, o, i);
        } else if (i < m->n_parts)
            whole_part(u, ev, o, i, &m->parts[i]);
    }
    if (u->aside == UI_OUTPUT) {
        message_calls(u, ev, o);
        u->stop = ev->message.stop;
    }
    ui_end_blocks(u, o, "cut off");
    u->no_reset = true;
}

/* 7 can reset a step. 5 and 6 can only end what is open; the next attempt follows it. */
void ui_attempt_void(struct ui *u, const struct wm_event *ev, struct wd_out *o)
{
    if (!u->open.open) {       /* nothing of the attempt was sent here, or it was a child's */
        if (ev->voided.unseen) /* but an earlier connection may have sent it: makes the client forget its open blocks */
            ui_simple(o, u->target < 7 ? UPP_STR("{\"type\":\"finish-step\"}") : UPP_STR("{\"type\":\"reset-step\"}"));
        return;
    }
    if (u->aside == UI_HIDDEN)
        wd_open_end(&u->open);
    else if (u->target < 7) {
        ui_end_blocks(u, o, "taken back");
        u->voided = true;
    } else {
        ui_simple(o, UPP_STR("{\"type\":\"reset-step\"}"));
        wd_open_end(&u->open);
    }
    for (size_t i = u->calls.list.n; i-- > 0;)
        if (u->calls.list.p[i]->state == UI_CALL_STREAMING || u->calls.list.p[i]->state == UI_CALL_BAD)
            wd_calls_drop(&u->calls, u->calls.list.p[i]);
}
