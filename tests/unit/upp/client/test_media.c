#include <stdio.h>
#include <string.h>
#include <upp/media.h>
#include <upp/turn.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/file.h"
#include "support/test.h"

static void media_freep(struct upp_media **m)
{
    upp_media_free(*m);
}

/* covers: UPP-2/2 */
TEST(media_endings)
{
    static const struct {
        uint8_t kind;
        const char *path, *mime;
    } rows[] = {{UPP_PART_IMAGE, "a/b.JPG", "image/jpeg"},
                {UPP_PART_IMAGE, "x.svg", "image/svg+xml"},
                {UPP_PART_IMAGE, "x.ico", "image/x-icon"},
                {UPP_PART_AUDIO, "x.mp3", "audio/mp3"},
                {UPP_PART_AUDIO, "x.m4a", "audio/mp4"},
                {UPP_PART_AUDIO, "x.ogg", "audio/ogg"},
                {UPP_PART_VIDEO, "x.ogg", "video/ogg"},
                {UPP_PART_VIDEO, "x.mov", "video/quicktime"},
                {UPP_PART_VIDEO, "x.3gpp", "video/3gpp"},
                {UPP_PART_DOCUMENT, "x.pdf", "application/pdf"},
                {UPP_PART_DOCUMENT, "README.markdown", "text/plain"},
                {UPP_PART_IMAGE, "x.pdf", "application/octet-stream"},
                {UPP_PART_IMAGE, "a.png/b", "application/octet-stream"},
                {UPP_PART_IMAGE, "png", "application/octet-stream"}};
    for (size_t i = 0; i < WB_LEN(rows); i++)
        CHECK_STR(wb_cstr(upp_mime_of_path(rows[i].kind, rows[i].path)), wb_cstr(rows[i].mime));
}

static bool is_text(int r, struct upp_str got, const char *want)
{
    bool same = r >= 0 && wb_str_eq(got, wb_cstr(want));
    test_note("%.*s", UPP_FMT(got));
    upp_text_free(got);
    return same;
}

/* covers: UPP-2/2 */
TEST(media_from_bytes_and_back)
{
    struct upp_err err = {0};
    WB_CLEANUP(media_freep) struct upp_media *m = NULL, *same = NULL;
    struct upp_str text = {0};
    CHECK(upp_media_from_bytes(UPP_PART_AUDIO, "\1\2\377", 3, "audio/wav", &m, &err) >= 0);
    CHECK_STR(m->data, UPP_STR("AQL/"));
    CHECK(upp_media_from_base64(UPP_PART_AUDIO, UPP_STR("AQL_"), "audio/wav", &same, &err) >= 0);
    CHECK_STR(same->data, UPP_STR("AQL/"));
    struct upp_part part = upp_media_part(UPP_PART_AUDIO, m);
    CHECK(part.kind == UPP_PART_AUDIO && part.media == m);
    int r = upp_media_base64(m, &text, &err);
    CHECK(is_text(r, text, "AQL/"));
    text = (struct upp_str){0};
    r = upp_media_data_url(m, &text, &err);
    CHECK(is_text(r, text, "data:audio/wav;base64,AQL/"));
    text = (struct upp_str){0};
    r = upp_media_bytes(m, &text, &err);
    CHECK(is_text(r, text, "\1\2\377"));
}

/* covers: UPP-2/2 */
TEST(media_from_text_and_addresses)
{
    struct upp_err err = {0};
    WB_CLEANUP(media_freep) struct upp_media *text = NULL, *image = NULL, *pdf = NULL, *none = NULL;
    struct upp_str out = {0};
    CHECK(upp_media_from_text(UPP_STR("line one"), "notes", &text, &err) >= 0);
    CHECK(text->source == UPP_SOURCE_TEXT);
    CHECK_STR(text->title, UPP_STR("notes"));
    int r = upp_media_base64(text, &out, &err);
    CHECK(is_text(r, out, "bGluZSBvbmU="));
    CHECK(upp_media_from_url(UPP_PART_IMAGE, UPP_STR("https://x.org/a.png?x=1.gif"), NULL, &image, &err) >= 0);
    CHECK_STR(image->mime, UPP_STR("image/png"));
    out = (struct upp_str){0};
    CHECK_INT(upp_media_base64(image, &out, &err), -UPP_EINVALID);
    CHECK_INT(upp_media_bytes(image, &out, &err), -UPP_EINVALID);
    CHECK_INT(upp_media_data_url(image, &out, &err), -UPP_EINVALID);
    CHECK(upp_media_from_url(UPP_PART_DOCUMENT, UPP_STR("https://x.org/a"), "text/html", &pdf, &err) >= 0);
    CHECK_STR(pdf->mime, UPP_STR("application/pdf"));
    CHECK_INT(upp_media_from_url(UPP_PART_DOCUMENT, UPP_STR("file:///etc/passwd"), NULL, &none, &err), -UPP_EINVALID);
    CHECK_INT(upp_media_from_url(UPP_PART_AUDIO, UPP_STR("https://x.org/a"), NULL, &none, &err), -UPP_EINVALID);
    ALWAYS(!none);
}

/* covers: UPP-2/2 */
TEST(media_from_files)
{
    struct upp_err err = {0};
    WB_CLEANUP(media_freep) struct upp_media *m = NULL, *none = NULL;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/a.md", test_folder());
    CHECK(wb_file_write(path, UPP_STR("# hi"), 0600, &err) >= 0);
    CHECK(upp_media_from_path(UPP_PART_DOCUMENT, path, &m, &err) >= 0);
    CHECK(m->source == UPP_SOURCE_BASE64); /* also what is text */
    CHECK_STR(m->data, UPP_STR("IyBoaQ=="));
    CHECK_STR(m->mime, UPP_STR("text/plain"));
    CHECK(wb_file_write(path, UPP_STR(""), 0600, &err) >= 0);
    CHECK_INT(upp_media_from_path(UPP_PART_DOCUMENT, path, &none, &err), -UPP_EINVALID);
    CHECK_INT(upp_media_from_path(UPP_PART_DOCUMENT, "/nowhere/at/all", &none, &err), -UPP_ENOTFOUND);
    ALWAYS(!none);
}

TEST(media_refuses)
{
    struct upp_media *none = NULL;
    static char big[1];
    CHECK_INT(upp_media_from_bytes(UPP_PART_IMAGE, "x", 1, NULL, &none, NULL), -UPP_EINVALID);
    CHECK_INT(upp_media_from_bytes(UPP_PART_TEXT, "x", 1, "a/b", &none, NULL), -UPP_EINVALID);
    CHECK_INT(upp_media_from_bytes(UPP_PART_IMAGE, "x", 0, "a/b", &none, NULL), -UPP_EINVALID);
    CHECK_INT(upp_media_from_bytes(UPP_PART_IMAGE, big, (size_t)64 << 21, "a/b", &none, NULL), -UPP_ELIMIT);
    CHECK_INT(upp_media_from_base64(UPP_PART_IMAGE, UPP_STR("a b"), "a/b", &none, NULL), -UPP_EINVALID);
    ALWAYS(!none);
}
