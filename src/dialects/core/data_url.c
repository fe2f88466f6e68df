/* dialects/core/data_url.c — makes media of URLs and data URLs, and writes data URLs. */
#include "dialects/core/data_url.h"

#include "base/base64.h"
#include "base/str.h"

/* Base64 as the model has it: padded, standard alphabet. */
static bool is_base64(struct upp_str s)
{
    size_t n = s.n;
    while (n && s.n - n < 2 && s.p[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return s.n % 4 == 0;
}

/* The base64 of "data:MIME;base64,..."; NULL: another URL, which stays as it is. */
static struct upp_str data_of(struct upp_str url, struct upp_str mime)
{
    static const struct upp_str scheme = UPP_STR_INIT("data:"), base64 = UPP_STR_INIT(";base64,");
    struct upp_str rest = wb_str_sub(url, scheme.n, SIZE_MAX), none = {0};
    if (!wb_str_starts(url, scheme) || !mime.p || !wb_str_starts(rest, mime))
        return none;
    rest = wb_str_sub(rest, mime.n, SIZE_MAX);
    if (!wb_str_starts(rest, base64))
        return none;
    rest = wb_str_sub(rest, base64.n, SIZE_MAX);
    return is_base64(rest) ? rest : none;
}

static uint8_t medium_of(struct upp_str mime)
{
    if (wb_str_starts(mime, UPP_STR("image/")))
        return UPP_PART_IMAGE;
    if (wb_str_starts(mime, UPP_STR("audio/")))
        return UPP_PART_AUDIO;
    return wb_str_starts(mime, UPP_STR("video/")) ? UPP_PART_VIDEO : UPP_PART_DOCUMENT;
}

int wd_url_media(struct wb_arena *a, struct upp_str url, struct upp_str mime, struct upp_str name, struct upp_part *to,
                 struct upp_err *err)
{
    struct upp_media *media = wb_new(a, struct upp_media);
    struct upp_str data = data_of(url, mime);
    if (!media)
        return wb_arena_check(a, err);
    *media = (struct upp_media){.source = data.p ? UPP_SOURCE_BASE64 : UPP_SOURCE_URL,
                                .data = data.p ? data : url,
                                .mime = mime,
                                .title = name};
    to->kind = medium_of(mime);
    to->media = media;
    return 0;
}

struct upp_str wd_media_type(const struct upp_media *m)
{
    return m->mime.n                      ? m->mime
           : m->source == UPP_SOURCE_TEXT ? UPP_STR("text/plain")
                                          : UPP_STR("application/octet-stream");
}

int wd_data_url(const struct upp_media *m, struct upp_str mime, struct wb_buf *out, struct upp_err *err)
{
    wb_buf_add(out, UPP_STR("data:"));
    wb_buf_add(out, mime);
    wb_buf_add(out, UPP_STR(";base64,"));
    if (m->source == UPP_SOURCE_TEXT)
        wb_base64_add(out, m->data, WB_BASE64);
    else
        wb_buf_add(out, m->data);
    return wb_buf_check(out, err);
}
