/* dialects/pai/media.c — computes Pydantic AI's identifier of a medium, and its media type from the URL. */
#include "dialects/pai/pai.h"

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/err.h"

enum { MEDIUM = 192 << 20 };

static struct upp_str six_digits(struct upp_str bytes, char out[WD_PAI_IDENTIFIER], struct upp_err *err)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(bytes.n ? bytes.p : "", bytes.n, hash, &n, EVP_sha1(), NULL) != 1 || n < 3) {
        (void)upp_fail(err, UPP_ENOMEM, "no hash of a medium");
        return (struct upp_str){0};
    }
    for (size_t i = 0; i < 6; i++)
        out[i] = hex[hash[i / 2] >> (i % 2 ? 0 : 4) & 15];
    out[6] = 0;
    return wb_str(out, 6);
}

struct upp_str wd_pai_identifier(const struct upp_media *m, char out[WD_PAI_IDENTIFIER], struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(MEDIUM);
    if (m->source == UPP_SOURCE_URL)
        return six_digits(m->data, out, err);
    return wb_base64_decode(m->data, &bytes, err) < 0 ? (struct upp_str){0} : six_digits(wb_buf_str(&bytes), out, err);
}

static const struct {
    const char *ending, *type;
} types[] = {
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"svg", "image/svg+xml"},
    {"bmp", "image/bmp"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"ico", "image/vnd.microsoft.icon"},
    {"heic", "image/heic"},
    {"avif", "image/avif"},
    {"mp3", "audio/mpeg"},
    {"wav", "audio/wav"},
    {"flac", "audio/flac"},
    {"aac", "audio/aac"},
    {"aiff", "audio/aiff"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/opus"},
    {"m4a", "audio/mp4"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"mov", "video/quicktime"},
    {"mkv", "video/x-matroska"},
    {"wmv", "video/x-ms-wmv"},
    {"flv", "video/x-flv"},
    {"mpg", "video/mpeg"},
    {"mpeg", "video/mpeg"},
    {"avi", "video/x-msvideo"},
    {"three_gp", "video/3gpp"},
    {"3gp", "video/3gpp"},
    {"pdf", "application/pdf"},
    {"txt", "text/plain"},
    {"csv", "text/csv"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"md", "text/markdown"},
    {"mdx", "text/markdown"},
    {"asciidoc", "text/x-asciidoc"},
    {"rtf", "application/rtf"},
    {"json", "application/json"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"toml", "application/toml"},
    {"doc", "application/msword"},
    {"xls", "application/vnd.ms-excel"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"zip", "application/zip"},
};

/* A data URL contains its type: data:TYPE[;...],... */
static struct upp_str data_type(struct upp_str url)
{
    size_t end = 5;
    while (end < url.n && url.p[end] != ';' && url.p[end] != ',')
        end++;
    return memchr(url.p + 5, '/', end - 5) ? wb_str_sub(url, 5, end - 5) : UPP_STR("text/plain");
}

/* YouTube URLs have no file extension. */
static bool is_youtube(struct upp_str url)
{
    static const char *const hosts[] = {"youtu.be", "youtube.com", "www.youtube.com", "m.youtube.com"};
    size_t from = wb_str_find(url, UPP_STR("://"), 0), end;
    if (from >= url.n)
        return false;
    for (from += 3, end = from; end < url.n && !memchr("/?#:", url.p[end], 4); end++)
        ;
    for (size_t i = 0; i < WB_LEN(hosts); i++)
        if (wb_str_eq_nocase(wb_str_sub(url, from, end - from), wb_cstr(hosts[i])))
            return true;
    return false;
}

/* The file extension: what follows the last '.' of the last path segment. */
static struct upp_str ending_of(struct upp_str url)
{
    size_t end = 0, dot = 0;
    for (; end < url.n && url.p[end] != '?' && url.p[end] != '#'; end++)
        dot = url.p[end] == '/' ? 0 : url.p[end] == '.' ? end + 1 : dot;
    return dot ? wb_str_sub(url, dot, end - dot) : (struct upp_str){0};
}

struct upp_str wd_pai_media_type(struct upp_str url, uint8_t kind)
{
    if (wb_str_starts(url, UPP_STR("data:")))
        return data_type(url);
    if (kind == UPP_PART_VIDEO && is_youtube(url))
        return UPP_STR("video/mp4");
    struct upp_str ending = ending_of(url);
    for (size_t i = 0; ending.n && i < WB_LEN(types); i++)
        if (wb_str_eq_nocase(ending, wb_cstr(types[i].ending)))
            return wb_cstr(types[i].type);
    return UPP_STR("application/octet-stream");
}
