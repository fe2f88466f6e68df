/* run/settings/files.c — reads the uploaded files that a request refers to, and puts their content into its parts. */
#include "run/settings/files.h"

#include "base/base64.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/value.h"
#include "log/file.h"
#include "model/file_url.h"
#include "run/engine_state.h"
#include "run/run.h"
#include "run/tree.h"

struct fetching {
    struct wl_store *s; /* NULL: none */
    struct wl_owner owner;
    struct wb_arena *a;
    size_t left; /* bytes that this request may still have */
};

const char *wr_image_type(struct upp_str head)
{
    static const struct {
        const char *type, *bytes;
        size_t n, at;
    } rows[] = {
        {"image/png", "\x89PNG\r\n\x1a\n", 8, 0},
        {"image/jpeg", "\xff\xd8\xff", 3, 0},
        {"image/gif", "GIF87a", 6, 0},
        {"image/gif", "GIF89a", 6, 0},
        {"image/webp", "WEBP", 4, 8},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_starts(wb_str_sub(head, rows[i].at, SIZE_MAX), wb_str(rows[i].bytes, rows[i].n)) &&
            (!rows[i].at || wb_str_starts(head, UPP_STR("RIFF"))))
            return rows[i].type;
    return NULL;
}

/* A text instead of the part. */
static int note(struct fetching *f, struct upp_part *p, struct upp_str name, const char *why, struct upp_err *err)
{
    *p = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_arena_printf(f->a, "[file %.*s: %s]", UPP_FMT(name), why)};
    return wb_arena_check(f->a, err);
}

/* Is it attached for tools of the API, and not for the model? *names: which ones. */
static bool for_tools(struct fetching *f, const struct upp_part *p, struct upp_str *names)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    yyjson_val *root, *tool;
    size_t i, n;
    if (p->kind != UPP_PART_DOCUMENT || !p->metadata.n || wj_read(f->a, p->metadata, NULL, &root, NULL) < 0)
        return false;
    yyjson_val *tools = yyjson_obj_get(yyjson_obj_get(root, "assistants"), "tools");
    yyjson_arr_foreach(tools, i, n, tool) wb_buf_addf(&out, "%s%.*s", i ? ", " : "", UPP_FMT(wj_text_at(tool, "type")));
    *names = wb_arena_printf(f->a, "attached for %.*s as ", UPP_FMT(wb_buf_str(&out)));
    return yyjson_arr_size(tools) > 0;
}

static int put_bytes(struct fetching *f, struct upp_part *p, uint8_t kind, const char *type, const struct wl_file *file,
                     struct upp_str bytes, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf base64 = WB_BUF(2 * (size_t)WR_FILE_DOCUMENT);
    struct upp_media *m = wb_new(f->a, struct upp_media);
    struct upp_str own = p->metadata;
    wb_base64_add(&base64, bytes, WB_BASE64);
    int r = wb_buf_check(&base64, err);
    if (r < 0 || !m)
        return r < 0 ? r : wb_arena_check(f->a, err);
    *m = (struct upp_media){.source = UPP_SOURCE_BASE64,
                            .data = wb_arena_dup(f->a, wb_buf_str(&base64)),
                            .mime = wb_cstr(type),
                            .title = file->filename};
    *p = (struct upp_part){.kind = kind, .media = m, .metadata = kind == UPP_PART_IMAGE ? own : (struct upp_str){0}};
    return wb_arena_check(f->a, err);
}

static int put_text(struct fetching *f, struct upp_part *p, const struct wl_file *file, struct upp_str text,
                    struct upp_err *err)
{
    *p = (struct upp_part){.kind = UPP_PART_TEXT,
                           .text = wb_arena_printf(f->a, "[file %.*s]\n%.*s\n[end of file %.*s]",
                                                   UPP_FMT(file->filename), UPP_FMT(text), UPP_FMT(file->filename))};
    return wb_arena_check(f->a, err);
}

/* The content of a file, as what it is. */
static int put_content(struct fetching *f, struct upp_part *p, const struct wl_file *file, struct upp_str bytes,
                       struct upp_err *err)
{
    const char *image = wr_image_type(bytes);
    if (image)
        return bytes.n > WR_FILE_IMAGE ? note(f, p, file->filename, "an image of more than 20 MiB is not sent", err)
                                       : put_bytes(f, p, UPP_PART_IMAGE, image, file, bytes, err);
    if (wb_str_starts(bytes, UPP_STR("%PDF-")))
        return put_bytes(f, p, UPP_PART_DOCUMENT, "application/pdf", file, bytes, err);
    if (!wb_utf8_valid(bytes, NULL) || (bytes.n && memchr(bytes.p, 0, bytes.n)))
        return note(f, p, file->filename, "neither text nor PDF nor an image: it is not sent", err);
    if (bytes.n > WR_FILE_TEXT)
        return note(f, p, file->filename, "a text of more than 1 MiB is not sent", err);
    return put_text(f, p, file, bytes, err);
}

static WEFT_SUSPENDS int fetch_part(struct fetching *f, struct upp_part *p, struct upp_str id, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(WR_FILE_DOCUMENT);
    const struct wl_owner *o = &f->owner;
    struct wl_file file;
    struct upp_str names;
    int r = f->s ? wl_file_find(f->s, o, id, f->a, &file, err) : -UPP_ENOTFOUND;
    if (r == -UPP_ENOTFOUND)
        return note(f, p, id, "it was deleted", err);
    if (r < 0)
        return r;
    if (for_tools(f, p, &names)) {
        char text[WL_FILE_ID + 1];
        names = wb_arena_printf(f->a, "%.*s%.*s", UPP_FMT(names), UPP_FMT(wl_file_id(file.id, text)));
        return names.p ? note(f, p, file.filename, names.p, err) : wb_arena_check(f->a, err);
    }
    if (file.bytes > WR_FILE_DOCUMENT || file.bytes > f->left)
        return note(f, p, file.filename, "it is too large to be sent", err);
    r = wl_file_read(f->s, o, &file, WR_FILE_DOCUMENT, &bytes, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? note(f, p, id, "it was deleted", err) : r;
    f->left -= bytes.n;
    return put_content(f, p, &file, wb_buf_str(&bytes), err);
}

static WEFT_SUSPENDS int fetch_message(struct fetching *f, const struct upp_message *m, const struct upp_message **ret,
                                       struct upp_err *err)
{
    struct upp_message *copy = wb_new(f->a, struct upp_message);
    struct upp_part *parts = wb_new_n(f->a, struct upp_part, m->n_parts);
    struct upp_str id;
    int r = 0;
    if (!copy || !parts)
        return wb_arena_check(f->a, err);
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    *copy = *m;
    copy->parts = parts;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++)
        if (wm_part_file(&parts[i], &id))
            r = fetch_part(f, &parts[i], id, err);
    *ret = copy;
    return r;
}

/* Whose files they are: those of the user of the thread. A recovered run knows only its tenant. */
static WEFT_SUSPENDS int fetch_begin(struct wr_run *run, struct fetching *f, struct upp_err *err)
{
    struct wl_thread t;
    if (!f->s || f->owner.user.n)
        return 0;
    int r = wl_get_thread(f->s, &f->owner, run->row.thread, f->a, &t, err);
    if (r >= 0)
        f->owner.user = t.owner.user;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

WEFT_SUSPENDS int wr_files_fetch(struct wr_run *run, struct upp_request *request, struct wb_arena *a,
                                 struct upp_err *err)
{
    struct fetching f = {run->engine->store, run->tree->owner, a, WR_FILES};
    const struct upp_message **list = NULL;
    int r = 0;
    if (!run->has_files) /* looking at every message of a long history at every call would cost more than the call */
        return 0;
    for (size_t i = request->n_messages; r >= 0 && i-- > 0;) { /* the newest ones first: they need the room */
        if (!wm_message_has_file(request->messages[i]))
            continue;
        if (!list) {
            list = wb_new_n(a, const struct upp_message *, request->n_messages);
            if (!list)
                return wb_arena_check(a, err);
            memcpy(list, request->messages, request->n_messages * sizeof(*list));
            r = fetch_begin(run, &f, err);
        }
        if (r >= 0)
            r = fetch_message(&f, list[i], &list[i], err);
    }
    if (r >= 0 && list)
        request->messages = list;
    return r;
}
