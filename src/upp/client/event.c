/* upp/client/event.c — the names of stream events, and their form as UPP's StreamEvent JSON. */
#include "json/syntax.h"
#include "json/read.h"
#include "json/write.h"
#include "upp/client/talk.h"

enum { EVENT_BYTES = 256 << 20 };

static const char *const names[] = {
    [UPP_MESSAGE_START] = "message_start",
    [UPP_MESSAGE_STOP] = "message_stop",
    [UPP_CONTENT_BLOCK_START] = "content_block_start",
    [UPP_CONTENT_BLOCK_STOP] = "content_block_stop",
    [UPP_TEXT_DELTA] = "text_delta",
    [UPP_REASONING_DELTA] = "reasoning_delta",
    [UPP_IMAGE_DELTA] = "image_delta",
    [UPP_AUDIO_DELTA] = "audio_delta",
    [UPP_VIDEO_DELTA] = "video_delta",
    [UPP_OBJECT_DELTA] = "object_delta",
    [UPP_TOOL_CALL_DELTA] = "tool_call_delta",
    [UPP_TOOL_EXECUTION_START] = "tool_execution_start",
    [UPP_TOOL_EXECUTION_END] = "tool_execution_end",
};

const char *upp_event_name(uint8_t type)
{
    return type < WB_LEN(names) && names[type] ? names[type] : "unknown";
}

static void put_result(struct wj_writer *w, const struct upp_event *ev)
{
    struct wj_syntax seen;
    wj_write_name(w, UPP_STR("result"));
    if (ev->result.p && wj_syntax(ev->result, WJ_MAX_DEPTH, &seen, NULL) >= 0)
        wj_write_raw(w, ev->result.p, ev->result.n);
    else
        wj_write_null(w);
    wj_put_bool(w, "isError", ev->is_error);
}

static void put_delta(struct wj_writer *w, const struct upp_event *ev)
{
    bool executes = ev->type == UPP_TOOL_EXECUTION_START || ev->type == UPP_TOOL_EXECUTION_END;
    if (executes || ev->type == UPP_TOOL_CALL_DELTA) {
        wj_put_str_or_empty(w, "toolCallId", ev->id);
        wj_put_str_or_empty(w, "toolName", ev->name);
    }
    switch (ev->type) {
    case UPP_TEXT_DELTA:
    case UPP_REASONING_DELTA:
    case UPP_OBJECT_DELTA:
        wj_put_str_or_empty(w, "text", ev->text);
        break;
    case UPP_IMAGE_DELTA:
    case UPP_AUDIO_DELTA:
    case UPP_VIDEO_DELTA:
        wj_put_str_or_empty(w, "data", ev->text);
        break;
    case UPP_TOOL_CALL_DELTA:
        wj_put_str_or_empty(w, "argumentsJson", ev->text);
        break;
    case UPP_TOOL_EXECUTION_END:
        put_result(w, ev);
        break;
    default:
        break;
    }
    if (executes)
        wj_put_i64(w, "timestamp", ev->time_ms);
}

void upp__event_write(struct wj_writer *w, const struct upp_event *ev)
{
    wj_write_open(w, '{');
    wj_put_str(w, "type", wb_cstr(upp_event_name(ev->type)));
    wj_put_u64(w, "index", ev->index);
    wj_put_open(w, "delta", '{');
    put_delta(w, ev);
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

int upp_event_to_json(const struct upp_event *ev, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(EVENT_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    upp__event_write(&w, ev);
    int r = wj_writer_check(&w);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}
