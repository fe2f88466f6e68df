/* log/file.c — stores, finds, lists, reads and expires the records of uploaded files. */
#include "log/file.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum { PAGE = 64, PAGE_ARENA = 4 << 20, RECORD = 16 << 10, IDS = 1 << 20 /* files of one tenant that are sorted */ };

/* ---- Ids --------------------------------------------------------------------------------------------------------- */

struct upp_str wl_file_id(struct wb_uuid id, char out[WL_FILE_ID + 1])
{
    memcpy(out, WL_FILE_PREFIX, 5);
    (void)wb_uuid_hex(id, out + 5);
    return wb_str(out, WL_FILE_ID);
}

/* The name of its record. */
static struct upp_str name_of(struct wb_uuid id, char out[WB_UUID_HEX + 1])
{
    for (size_t i = 0; i < sizeof id.b; i++)
        id.b[i] = (unsigned char)~id.b[i];
    return wb_uuid_hex(id, out);
}

static bool id_of(struct upp_str name, struct wb_uuid *ret)
{
    if (!wb_uuid_parse(name, ret))
        return false;
    for (size_t i = 0; i < sizeof ret->b; i++)
        ret->b[i] = (unsigned char)~ret->b[i];
    return true;
}

/* The store knows the times that it gave since it was opened: those of files before that are in their ids. A damaged
 * record prevents no upload. */
WEFT_SUSPENDS static int newest(struct wl_store *s, const struct wl_owner *o, int64_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(PAGE_ARENA);
    struct wl_value *v;
    struct wb_uuid id;
    uint64_t high, low;
    size_t n;
    int r = wl_list_values(s, o, UPP_STR(WL_FILES), (struct upp_str){0}, 1, &a, &v, &n, err);
    *ret = r >= 0 && n && id_of(v->name, &id) && wb_uuid_v8_bits(id, &high, &low) ? (int64_t)(high >> 12) : 0;
    return r == -UPP_ESTORE ? 0 : r;
}

WEFT_SUSPENDS int wl_file_id_new(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, struct wb_uuid *ret,
                                 struct upp_err *err)
{
    int64_t last;
    uint64_t random[2];
    int r = newest(s, o, &last, err);
    if (r >= 0)
        r = wb_random(random, sizeof random, err);
    if (r < 0)
        return r;
    int64_t time = wl_list_time(s, WB_MAX(now_ms, last + 1));
    *ret = wb_uuid_v8((uint64_t)time << 12 | (random[0] & 0xfff), random[1]);
    return 0;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static bool read_hex(struct upp_str text, unsigned char *to, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (text.n != 2 * n)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const char *d = text.p[i] ? strchr(digits, text.p[i]) : NULL;
        if (!d)
            return false;
        to[i / 2] = (unsigned char)(i % 2 ? to[i / 2] | (d - digits) : (d - digits) << 4);
    }
    return true;
}

int wl_file_value(const struct wl_file *f, struct wb_arena *a, struct wl_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(RECORD);
    struct wj_writer w;
    char hex[2 * sizeof f->blob.b + 1], name[WB_UUID_HEX + 1];
    for (size_t i = 0; i < sizeof f->blob.b; i++) {
        hex[2 * i] = "0123456789abcdef"[f->blob.b[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[f->blob.b[i] & 15];
    }
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str_or_empty(&w, "filename", f->filename);
    wj_put_str_or_empty(&w, "purpose", f->purpose);
    wj_put_str_or_empty(&w, "type", f->type);
    if (f->user.n)
        wj_put_str(&w, "user", f->user);
    if (f->alias.n)
        wj_put_str(&w, "alias", f->alias);
    wj_put_u64(&w, "bytes", f->bytes);
    wj_put_i64(&w, "created", f->created_ms);
    if (f->expires_ms)
        wj_put_i64(&w, "expires", f->expires_ms);
    wj_put_str(&w, "blob", wb_str(hex, 2 * sizeof f->blob.b));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    *ret = (struct wl_value){.space = UPP_STR(WL_FILES),
                             .name = wb_arena_dup(a, name_of(f->id, name)),
                             .bytes = wb_arena_dup(a, wb_buf_str(&out))};
    return r < 0 ? r : wb_arena_check(a, err);
}

static int read_record(struct upp_str name, struct upp_str bytes, struct wb_arena *a, struct wl_file *ret,
                       struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(a, bytes, NULL, &v, err);
    if (r < 0)
        return r;
    *ret = (struct wl_file){.filename = wj_text_at(v, "filename"),
                            .purpose = wj_text_at(v, "purpose"),
                            .type = wj_text_at(v, "type"),
                            .user = wj_text_at(v, "user"),
                            .alias = wj_text_at(v, "alias")};
    yyjson_val *size = yyjson_obj_get(v, "bytes"), *created = yyjson_obj_get(v, "created"),
               *expires = yyjson_obj_get(v, "expires");
    bool good = id_of(name, &ret->id) && size && created && wb_str_u64(wj_text(size), &ret->bytes) &&
                wb_str_i64(wj_text(created), &ret->created_ms) &&
                (!expires || wb_str_i64(wj_text(expires), &ret->expires_ms)) &&
                read_hex(wj_text_at(v, "blob"), ret->blob.b, sizeof ret->blob.b);
    return good ? 0 : upp_fail(err, UPP_ESTORE, "the record of a file is damaged: %.*s", UPP_FMT(name));
}

static bool visible(const struct wl_file *f, const struct wl_owner *o, int64_t now_ms)
{
    return wb_str_eq(f->user, o->user) && (!f->expires_ms || f->expires_ms > now_ms);
}

static int no_file(struct upp_str id, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "No such File object: %.*s", UPP_FMT(id));
}

static WEFT_SUSPENDS int get_record(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                    struct wl_file *ret, struct upp_err *err)
{
    char text[WB_UUID_HEX + 1];
    struct upp_str name = name_of(id, text), bytes;
    int r = wl_get_value(s, o, UPP_STR(WL_FILES), name, a, &bytes, err);
    return r < 0 ? r : read_record(name, bytes, a, ret, err);
}

WEFT_SUSPENDS int wl_file_find(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                               struct wl_file *ret, struct upp_err *err)
{
    struct wb_uuid u;
    int r = 0;
    if (!wl_id_parse(id, UPP_STR(WL_FILE_PREFIX), &u))
        r = id.n ? wl_get_alias(s, o, WL_ALIAS_FILE, id, &u, err) : -UPP_ENOTFOUND;
    if (r >= 0)
        r = get_record(s, o, u, a, ret, err);
    return r == -UPP_ENOTFOUND || (r >= 0 && !visible(ret, o, wb_wall_ms())) ? no_file(id, err) : r;
}

WEFT_SUSPENDS int wl_file_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_file *f,
                                 struct upp_err *err)
{
    char name[WB_UUID_HEX + 1];
    struct wl_value value = {.space = UPP_STR(WL_FILES), .name = name_of(f->id, name)};
    struct wl_ref ref = {.blob = f->blob, .id = f->id};
    struct wl_alias alias = {.kind = WL_ALIAS_FILE, .text = f->alias, .object = f->id};
    struct wl_change changes[] = {{.kind = WL_DROP_VALUE, .value = &value},
                                  {.kind = WL_DROP_REF, .ref = &ref},
                                  {.kind = WL_DROP_ALIAS, .alias = &alias}};
    struct wl_commit c = {.owner = *o, .changes = changes, .n = f->alias.n ? 3 : 2, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct listing {
    const struct wl_owner *o;
    const struct wl_file_query *q;
    struct wb_arena *a;
    struct wl_file *found;
    size_t n;
    WB_VEC(struct wb_uuid) ids; /* ascending: of all before `after`, newest first */
    int64_t now_ms;
    char after[WB_UUID_HEX + 1]; /* the last name that was read */
    bool over;
};

static bool wanted(const struct listing *l, const struct wl_file *f)
{
    return visible(f, l->o, l->now_ms) && (!l->q->purpose.n || wb_str_eq(l->q->purpose, f->purpose));
}

static int take(struct listing *l, const struct wl_value *v, struct upp_err *err)
{
    struct wl_file f;
    int r = read_record(v->name, v->bytes, l->a, &f, err);
    if (r < 0 || !wanted(l, &f))
        return r;
    if (!l->q->ascending)
        l->found[l->n++] = f;
    else if (wb_uuid_cmp(f.id, l->q->after) <= 0)
        l->over = true;
    else if (!wb_vec_push(&l->ids, f.id, IDS))
        return upp_fail(err, UPP_ELIMIT, "a tenant has more than %d files: list them newest first", IDS);
    l->over |= !l->q->ascending && l->n == l->q->max;
    return 0;
}

static WEFT_SUSPENDS int read_page(struct wl_store *s, struct listing *l, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(PAGE_ARENA);
    struct wb_arena *into = l->a;
    struct wl_value *v;
    size_t n;
    int r = wl_list_values(s, l->o, UPP_STR(WL_FILES), wb_cstr(l->after), PAGE, &page, &v, &n, err);
    if (l->q->ascending)
        l->a = &page; /* only ids are kept */
    for (size_t i = 0; r >= 0 && i < n && !l->over; i++)
        r = take(l, &v[i], err);
    l->a = into;
    if (r >= 0 && n == PAGE && v[n - 1].name.n == WB_UUID_HEX)
        memcpy(l->after, v[n - 1].name.p, WB_UUID_HEX);
    else
        l->over = true;
    return r;
}

WEFT_SUSPENDS int wl_file_list(struct wl_store *s, const struct wl_owner *o, const struct wl_file_query *q,
                               struct wb_arena *a, struct wl_file **ret, size_t *n, struct upp_err *err)
{
    struct listing l = {.o = o, .q = q, .a = a, .now_ms = wb_wall_ms()};
    int r = 0;
    l.found = wb_new_n(a, struct wl_file, q->max + 1);
    if (!l.found)
        return wb_arena_check(a, err);
    if (!q->ascending && !wb_uuid_is_nil(q->after))
        (void)name_of(q->after, l.after);
    l.over = !q->max;
    while (r >= 0 && !l.over)
        r = read_page(s, &l, err);
    for (size_t i = l.ids.n; r >= 0 && i-- > 0 && l.n < q->max;) {
        r = get_record(s, o, l.ids.p[i], a, &l.found[l.n], err);
        l.n += r >= 0;
        r = r == -UPP_ENOTFOUND ? 0 : r; /* deleted meanwhile */
    }
    wb_vec_done(&l.ids);
    *ret = l.found;
    *n = l.n;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int wl_file_expire(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, size_t max, size_t *n,
                                 struct upp_err *err)
{
    char after[WB_UUID_HEX + 1] = "";
    int r = 0;
    *n = 0;
    for (bool over = false; r >= 0 && !over;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(PAGE_ARENA);
        struct wl_value *v;
        size_t got;
        r = wl_list_values(s, o, UPP_STR(WL_FILES), wb_cstr(after), PAGE, &page, &v, &got, err);
        over = r < 0 || got < PAGE || v[got - 1].name.n != WB_UUID_HEX;
        for (size_t i = 0; r >= 0 && i < got && *n < max; i++) {
            struct wl_file f;
            r = read_record(v[i].name, v[i].bytes, &page, &f, err);
            if (r < 0 || !f.expires_ms || f.expires_ms > now_ms)
                continue;
            r = wl_file_delete(s, o, &f, err);
            *n += r >= 0;
        }
        over |= *n == max;
        if (!over)
            memcpy(after, v[got - 1].name.p, WB_UUID_HEX);
    }
    return r < 0 ? r : 0;
}

/* ---- Content ----------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS int wl_file_read(struct wl_store *s, const struct wl_owner *o, const struct wl_file *f, size_t max,
                               struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 * WL_PIECE);
    struct wl_piece p = {.last = false};
    size_t from = out->n;
    if (f->bytes > max)
        return upp_fail(err, UPP_ELIMIT, "the file has %llu bytes, and at most %zu are read",
                        (unsigned long long)f->bytes, max);
    for (uint32_t i = 0; !p.last; i++) {
        int r = wl_get_piece(s, o, &f->blob, i, &a, &p, err);
        if (r < 0)
            return r;
        wb_buf_add(out, p.bytes);
        if (out->n - from > f->bytes)
            return upp_fail(err, UPP_ESTORE, "a file is longer than its record says");
        wb_arena_reset(&a);
    }
    return wb_buf_check(out, err);
}
