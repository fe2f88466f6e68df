/* log/usage.c — stores, lists and sweeps the usage of a day. Names are "2026-11-19/key/ID" and
 * "2026-11-19/tenant/NAME". */
#include "log/usage.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/change.h"

#define SPACE "usage"

enum { RECORD_MAX = 16 << 10, DAY = 10 /* bytes of a day */ };

static const struct wl_owner ours = {.tenant = UPP_STR_INIT(WL_OWN_TENANT)};

struct upp_str wl_day_text(int64_t day, char out[WL_DAY_TEXT])
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(day * WL_DAY_MS);
    struct upp_str whole = wb_time_upp(&t, text);
    (void)snprintf(out, WL_DAY_TEXT, "%.*s", DAY, whole.n >= DAY ? whole.p : "0000-00-00");
    return wb_cstr(out);
}

static struct upp_str name_of(int64_t day, struct upp_str tenant, struct upp_str key, char out[WL_USAGE_NAME])
{
    char text[WL_DAY_TEXT];
    (void)wl_day_text(day, text);
    if (key.n)
        (void)snprintf(out, WL_USAGE_NAME, "%s/key/%.*s", text, UPP_FMT(key));
    else
        (void)snprintf(out, WL_USAGE_NAME, "%s/tenant/%.*s", text, UPP_FMT(tenant));
    return wb_cstr(out);
}

static bool read_day(struct upp_str name, int64_t *ret)
{
    struct wb_time t;
    if (name.n <= DAY || name.p[DAY] != '/' || wb_time_parse(wb_str_sub(name, 0, DAY), &t, NULL) < 0 || !t.date_only)
        return false;
    *ret = wb_time_ms(&t) / WL_DAY_MS;
    return true;
}

static void put_text(struct wj_writer *w, const char *name, struct upp_str s)
{
    if (s.n)
        wj_put_str(w, name, s);
}

static void put_number(struct wj_writer *w, const char *name, uint64_t n)
{
    if (n)
        wj_put_u64(w, name, n);
}

int wl_usage_value(struct wb_arena *a, const struct wl_usage *u, struct wl_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(RECORD_MAX);
    char name[WL_USAGE_NAME];
    struct wj_writer w;
    wj_writer_init(&w, &json, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "tenant", u->tenant);
    put_text(&w, "user", u->user);
    put_text(&w, "key", u->key);
    put_text(&w, "name", u->key_name);
    put_number(&w, "requests", u->requests);
    put_number(&w, "runs", u->runs);
    put_number(&w, "input", u->input);
    put_number(&w, "output", u->output);
    put_number(&w, "cache_read", u->cache_read);
    put_number(&w, "cache_write", u->cache_write);
    put_number(&w, "reasoning", u->reasoning);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    *ret = (struct wl_value){.space = UPP_STR(SPACE),
                             .name = wb_arena_dup(a, name_of(u->day, u->tenant, u->key, name)),
                             .bytes = wb_arena_dup(a, wb_buf_str(&json))};
    return wb_arena_check(a, err);
}

static uint64_t number_at(yyjson_val *v, const char *name)
{
    yyjson_val *n = yyjson_obj_get(v, name);
    uint64_t ret;
    return n && yyjson_is_raw(n) && wb_str_u64(wj_text(n), &ret) ? ret : 0;
}

/* 0: it cannot be read. */
static int read_usage(struct wb_arena *a, const struct wl_value *v, struct wl_usage *ret, struct upp_err *err)
{
    yyjson_val *root;
    int64_t day;
    int r = wj_read(a, v->bytes, NULL, &root, err);
    if (r == -UPP_ENOMEM)
        return r;
    if (r < 0 || !read_day(v->name, &day) || !yyjson_is_obj(root) || !wj_text_at(root, "tenant").n)
        return 0;
    *ret = (struct wl_usage){.day = day,
                             .tenant = wj_text_at(root, "tenant"),
                             .user = wj_text_at(root, "user"),
                             .key = wj_text_at(root, "key"),
                             .key_name = wj_text_at(root, "name"),
                             .requests = number_at(root, "requests"),
                             .runs = number_at(root, "runs"),
                             .input = number_at(root, "input"),
                             .output = number_at(root, "output"),
                             .cache_read = number_at(root, "cache_read"),
                             .cache_write = number_at(root, "cache_write"),
                             .reasoning = number_at(root, "reasoning")};
    return 1;
}

int wl_usage_list(struct wl_store *s, int64_t from_day, struct upp_str after, size_t max, struct wb_arena *a,
                  struct wl_usage **ret, size_t *n, struct upp_str *last, struct upp_err *err)
{
    char first[WL_DAY_TEXT];
    struct wl_value *list;
    size_t got;
    max = WB_MIN(max, (size_t)WL_USAGE_PAGE);
    struct upp_str at = wl_day_text(from_day, first);
    int r = wl_list_values(s, &ours, UPP_STR(SPACE), wb_str_cmp(after, at) > 0 ? after : at, max, a, &list, &got, err);
    if (r < 0)
        return r;
    struct wl_usage *found = wb_new_n(a, struct wl_usage, got + 1);
    if (!found)
        return wb_arena_check(a, err);
    *n = 0;
    for (size_t i = 0; i < got; i++) {
        r = read_usage(a, &list[i], &found[*n], err);
        if (r < 0)
            return r;
        *n += (size_t)r;
    }
    *ret = found;
    *last = got == max ? list[got - 1].name : (struct upp_str){NULL, 0};
    return 0;
}

int wl_usage_get(struct wl_store *s, int64_t day, struct upp_str tenant, struct upp_str key, struct wb_arena *a,
                 struct wl_usage *ret, struct upp_err *err)
{
    char name[WL_USAGE_NAME];
    struct wl_value v = {.name = name_of(day, tenant, key, name)};
    int r = wl_get_value(s, &ours, UPP_STR(SPACE), v.name, a, &v.bytes, err);
    if (r >= 0)
        r = read_usage(a, &v, ret, err);
    return r == 0 ? upp_fail(err, UPP_ENOTFOUND, "no usage of %s", name) : WB_MIN(r, 0);
}

int wl_usage_sweep(struct wl_store *s, int64_t before_day, size_t max, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_value *list;
    size_t got;
    int64_t day;
    *n = 0;
    max = WB_MIN(max, (size_t)WL_USAGE_PAGE);
    int r = wl_list_values(s, &ours, UPP_STR(SPACE), (struct upp_str){0}, max, &a, &list, &got, err);
    if (r < 0 || !got)
        return r;
    struct wl_change *drops = wb_new_n(&a, struct wl_change, got);
    if (!drops)
        return wb_arena_check(&a, err);
    for (size_t i = 0; i < got && (!read_day(list[i].name, &day) || day < before_day); i++)
        drops[(*n)++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &list[i]};
    if (!*n)
        return 0;
    struct wl_commit c = {.owner = ours, .changes = drops, .n = *n, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}
