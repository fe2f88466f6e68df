/* dialects/agentapi/write.c — writes the objects of the Agent API that documents and streams share. */
#include "dialects/agentapi/agentapi.h"
#include "dialects/core/data_url.h"

void wd_aap_write_open(struct wj_writer *w, const uint64_t *number, const char *object, enum wd_aap_status status)
{
    wj_write_open(w, '{');
    if (number)
        wj_put_u64(w, "sequence_number", *number);
    else
        wj_put_null(w, "sequence_number");
    wj_put_str(w, "object", wb_cstr(object));
    wj_put_str(w, "status", wb_cstr(wd_aap_status_word(status)));
}

/* The address, or the data as a data URL. */
static void put_url(struct wj_writer *w, const char *name, const struct upp_media *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(w->out->max);
    if (m->source == UPP_SOURCE_URL) {
        wj_put_str(w, name, m->data);
        return;
    }
    int r = wd_data_url(m, wd_media_type(m), &url, w->err);
    if (r < 0)
        wj_writer_fail(w, r);
    wj_put_str(w, name, wb_buf_str(&url));
}

static void put_file(struct wj_writer *w, const struct wd_aap_payload *c)
{
    const struct upp_media *m = c->media->media;
    bool url = m->source == UPP_SOURCE_URL;
    if (!c->nulls) {
        put_url(w, url ? "file_url" : "file_data", m);
        wj_put_text(w, "filename", m->title);
        return;
    }
    if (url)
        put_url(w, "file_url", m);
    else
        wj_put_null(w, "file_url");
    wj_put_null(w, "file_id");
    wj_put_str(w, "filename", m->title);
    if (url)
        wj_put_null(w, "file_data");
    else
        put_url(w, "file_data", m);
}

static const char *content_type(const struct wd_aap_payload *c, bool data)
{
    if (data)
        return "data";
    switch (c->media ? c->media->kind : UPP_PART_TEXT) {
    case UPP_PART_IMAGE:
        return "image";
    case UPP_PART_AUDIO:
        return "audio";
    case UPP_PART_VIDEO:
        return "video";
    case UPP_PART_DOCUMENT:
    case UPP_PART_BINARY:
        return "file";
    default:
        return "text";
    }
}

void wd_aap_write_content(struct wj_writer *w, const uint64_t *number, const struct wd_aap_payload *c)
{
    bool data = c->kind != WD_AAP_REASONING && c->kind != WD_AAP_MESSAGE;
    wd_aap_write_open(w, number, "content", c->status);
    wj_put_null(w, "error");
    wj_put_str(w, "type", wb_cstr(content_type(c, data)));
    wj_put_u64(w, "index", c->index);
    wj_put_bool(w, "delta", false);
    wj_put_str(w, "msg_id", c->message);
    if (c->kind == WD_AAP_CALL || c->kind == WD_AAP_OUTPUT) {
        wj_put_open(w, "data", '{');
        wj_put_str(w, "call_id", c->call);
        wj_put_str(w, "name", c->name);
        wj_put_str_or_empty(w, c->kind == WD_AAP_OUTPUT ? "output" : "arguments", c->text);
        wj_put_text(w, "server_label", c->server);
        wj_write_close(w, '}');
    } else if (data)
        wj_put_raw(w, "data", c->text.p, c->text.n);
    else if (!c->media)
        wj_put_str_or_empty(w, "text", c->text);
    else if (c->media->kind == UPP_PART_IMAGE || c->media->kind == UPP_PART_VIDEO)
        put_url(w, c->media->kind == UPP_PART_IMAGE ? "image_url" : "video_url", c->media->media);
    else if (c->media->kind == UPP_PART_AUDIO) {
        const struct upp_media *m = c->media->media;
        struct upp_str format = {0};
        if (wb_str_starts(m->mime, UPP_STR("audio/")))
            format = wb_str_sub(m->mime, 6, SIZE_MAX);
        put_url(w, "data", m);
        if (c->nulls)
            wj_put_str(w, "format", format);
    } else
        put_file(w, c);
    wj_write_close(w, '}');
}

void wd_aap_write_message(struct wj_writer *w, const uint64_t *number, enum wd_aap_status status, struct upp_str id,
                          const char *type, const char *role)
{
    wd_aap_write_open(w, number, "message", status);
    wj_put_null(w, "error");
    wj_put_str(w, "id", id);
    wj_put_str(w, "type", wb_cstr(type));
    wj_put_str(w, "role", wb_cstr(role));
}
