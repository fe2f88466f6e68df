/* dialects/ui/stream_chunks.c — chunks of the UI message stream that are valid at any stage. */
#include <inttypes.h>

#include "dialects/core/data_url.h"
#include "dialects/ui/stream.h"
#include "json/read.h"
#include "json/value.h"

enum { SYSTEM_MAX = 64 << 20 }; /* json/read.h: up to 13 bytes of memory per byte of JSON; an event has at most 1 MiB */

void ui_chunk(struct wd_out *o, const char *type)
{
    wd_frame_open(o, UPP_STR("{"));
    wd_str(o, "type", wb_cstr(type));
}

/* Our writer escapes no letter of a name, and every quote inside a string: if these bytes do not occur, there is no
 * such member. A false positive is possible and harmless. */
static bool forbidden(struct upp_str json)
{
    return wb_str_find(json, UPP_STR("\"__proto__\":"), 0) != SIZE_MAX ||
           (wb_str_find(json, UPP_STR("\"constructor\":"), 0) != SIZE_MAX &&
            wb_str_find(json, UPP_STR("\"prototype\":"), 0) != SIZE_MAX);
}

/* Moves the output since `from` to u->text. */
static struct upp_str move_to_text(struct ui *u, struct wd_out *o, size_t from)
{
    struct wb_buf *b = o->w.out;
    wb_buf_clear(&u->text);
    if (b->failed)
        return UPP_STR("");
    wb_buf_add(&u->text, wb_str(b->p + from, b->n - from));
    b->n = from;
    if (u->text.failed)
        wj_writer_fail(&o->w, wb_buf_check(&u->text, o->w.err));
    return wb_buf_str(&u->text);
}

bool ui_value(struct ui *u, struct wd_out *o, const char *name, struct upp_str text)
{
    struct wb_buf *b = o->w.out;
    size_t before = b->n;
    wj_write_name(&o->w, wb_cstr(name));
    size_t from = b->n;
    if (!wd_json(o, &u->scratch, text)) {
        if (!b->failed)
            b->n = before;
        wd_more(o);
        return false;
    }
    if (!b->failed && forbidden(wb_str(b->p + from, b->n - from))) {
        struct upp_str json = move_to_text(u, o, from);
        o->w.comma = false;
        wj_write_str(&o->w, json);
    }
    return true;
}

/* The text of a string, or of an object's string member `member`; any other JSON as it is. */
static void error_text(struct ui *u, struct wd_out *o, struct upp_str json, const char *member, const char *otherwise)
{
    yyjson_val *v = NULL, *inner;
    wj_write_name(&o->w, UPP_STR("errorText"));
    int r = json.p ? wj_read(&u->scratch, json, NULL, &v, o->w.err) : -UPP_EINVALID;
    if (r == 0 && member && yyjson_is_obj(v) && (inner = yyjson_obj_get(v, member)) && yyjson_is_str(inner))
        v = inner;
    if (r == -UPP_ENOMEM)
        wj_writer_fail(&o->w, r);
    else if (r < 0)
        wj_write_str(&o->w, json.p ? json : wb_cstr(otherwise));
    else if (yyjson_is_str(v))
        wj_write_str(&o->w, wj_text(v));
    else {
        wb_buf_clear(&u->text);
        r = wj_write(v, &u->text, o->w.err);
        if (r < 0)
            wj_writer_fail(&o->w, r);
        else
            wj_write_str(&o->w, wb_buf_str(&u->text));
    }
    wb_arena_reset(&u->scratch);
}

void ui_error_text(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise)
{
    error_text(u, o, json, NULL, otherwise);
}

void ui_error_message(struct ui *u, struct wd_out *o, struct upp_str json, const char *otherwise)
{
    error_text(u, o, json, "message", otherwise);
}

void ui_file(struct ui *u, struct wd_out *o, const struct upp_media *media)
{
    struct upp_str mime = wd_media_type(media);
    struct wb_buf *t = &u->text;
    wb_buf_clear(t);
    if (media->source == UPP_SOURCE_URL)
        wb_buf_add(t, media->data);
    int r = media->source == UPP_SOURCE_URL ? wb_buf_check(t, o->w.err) : wd_data_url(media, mime, t, o->w.err);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    ui_chunk(o, "file");
    wd_str(o, "url", wb_buf_str(t));
    wd_str(o, "mediaType", mime);
    wd_frame_close(o, UPP_STR("}"));
}

/* A member of the event in a form that the client accepts: ui_value takes text. Absent: `otherwise`; NULL: none. */
static void event_member(struct ui *u, struct wd_out *o, const char *name, yyjson_val *v, const char *otherwise)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(WD_FRAMES_TEXT);
    int r = v ? wj_write(v, &json, o->w.err) : 0;
    struct upp_str text = v ? wb_buf_str(&json) : wb_cstr(otherwise);
    if (r < 0)
        wj_writer_fail(&o->w, r);
    else if (text.p && !ui_value(u, o, name, text))
        wd_str(o, name, text);
}

void ui_system(struct ui *u, struct wd_out *o, const struct wm_event *ev)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SYSTEM_MAX);
    char id[WB_UUID_TEXT + 1];
    yyjson_val *v;
    int r = ev->system.entry ? wj_read(&a, ev->system.entry->data, NULL, &v, o->w.err) : -UPP_EBUG;
    if (r < 0) {
        wj_writer_fail(&o->w, upp_fail(o->w.err, -r, "event %" PRIu64 " has no system event", ev->number));
        return;
    }
    yyjson_val *type = yyjson_obj_get(v, "type");
    struct upp_str name = type && yyjson_is_str(type) ? wj_text(type) : UPP_STR("");
    wd_frame_open(o, UPP_STR("{"));
    wj_write_name(&o->w, UPP_STR("type"));
    wb_buf_clear(&u->text);
    wb_buf_add(&u->text, UPP_STR("data-"));
    wb_buf_add(&u->text, name);
    if (u->text.failed)
        wj_writer_fail(&o->w, wb_buf_check(&u->text, o->w.err));
    wj_write_str(&o->w, wb_buf_str(&u->text));
    wd_str(o, "id", wb_uuid_text(ev->system.id, id));
    event_member(u, o, "data", yyjson_obj_get(v, "data"), "{}");
    wd_frame_close(o, UPP_STR("}"));

    ui_chunk(o, "message-metadata");
    wj_put_open(&o->w, "messageMetadata", '{');
    wj_put_open(&o->w, "weft_events", '{');
    wj_put_open(&o->w, id, '{');
    event_member(u, o, "sourceAgent", yyjson_obj_get(v, "source"), NULL);
    event_member(u, o, "targetAgents", yyjson_obj_get(v, "targets"), NULL);
    wj_put_u64(&o->w, "timestamp", (uint64_t)ev->time_ms);
    wd_frame_close(o, UPP_STR("}}}}"));
}

/* The name of a child's event; NULL: it is not sent. */
static const char *child_event_name(const struct wm_event *ev)
{
    switch (ev->kind) {
    case WM_RUN:
        return "run";
    case WM_TOOL_STARTED:
        return "tool-started";
    case WM_TOOL_ENDED:
        return "tool-ended";
    case WM_DELTA:
        return ev->part.kind == UPP_PART_TEXT ? "text" : ev->part.kind == UPP_PART_REASONING ? "reasoning" : NULL;
    default:
        return NULL;
    }
}

void ui_child(struct wd_out *o, const struct wm_event *ev)
{
    const char *word = child_event_name(ev);
    if (!word)
        return;
    ui_chunk(o, "data-child");
    wj_put_bool(&o->w, "transient", true);
    wj_put_open(&o->w, "data", '{');
    wd_uuid(o, "runId", ev->from->run);
    wd_str(o, "agent", ev->from->agent);
    wj_put_u64(&o->w, "depth", ev->from->depth);
    wd_str(o, "event", wb_cstr(word));
    if (ev->kind == WM_RUN)
        wd_str(o, "status", wb_cstr(wd_status_word(ev->run.status)));
    else if (ev->kind == WM_DELTA)
        wd_str(o, "text", ev->part.text);
    else {
        wd_str(o, "toolCallId", ev->call.id);
        wd_str(o, "toolName", ev->call.name);
    }
    wd_frame_close(o, UPP_STR("}}"));
}
