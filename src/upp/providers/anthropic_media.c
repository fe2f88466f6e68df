/* upp/providers/anthropic_media.c — images and documents for Anthropic: as users give them, and in results of tools. */
#include "base/base64.h"
#include "base/str.h"
#include "base/utf8.h"
#include "upp/providers/anthropic.h"

enum { MAX_TEXT = 64 << 20 }; /* of a document that came as bytes */

/* A data URL as the bytes that it is: the API's addresses are of the web alone. */
static struct upp_media unwrap(const struct upp_media *m)
{
    struct upp_media ret = *m;
    if (m->source == UPP_SOURCE_URL && upp__media_bytes(m, &ret.mime, &ret.data))
        ret.source = UPP_SOURCE_BASE64;
    return ret;
}

/* The API looks at the bytes, and refuses an image that is not what it is said to be: how they begin comes first. No
 * text: it takes no such images. */
static struct upp_str image_type(const struct upp_media *m)
{
    static const struct {
        const char *mime, *base64;
        size_t at;
    } rows[] = {{"image/png", "iVBORw0KGg", 0},
                {"image/jpeg", "/9j/", 0},
                {"image/gif", "R0lGOD", 0},
                {"image/webp", "RUJQ", 12}}; /* RIFF, four bytes, W, and then this: EBP */
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_starts(wb_str_sub(m->data, rows[i].at, SIZE_MAX), wb_cstr(rows[i].base64)))
            return wb_cstr(rows[i].mime);
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_eq_nocase(m->mime, wb_cstr(rows[i].mime)))
            return wb_cstr(rows[i].mime);
    return wb_str_eq_nocase(m->mime, UPP_STR("image/jpg")) ? UPP_STR("image/jpeg") : (struct upp_str){0};
}

static bool is_text_type(struct upp_str mime)
{
    return wb_str_starts(mime, UPP_STR("text/"));
}

const char *upp__anthropic_refuses(uint8_t kind, const struct upp_media *media)
{
    const struct upp_media unwrapped = unwrap(media), *m = &unwrapped;
    switch (kind) {
    case UPP_PART_IMAGE:
        return m->source == UPP_SOURCE_URL || (m->source != UPP_SOURCE_TEXT && image_type(m).p)
                   ? NULL
                   : "Anthropic takes images as JPEG, PNG, GIF and WebP";
    case UPP_PART_DOCUMENT:
        return m->source == UPP_SOURCE_URL || m->source == UPP_SOURCE_TEXT || is_text_type(m->mime) ||
                       wb_str_eq_nocase(m->mime, UPP_STR("application/pdf"))
                   ? NULL
                   : "Anthropic takes documents as PDF and as text";
    case UPP_PART_AUDIO:
        return "Anthropic takes no audio";
    case UPP_PART_VIDEO:
        return "Anthropic takes no video";
    default:
        return "Anthropic takes no binary data";
    }
}

static void put(struct wj_writer *w, const char *name, struct upp_str value)
{
    wj_write_name(w, wb_cstr(name));
    upp__write_text(w, value);
}

static void put_source(struct wj_writer *w, const char *type, struct upp_str mime, const char *name,
                       struct upp_str data)
{
    wj_put_open(w, "source", '{');
    put(w, "type", wb_cstr(type));
    if (mime.p)
        put(w, "media_type", mime);
    put(w, name, data);
    wj_write_close(w, '}');
}

/* A text that came as bytes; U+FFFD stands for what is no UTF-8. */
static int put_decoded(struct wj_writer *w, struct upp_str base64, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(MAX_TEXT);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(3u * MAX_TEXT);
    int r = wb_base64_decode(base64, &bytes, err);
    if (r < 0)
        return r;
    wb_utf8_add_clean(&text, wb_buf_str(&bytes));
    put_source(w, "text", UPP_STR("text/plain"), "data", wb_buf_str(&text));
    return wb_buf_check(&text, err);
}

int upp__anthropic_write_media(struct wj_writer *w, uint8_t kind, const struct upp_media *media, struct upp_err *err)
{
    const struct upp_media unwrapped = unwrap(media), *m = &unwrapped;
    bool document = kind == UPP_PART_DOCUMENT;
    int r = 0;
    if (m->source == UPP_SOURCE_URL)
        put_source(w, "url", (struct upp_str){0}, "url", m->data);
    else if (!document)
        put_source(w, "base64", image_type(m), "data", m->data);
    else if (m->source == UPP_SOURCE_TEXT)
        put_source(w, "text", UPP_STR("text/plain"), "data", m->data);
    else if (is_text_type(m->mime))
        r = put_decoded(w, m->data, err);
    else
        put_source(w, "base64", UPP_STR("application/pdf"), "data", m->data);
    if (document && m->title.p)
        put(w, "title", m->title);
    return r;
}
