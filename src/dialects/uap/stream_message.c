/* dialects/uap/stream_message.c — model output in UAP's stream: UPP events while a message is streaming, then the
 * reasoning, action or observation that the finished message is. */
#include "base/err.h"
#include "dialects/uap/stream.h"
#include "model/upp_json.h"

static struct upp_str delta_type(uint8_t kind)
{
    switch (kind) {
    case UPP_PART_TEXT:
        return UPP_STR("text_delta");
    case UPP_PART_REASONING:
        return UPP_STR("reasoning_delta");
    case UPP_PART_CALL:
        return UPP_STR("tool_call_delta");
    case UPP_PART_IMAGE:
        return UPP_STR("image_delta");
    case UPP_PART_AUDIO:
        return UPP_STR("audio_delta");
    case UPP_PART_VIDEO:
        return UPP_STR("video_delta");
    default: /* UPP has no delta for documents and other files */
        return wb_cstr(NULL);
    }
}

static bool is_media(uint8_t kind)
{
    return kind >= UPP_PART_IMAGE && kind <= UPP_PART_BINARY;
}

/* Writes a delta up to its text. */
static void delta_begin(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind, struct upp_str call,
                        struct upp_str name)
{
    uap_upp_begin(o, ev, delta_type(kind), index);
    if (kind == UPP_PART_CALL) {
        wd_str(o, "toolCallId", call);
        wd_str(o, "toolName", name);
        wj_write_name(&o->w, UPP_STR("argumentsJson"));
    } else
        wj_write_name(&o->w, is_media(kind) ? UPP_STR("data") : UPP_STR("text"));
}

static void whole_delta(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind, struct upp_str call,
                        struct upp_str name, struct upp_str text)
{
    delta_begin(o, ev, index, kind, call, name);
    wj_write_str(&o->w, text.p ? text : UPP_STR(""));
    uap_upp_end(o);
}

/* A whole medium: its bytes if it has them; for a URL the block stays empty. */
static void whole_media(struct wd_out *o, const struct wm_event *ev, size_t index, uint8_t kind,
                        const struct upp_media *media)
{
    if (media && (media->source == UPP_SOURCE_BASE64 || media->source == UPP_SOURCE_BYTES) && delta_type(kind).p)
        whole_delta(o, ev, index, kind, wb_cstr(NULL), wb_cstr(NULL), media->data);
}

int uap_part_open(struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_part(&v->open, ev, &p, err);
    if (r < 0)
        return r;
    if (is_media(ev->part.kind) && !ev->part.media)
        return 0; /* sent with its message */
    p->shown = true;
    uap_upp_empty(o, ev, UPP_STR("content_block_start"), ev->part.index);
    if (is_media(ev->part.kind)) {
        whole_media(o, ev, ev->part.index, ev->part.kind, ev->part.media);
        return 0;
    }
    if (!delta_type(ev->part.kind).p)
        return 0;
    delta_begin(o, ev, ev->part.index, ev->part.kind, ev->part.call, ev->part.name);
    return wd_open_head(&v->open, p, o, err);
}

/* A call without arguments gets one empty delta, as in libupp's stream. */
static void put_empty_call(struct uap_run *v, const struct wd_part *p, struct wd_out *o)
{
    if (p->kind != UPP_PART_CALL || p->said || !p->n_head)
        return;
    uap_put_delta(v, p, o, UPP_STR(""));
}

int uap_part_close(struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    struct wd_part *p;
    int r = wd_open_find(&v->open, ev, &p, err);
    if (r < 0)
        return r;
    p->state = WD_CLOSED;
    put_empty_call(v, p, o);
    if (p->shown)
        uap_upp_empty(o, ev, UPP_STR("content_block_stop"), ev->part.index);
    return 0;
}

/* A part without events: the tape is gone, or it is a medium. */
static void whole_part(struct wd_out *o, const struct wm_event *ev, size_t index, const struct upp_part *p)
{
    uap_upp_empty(o, ev, UPP_STR("content_block_start"), index);
    if (is_media(p->kind))
        whole_media(o, ev, index, p->kind, p->media);
    else if (delta_type(p->kind).p)
        whole_delta(o, ev, index, p->kind, p->id, p->name, p->text);
    uap_upp_empty(o, ev, UPP_STR("content_block_stop"), index);
}

static int action(struct uap *u, struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    const struct upp_message *m = &ev->message.entry->message;
    bool any = false;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind != UPP_PART_CALL)
            continue;
        int r = uap_remember_call(v, p->id, err);
        if (r < 0)
            return r;
        if (p->cut || o->aside.n)
            continue; /* it will not be executed */
        if (!any) {
            uap_begin_in_step(o, v, ev, "action");
            wj_put_open(&o->w, "toolCalls", '[');
            any = true;
        }
        wj_write_open(&o->w, '{');
        (void)wm_uap_call(&o->w, &u->scratch, &wd_json_opts, p->id, p->name, p->text);
        wd_end(o, '}');
    }
    if (any) {
        wd_end(o, ']');
        uap_end(o);
    }
    return 0;
}

/* A message of the phase `reason`. */
static void reasoning(struct uap *u, const struct uap_run *v, const struct wm_event *ev, struct wd_out *o)
{
    if (!wb_str_eq(ev->message.entry->phase, UPP_STR("reason")))
        return;
    struct upp_str text = wm_message_text(&u->scratch, &ev->message.entry->message);
    if (wb_arena_check(&u->scratch, o->w.err) < 0)
        wj_writer_fail(&o->w, -UPP_ENOMEM);
    uap_begin_in_step(o, v, ev, "reasoning");
    wd_str(o, "text", text.p ? text : UPP_STR(""));
    uap_end(o);
    wb_arena_reset(&u->scratch);
}

void uap_observation(struct uap *u, const struct uap_run *v, const struct wm_event *ev, const struct wm_entry *results,
                     struct wd_out *o)
{
    uap_begin_in_step(o, v, ev, "observation");
    wm_uap_results(&o->w, &u->scratch, &wd_json_opts, &results->message);
    uap_end(o);
}

int uap_message(struct uap *u, struct uap_run *v, const struct wm_event *ev, struct wd_out *o, struct upp_err *err)
{
    if (ev->message.entry && ev->message.entry->message.role == UPP_ROLE_TOOL)
        uap_observation(u, v, ev, ev->message.entry, o);
    if (!ev->message.entry || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
        return 0; /* input is not model output */
    const struct upp_message *m = &ev->message.entry->message;
    if (!v->open.open)
        uap_upp_empty(o, ev, UPP_STR("message_start"), 0);
    for (size_t i = 0; i < WB_MAX(m->n_parts, v->open.parts.n); i++) {
        struct wd_part *p = wd_open_at(&v->open, i);
        if (p && p->shown) {
            if (p->state != WD_OPEN)
                continue;
            put_empty_call(v, p, o);
            uap_upp_empty(o, ev, UPP_STR("content_block_stop"), i);
        } else if (i < m->n_parts)
            whole_part(o, ev, i, &m->parts[i]);
    }
    uap_upp_empty(o, ev, UPP_STR("message_stop"), 0);
    wd_open_end(&v->open);
    v->calls.n = 0;
    wb_arena_reset(&v->ids);
    reasoning(u, v, ev, o);
    return action(u, v, ev, o, err);
}
