/* json/edit.c — copies of a JSON object with members set, dropped or merged. */
#include "json/edit.h"

#include "base/hooks.h"
#include "json/keys.h"
#include "json/read.h"

enum {
    READ_MAX = 512 << 20,
    SMALL = 12, /* objects of up to so many members are searched from the front */
};

static int read_object(struct wb_arena *a, struct upp_str text, yyjson_val **ret, struct upp_err *err)
{
    char found[WJ_QUOTED + 16];
    *ret = NULL;
    int r = text.n ? wj_read(a, text, NULL, ret, err) : 0;
    if (r >= 0 && *ret && !yyjson_is_obj(*ret))
        return upp_fail(err, UPP_EINVALID, "expected an object, found %s", wj_found(*ret, found, sizeof found));
    return r;
}

int wj_edit(struct wb_arena *a, struct upp_str object, const struct wj_edit *edits, size_t n, struct upp_str *ret,
            struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(READ_MAX);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SIZE_MAX / 2); /* as long as what is given */
    yyjson_val *v, *key;
    struct wj_writer w;
    int r = read_object(&scratch, object, &v, err);
    if (r < 0)
        return r;
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    while ((key = yyjson_obj_iter_next(&it))) {
        size_t i = 0;
        while (i < n && !wj_named(key, edits[i].name))
            i++;
        if (i == n)
            wj_put_member(&w, key);
    }
    for (size_t i = 0; i < n; i++)
        if (edits[i].json.p) {
            wj_write_name(&w, edits[i].name);
            wj_write_raw(&w, edits[i].json.p, edits[i].json.n);
        }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

int wj_merge(struct wb_arena *a, struct upp_str under, struct upp_str over, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(READ_MAX);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SIZE_MAX / 2);
    yyjson_val *first, *second;
    struct wj_writer w;
    int r = read_object(&scratch, under, &first, err);
    if (r >= 0)
        r = read_object(&scratch, over, &second, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_members_under(&w, first, second);
    wj_put_members(&w, second);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

void wj_put_members(struct wj_writer *w, yyjson_val *object)
{
    wj_put_members_but(w, object, (const char *const[]){NULL});
}

void wj_put_members_but(struct wj_writer *w, yyjson_val *object, const char *const *names)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it))) {
        const char *const *name = names;
        while (*name && !wj_named(key, wb_cstr(*name)))
            name++;
        if (!*name)
            wj_put_member(w, key);
    }
}

static bool has_member(yyjson_val *const *sorted, size_t n, struct upp_str name)
{
    size_t from = 0;
    while (n) {
        int c = wb_str_cmp(wj_text(sorted[from + n / 2]), name);
        if (c == 0)
            return true;
        if (c < 0) {
            from += n / 2 + 1;
            n -= n / 2 + 1;
        } else
            n /= 2;
    }
    return false;
}

void wj_put_members_under(struct wj_writer *w, yyjson_val *object, yyjson_val *over)
{
    size_t n = yyjson_obj_size(over);
    bool sorts = n > SMALL && yyjson_obj_size(object) > SMALL;
    yyjson_val **sorted = sorts ? wb_alloc(2 * n * sizeof *sorted) : NULL, *key;
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    if (sorts && !sorted) {
        wj_writer_fail(w, upp_fail(w->err, UPP_ENOMEM, "no memory for the members of an object"));
        return;
    }
    if (sorts)
        wj_keys_sort(over, sorted, sorted + n);
    while ((key = yyjson_obj_iter_next(&it))) {
        struct upp_str name = wj_text(key);
        if (!(sorts ? has_member(sorted, n, name) : yyjson_obj_getn(over, name.p, name.n) != NULL))
            wj_put_member(w, key);
    }
    wb_free(sorted);
}

void wj_put_members_text(struct wj_writer *w, struct upp_str object)
{
    struct upp_str inside = object.n > 2 ? wb_str_trim(wb_str_sub(object, 1, object.n - 2)) : (struct upp_str){0};
    if (inside.n)
        wj_write_raw(w, inside.p, inside.n);
}
