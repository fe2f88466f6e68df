/* upp/client/media.c — images, documents, audio and video: from files, bytes and URLs, and back. */
#include <upp/media.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "upp/client/talk.h"

enum { FILE_BYTES = 64 << 20, TEXT_BYTES = FILE_BYTES / 3 * 4 + 8 };

/* The medium is in its own arena. */
struct owned {
    struct upp_media pub;
    struct wb_arena arena;
};

static const struct {
    uint8_t kind;
    const char *ending, *mime;
} endings[] = {
    {UPP_PART_IMAGE, "jpg", "image/jpeg"},      {UPP_PART_IMAGE, "jpeg", "image/jpeg"},
    {UPP_PART_IMAGE, "png", "image/png"},       {UPP_PART_IMAGE, "gif", "image/gif"},
    {UPP_PART_IMAGE, "webp", "image/webp"},     {UPP_PART_IMAGE, "svg", "image/svg+xml"},
    {UPP_PART_IMAGE, "bmp", "image/bmp"},       {UPP_PART_IMAGE, "ico", "image/x-icon"},
    {UPP_PART_AUDIO, "mp3", "audio/mp3"},       {UPP_PART_AUDIO, "wav", "audio/wav"},
    {UPP_PART_AUDIO, "ogg", "audio/ogg"},       {UPP_PART_AUDIO, "oga", "audio/ogg"},
    {UPP_PART_AUDIO, "flac", "audio/flac"},     {UPP_PART_AUDIO, "aac", "audio/aac"},
    {UPP_PART_AUDIO, "m4a", "audio/mp4"},       {UPP_PART_AUDIO, "webm", "audio/webm"},
    {UPP_PART_AUDIO, "aif", "audio/aiff"},      {UPP_PART_AUDIO, "aiff", "audio/aiff"},
    {UPP_PART_VIDEO, "mp4", "video/mp4"},       {UPP_PART_VIDEO, "m4v", "video/mp4"},
    {UPP_PART_VIDEO, "webm", "video/webm"},     {UPP_PART_VIDEO, "ogv", "video/ogg"},
    {UPP_PART_VIDEO, "ogg", "video/ogg"},       {UPP_PART_VIDEO, "mov", "video/quicktime"},
    {UPP_PART_VIDEO, "avi", "video/x-msvideo"}, {UPP_PART_VIDEO, "mpeg", "video/mpeg"},
    {UPP_PART_VIDEO, "mpg", "video/mpeg"},      {UPP_PART_VIDEO, "wmv", "video/x-ms-wmv"},
    {UPP_PART_VIDEO, "3gp", "video/3gpp"},      {UPP_PART_VIDEO, "3gpp", "video/3gpp"},
    {UPP_PART_VIDEO, "flv", "video/x-flv"},     {UPP_PART_DOCUMENT, "pdf", "application/pdf"},
    {UPP_PART_DOCUMENT, "txt", "text/plain"},   {UPP_PART_DOCUMENT, "text", "text/plain"},
    {UPP_PART_DOCUMENT, "md", "text/plain"},    {UPP_PART_DOCUMENT, "markdown", "text/plain"},
};

const char *upp_mime_of_path(uint8_t kind, const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < WB_LEN(endings); i++)
        if (endings[i].kind == kind && wb_str_eq_nocase(wb_cstr(dot + 1), wb_cstr(endings[i].ending)))
            return endings[i].mime;
    return "application/octet-stream";
}

static const char *kind_name(uint8_t kind)
{
    static const char *const names[] = {[UPP_PART_IMAGE] = "image",
                                        [UPP_PART_DOCUMENT] = "document",
                                        [UPP_PART_AUDIO] = "audio",
                                        [UPP_PART_VIDEO] = "video"};
    return kind < WB_LEN(names) ? names[kind] : NULL;
}

static int make(uint8_t source, struct upp_str data, const char *mime, const char *title, struct upp_media **ret,
                struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(4u * TEXT_BYTES);
    struct owned *m = wb_new(&a, struct owned);
    if (m)
        m->pub = (struct upp_media){.source = source,
                                    .data = wb_arena_dup(&a, data),
                                    .mime = wb_arena_dup(&a, wb_cstr(mime)),
                                    .title = wb_arena_dup(&a, wb_cstr(title))};
    int r = wb_arena_check(&a, err);
    if (r < 0) {
        wb_arena_done(&a);
        return r;
    }
    m->arena = a;
    *ret = &m->pub;
    return 0;
}

static int check(uint8_t kind, const char *mime, struct upp_err *err)
{
    if (!kind_name(kind))
        return upp_fail(err, UPP_EINVALID, "a medium is an image, a document, audio or video, not kind %u", kind);
    if (!mime || !mime[0])
        return upp_fail(err, UPP_EINVALID, "which type has this %s? It cannot be seen from its bytes", kind_name(kind));
    return 0;
}

int upp_media_from_bytes(uint8_t kind, const void *p, size_t n, const char *mime, struct upp_media **ret,
                         struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(TEXT_BYTES);
    int r = check(kind, mime, err);
    if (r < 0)
        return r;
    if (n == 0)
        return upp_fail(err, UPP_EINVALID, "this %s is empty", kind_name(kind));
    if (n > FILE_BYTES)
        return upp_fail(err, UPP_ELIMIT, "this %s has more than %d bytes", kind_name(kind), FILE_BYTES);
    wb_base64_add(&b, wb_str(p, n), WB_BASE64);
    r = wb_buf_check(&b, err);
    return r < 0 ? r : make(UPP_SOURCE_BASE64, wb_buf_str(&b), mime, NULL, ret, err);
}

int upp_media_from_path(uint8_t kind, const char *path, struct upp_media **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(FILE_BYTES);
    const char *mime = upp_mime_of_path(kind, path);
    int r = check(kind, mime, err);
    if (r >= 0)
        r = wb_file_read(path, &b, err);
    if (r >= 0)
        r = upp_media_from_bytes(kind, b.p, b.n, mime, ret, err);
    if (r < 0)
        wb_err_where(err, wb_cstr(path));
    return r;
}

/* Decoded and encoded again: so it is valid and padded. */
int upp_media_from_base64(uint8_t kind, struct upp_str base64, const char *mime, struct upp_media **ret,
                          struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(FILE_BYTES);
    int r = check(kind, mime, err);
    if (r >= 0)
        r = wb_base64_decode(base64, &b, err);
    return r < 0 ? r : upp_media_from_bytes(kind, b.p, b.n, mime, ret, err);
}

int upp_media_from_url(uint8_t kind, struct upp_str url, const char *mime, struct upp_media **ret, struct upp_err *err)
{
    bool web = wb_str_starts(url, UPP_STR("https://")) || wb_str_starts(url, UPP_STR("http://"));
    if (kind != UPP_PART_IMAGE && kind != UPP_PART_DOCUMENT)
        return upp_fail(err, UPP_EINVALID, "only images and documents can be addresses");
    if (!url.n || url.n > FILE_BYTES)
        return upp_fail(err, UPP_EINVALID, "this is no address");
    if (kind == UPP_PART_DOCUMENT) {
        if (!web)
            return upp_fail(err, UPP_EINVALID, "the address of a document begins with http:// or https://");
        return make(UPP_SOURCE_URL, url, "application/pdf", NULL, ret, err);
    }
    if (!mime) { /* by the extension of its path; else unknown, and the vendor detects it */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(2u * FILE_BYTES);
        size_t end;
        for (end = 0; end < url.n && url.p[end] != '?' && url.p[end] != '#'; end++)
            ;
        struct upp_str path = wb_arena_dup(&a, wb_str_sub(url, 0, end));
        if (!path.p)
            return wb_arena_check(&a, err);
        mime = upp_mime_of_path(kind, path.p);
    }
    return make(UPP_SOURCE_URL, url, mime, NULL, ret, err);
}

int upp_media_from_text(struct upp_str text, const char *title, struct upp_media **ret, struct upp_err *err)
{
    if (text.n > FILE_BYTES)
        return upp_fail(err, UPP_ELIMIT, "this document has more than %d bytes", FILE_BYTES);
    return make(UPP_SOURCE_TEXT, text.p ? text : UPP_STR(""), "text/plain", title, ret, err);
}

void upp_media_free(struct upp_media *m)
{
    if (!m)
        return;
    struct wb_arena a = WB_OUTER(m, struct owned, pub)->arena; /* contains the medium itself */
    wb_arena_done(&a);
}

struct upp_part upp_media_part(uint8_t kind, const struct upp_media *m)
{
    return (struct upp_part){.kind = kind, .media = m};
}

static int no_bytes(struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "only the address of this medium is known, not its bytes");
}

static int add_base64(const struct upp_media *m, struct wb_buf *b, struct upp_err *err)
{
    if (m->source == UPP_SOURCE_URL)
        return no_bytes(err);
    if (m->source == UPP_SOURCE_TEXT)
        wb_base64_add(b, m->data, WB_BASE64);
    else
        wb_buf_add(b, m->data);
    return wb_buf_check(b, err);
}

int upp_media_base64(const struct upp_media *m, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(TEXT_BYTES + 1);
    int r = add_base64(m, &b, err);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}

int upp_media_data_url(const struct upp_media *m, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(TEXT_BYTES + 1024);
    wb_buf_addf(&b, "data:%.*s;base64,", UPP_FMT(m->mime));
    int r = add_base64(m, &b, err);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}

int upp_media_bytes(const struct upp_media *m, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(FILE_BYTES + 1);
    int r = 0;
    if (m->source == UPP_SOURCE_URL)
        return no_bytes(err);
    if (m->source == UPP_SOURCE_TEXT)
        wb_buf_add(&b, m->data);
    else
        r = wb_base64_decode(m->data, &b, err);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}
