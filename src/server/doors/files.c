/* server/doors/files.c — receives uploads, sends downloads, and writes the file object. */
#include "server/doors/files.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/utf8.h"
#include "json/value.h"
#include "server/doors/keyed.h"
#include "server/http/auth.h"
#include "server/http/conn.h"
#include "server/http/multipart.h"
#include "server/http/server.h"
#include "stores/blobs/blobs.h"

enum {
    FIELD = 128, /* bytes of a part that is not a file */
    ALIAS = 200,
    TYPE = 100,          /* of a media type */
    EXPIRES_FROM = 3600, /* seconds; OpenAI's limits */
    EXPIRES_TO = 2592000,
};

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static const char *const purposes[] = {"assistants", "assistants_output", "batch",  "evals",
                                       "fine-tune",  "user_data",         "vision", NULL};

/* -UPP_EINVALID: no purpose, or an unknown one. */
static int check_purpose(struct upp_str purpose, struct upp_err *err)
{
    struct wj_list known = {.n = 0};
    char shown[WJ_QUOTED];
    for (const char *const *p = purposes; *p; p++) {
        if (wb_str_eq(purpose, wb_cstr(*p)))
            return 0;
        wj_list_add(&known, ", ", "", wb_cstr(*p));
    }
    int r = purpose.n ? upp_fail(err, UPP_EINVALID, "unknown purpose %s: it is one of %s",
                                 wj_quote(purpose, shown, sizeof shown), known.p)
                      : upp_fail(err, UPP_EINVALID, "the part 'purpose' is missing: it is one of %s", known.p);
    wb_err_where(err, UPP_STR("purpose"));
    return r;
}

static int bad_name(struct upp_err *err, const char *why)
{
    int r = upp_fail(err, UPP_EINVALID, "the file's name %s", why);
    wb_err_where(err, UPP_STR("file"));
    return r;
}

/* A file's name: without folders. -UPP_EINVALID: nothing is left, or it is not UTF-8, too long, or has control
 * characters. */
static int check_name(struct upp_str given, struct upp_str *ret, struct upp_err *err)
{
    size_t from = given.n;
    if (!wb_utf8_valid(given, NULL))
        return bad_name(err, "is not UTF-8");
    for (size_t i = 0; i < given.n; i++)
        if ((unsigned char)given.p[i] < ' ' || given.p[i] == 0x7f)
            return bad_name(err, "has a control character");
    while (from && given.p[from - 1] != '/' && given.p[from - 1] != '\\')
        from--;
    *ret = wb_str_trim(wb_str_sub(given, from, SIZE_MAX));
    if (!ret->n || wb_str_eq(*ret, UPP_STR(".")) || wb_str_eq(*ret, UPP_STR("..")))
        return bad_name(err, "is empty");
    return ret->n > SV_FILE_NAME ? bad_name(err, "is longer than 255 bytes") : 0;
}

/* "text/plain" of "text/plain; charset=utf-8"; what is no media type is application/octet-stream. */
static struct upp_str clean_type(struct upp_str given)
{
    static const char other[] = "!#$&-^_.+/";
    struct upp_str type = wb_str_trim(wb_str_sub(given, 0, wb_str_find(given, UPP_STR(";"), 0)));
    size_t slashes = 0;
    bool good = type.n >= 3 && type.n <= TYPE && type.p[0] != '/' && type.p[type.n - 1] != '/';
    for (size_t i = 0; good && i < type.n; i++) {
        char c = type.p[i], low = (char)(c | 0x20);
        good = (c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || (c && strchr(other, c));
        slashes += c == '/';
    }
    return good && slashes == 1 ? type : UPP_STR("application/octet-stream");
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

enum field { FILE_PART, PURPOSE, ANCHOR, SECONDS, OTHER, FIELDS };
static const char *const field_names[] = {"file", "purpose", "expires_after[anchor]", "expires_after[seconds]"};

struct upload {
    struct sv_exchange *x;
    struct ws_file_writer *writer;
    struct wl_file file;
    struct sv_multipart parts;
    enum field field; /* of the part that is being read */
    bool seen[FIELDS];
    struct wb_buf texts[FIELDS]; /* of the fields that are not files */
    struct upp_str alias;        /* empty: none */
    struct sv_keyed keyed;
};

static WEFT_SUSPENDS void upload_done(struct upload *u)
{
    ws_file_close(u->writer);
    sv_multipart_done(&u->parts);
    for (size_t i = 0; i < FIELDS; i++)
        wb_buf_done(&u->texts[i]);
}

static enum field field_of(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(field_names); i++)
        if (wb_str_eq(name, wb_cstr(field_names[i])))
            return (enum field)i;
    return OTHER;
}

static WEFT_SUSPENDS int begin_file(struct upload *u, struct upp_err *err)
{
    struct sv_exchange *x = u->x;
    struct upp_str name;
    if (!u->parts.filename.p) {
        int r = upp_fail(err, UPP_EINVALID, "the part 'file' has no filename: send it as a file");
        wb_err_where(err, UPP_STR("file"));
        return r;
    }
    int r = check_name(u->parts.filename, &name, err);
    if (r < 0)
        return r;
    u->file.filename = wb_arena_dup(&x->arena, name);
    u->file.type = wb_arena_dup(&x->arena, clean_type(u->parts.type));
    r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : ws_file_open(x->server->opts.store, &x->owner, SV_FILE_MAX, &u->writer, err);
}

static WEFT_SUSPENDS int begin_part(struct upload *u, struct upp_err *err)
{
    u->field = field_of(u->parts.name);
    if (u->field == OTHER) { /* skipped, and named in the response: see sv_body_read */
        bool plain = u->parts.name.n <= 64;
        for (size_t i = 0; plain && i < u->parts.name.n; i++)
            plain = u->parts.name.p[i] > ' ' && u->parts.name.p[i] < 0x7f && u->parts.name.p[i] != ',';
        if (!u->seen[OTHER])
            sv_reply_header(&u->x->reply, "weft-ignored", plain ? u->parts.name : UPP_STR("?"));
        u->seen[OTHER] = true;
        return 0;
    }
    if (u->seen[u->field])
        return upp_fail(err, UPP_EINVALID, "the part '%s' is there twice", field_names[u->field]);
    u->seen[u->field] = true;
    return u->field == FILE_PART ? begin_file(u, err) : 0;
}

static WEFT_SUSPENDS int add_data(struct upload *u, struct upp_str data, struct upp_err *err)
{
    if (u->field == OTHER)
        return 0;
    if (u->field == FILE_PART) {
        const struct sv_key *key = u->x->conn->auth.key;
        int r = key ? sv_key_may_store(key, err) : 0; /* counts what this upload has stored */
        return r < 0 ? r : ws_file_write(u->writer, data, err);
    }
    wb_buf_add(&u->texts[u->field], data);
    return u->texts[u->field].failed == -UPP_ELIMIT
               ? upp_fail(err, UPP_EINVALID, "the part '%s' is longer than %d bytes", field_names[u->field], FIELD)
               : wb_buf_check(&u->texts[u->field], err);
}

static WEFT_SUSPENDS int take_bytes(struct upload *u, struct upp_str bytes, struct upp_err *err)
{
    struct upp_str data;
    int r;
    while ((r = sv_multipart_next(&u->parts, &bytes, &data, err)) > 0) {
        int bad = r == SV_MULTI_PART ? begin_part(u, err) : r == SV_MULTI_DATA ? add_data(u, data, err) : 0;
        if (bad < 0)
            return bad;
    }
    return r;
}

static int read_expiry(struct upload *u, struct upp_err *err)
{
    struct upp_str anchor = wb_str_trim(wb_buf_str(&u->texts[ANCHOR])), text = wb_buf_str(&u->texts[SECONDS]);
    uint64_t seconds;
    if (!u->seen[ANCHOR] && !u->seen[SECONDS])
        return 0;
    if (!wb_str_eq(anchor, UPP_STR("created_at")))
        return upp_fail(err, UPP_EINVALID, "expires_after[anchor] is created_at");
    if (!wb_str_u64(wb_str_trim(text), &seconds) || seconds < EXPIRES_FROM || seconds > EXPIRES_TO)
        return upp_fail(err, UPP_EINVALID, "expires_after[seconds] is %d to %d", EXPIRES_FROM, EXPIRES_TO);
    u->file.expires_ms = u->file.created_ms + (int64_t)seconds * 1000;
    return 0;
}

/* What stands for the body: two requests with the same parts need not have the same bytes between them. */
static struct upp_str text_of(struct upload *u)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(FIELDS * (FIELD + 64) + SV_FILE_NAME + TYPE);
    for (size_t i = 0; i < OTHER; i++)
        wb_buf_addf(&text, "%zu %.*s", u->texts[i].n, UPP_FMT(wb_buf_str(&u->texts[i])));
    wb_buf_addf(&text, "%zu %.*s %zu %.*s", u->file.filename.n, UPP_FMT(u->file.filename), u->file.type.n,
                UPP_FMT(u->file.type));
    wb_buf_add(&text, wb_str((const char *)u->file.blob.b, sizeof u->file.blob.b));
    return wb_arena_dup(&u->x->arena, wb_buf_str(&text));
}

/* All parts are there: stores the record with the last piece. 1: an earlier request with the key has made the file. */
static WEFT_SUSPENDS int store_file(struct upload *u, struct upp_err *err)
{
    struct sv_exchange *x = u->x;
    struct wl_file *f = &u->file;
    struct wl_value record;
    if (!u->seen[FILE_PART]) {
        int bad = upp_fail(err, UPP_EINVALID, "the part 'file' is missing");
        wb_err_where(err, UPP_STR("file"));
        return bad;
    }
    int r = check_purpose(wb_str_trim(wb_buf_str(&u->texts[PURPOSE])), err);
    if (r < 0)
        return r;
    f->purpose = wb_arena_dup(&x->arena, wb_str_trim(wb_buf_str(&u->texts[PURPOSE])));
    f->user = x->owner.user;
    f->alias = u->alias;
    f->created_ms = wb_wall_ms();
    r = read_expiry(u, err);
    if (r >= 0)
        r = wl_file_id_new(x->server->opts.store, &x->owner, f->created_ms, &f->id, err);
    if (r >= 0)
        r = ws_file_key(u->writer, &f->blob, &f->bytes, err);
    if (r >= 0)
        r = wl_file_value(f, &x->arena, &record, err);
    struct wl_alias alias = {.kind = WL_ALIAS_FILE, .text = u->alias, .object = f->id};
    struct wl_change put[] = {{.kind = WL_PUT_VALUE, .value = &record}, {.kind = 0}, {.kind = 0}};
    size_t n = 1;
    if (alias.text.n)
        put[n++] = (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &alias};
    struct upp_str text = text_of(u);
    if (r >= 0)
        r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = sv_keyed_file(&u->keyed, text, err);
    if (r == 0 && u->keyed.key.key.n) {
        u->keyed.key.object = f->id;
        put[n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &u->keyed.key};
    }
    if (r == 0)
        r = ws_file_end(u->writer, f->id, put, n, &f->blob, &f->bytes, err);
    if (r == -UPP_EBUSY && u->keyed.key.key.n) {
        int first = sv_keyed_file(&u->keyed, text, err);
        if (first != 0)
            return first; /* another request with the key was first */
    }
    return r == -UPP_EBUSY ? upp_fail(err, UPP_EBUSY, "there is a file '%.*s' already", UPP_FMT(alias.text)) : r;
}

/* The id that the file had elsewhere. */
static int read_alias(struct upload *u, struct upp_err *err)
{
    struct wb_uuid id;
    int r = sv_query(u->x, UPP_STR("alias"), &u->alias, err);
    if (r > 0 && (!wb_str_starts(u->alias, UPP_STR(WL_FILE_PREFIX)) || u->alias.n > ALIAS ||
                  !wb_utf8_valid(u->alias, NULL) || wl_id_parse(u->alias, UPP_STR(WL_FILE_PREFIX), &id)))
        return upp_fail(err, UPP_EINVALID, "alias is an id of another system: 'file-' and what is no id of ours");
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_file_receive(struct sv_exchange *x, struct wl_file *ret, struct upp_err *err)
{
    WB_CLEANUP(upload_done) struct upload u = {.x = x};
    size_t n;
    char id[WL_FILE_ID + 1];
    struct upp_str bytes, type = sv_http_header(x->request, UPP_STR("content-type"), &n);
    for (size_t i = 0; i < FIELDS; i++)
        u.texts[i] = (struct wb_buf)WB_BUF(FIELD);
    if (n != 1)
        return upp_fail(err, UPP_EINVALID,
                        "a file is uploaded as multipart/form-data, and the Content-Type is missing");
    int r = read_alias(&u, err);
    if (r >= 0)
        r = sv_keyed_begin(x, SV_MAKES_FILE, &u.keyed, err);
    if (r >= 0)
        r = sv_multipart_init(&u.parts, type, err);
    while (r >= 0 && (r = sv_conn_body(x, &bytes, err)) > 0)
        r = take_bytes(&u, bytes, err);
    if (r >= 0)
        r = sv_multipart_check_end(&u.parts, err);
    if (r >= 0)
        r = store_file(&u, err);
    if (r > 0)
        return wl_file_find(x->server->opts.store, &x->owner, wl_file_id(u.keyed.object, id), &x->arena, ret, err);
    if (r >= 0)
        *ret = u.file;
    return r;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* attachment; filename="ascii"; filename*=UTF-8''percent (RFC 6266) */
static void put_disposition(struct sv_reply *reply, struct upp_str name)
{
    static const char plain[] = "!#$&+-.^_`|~";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(5 * SV_FILE_NAME + 64);
    wb_buf_add(&out, UPP_STR("attachment; filename=\""));
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        wb_buf_addc(&out, c < ' ' || c == 0x7f || c == '"' || c == '\\' || c == '%' ? '_' : c);
    }
    wb_buf_add(&out, UPP_STR("\"; filename*=UTF-8''"));
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i], low = (char)(c | 0x20);
        if ((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || (c && strchr(plain, c)))
            wb_buf_addc(&out, c);
        else
            wb_buf_addf(&out, "%%%02X", (unsigned char)c);
    }
    if (out.failed && !reply->headers.failed)
        reply->headers.failed = out.failed;
    sv_reply_header(reply, "Content-Disposition", wb_buf_str(&out));
}

WEFT_SUSPENDS int sv_file_send(struct sv_exchange *x, const struct wl_file *f, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 * WL_PIECE);
    struct wl_store *s = x->server->opts.store;
    struct wl_piece p;
    uint64_t sent = 0;
    int r = wl_get_piece(s, &x->owner, &f->blob, 0, &a, &p, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ESTORE, "the bytes of a file are not there") : r;
    x->reply.status = 200;
    x->reply.type = f->type.p; /* texts of an arena end with a NUL */
    put_disposition(&x->reply, f->filename);
    sv_reply_header(&x->reply, "Content-Security-Policy", UPP_STR("sandbox; default-src 'none'"));
    r = sv_conn_begin(x, f->bytes, err);
    for (uint32_t i = 1; r >= 0 && x->request->method != SV_HEAD; i++) {
        sent += p.bytes.n;
        if (sent > f->bytes || (p.last && sent < f->bytes))
            r = upp_fail(err, UPP_ESTORE, "a file has another length than its record says");
        if (r >= 0)
            r = sv_conn_send(x->conn, p.bytes, err);
        if (r < 0 || p.last)
            break;
        wb_arena_reset(&a);
        r = wl_get_piece(s, &x->owner, &f->blob, i, &a, &p, err);
    }
    if (r < 0)
        x->conn->broken = true; /* the length that was announced is not kept */
    return r;
}

void sv_file_write(struct wj_writer *w, const struct wl_file *f)
{
    char id[WL_FILE_ID + 1];
    wj_write_open(w, '{');
    wj_put_str(w, "id", wl_file_id(f->id, id));
    wj_put_str(w, "object", UPP_STR("file"));
    wj_put_u64(w, "bytes", f->bytes);
    wj_put_i64(w, "created_at", f->created_ms / 1000);
    if (f->expires_ms)
        wj_put_i64(w, "expires_at", f->expires_ms / 1000);
    else
        wj_put_null(w, "expires_at");
    wj_put_str_or_empty(w, "filename", f->filename);
    wj_put_str_or_empty(w, "purpose", f->purpose);
    wj_put_str(w, "status", UPP_STR("processed"));
    wj_put_null(w, "status_details");
    wj_write_close(w, '}');
}
