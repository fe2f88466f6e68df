/* log/admin.c — writes, lists and sweeps the audit of the store. The name of a row is 16 hex digits that fall with
 * its time, then 16 random ones: values are listed by name, so the newest row comes first and those that retention
 * drops come last. */
#include "log/admin.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "base/random.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/change.h"

#define SPACE "admin"

enum { RECORD_MAX = 64 << 10, ORDER = 16 /* digits of a name that order it */ };

const char *const wl_admin_outcomes[] = {
    [WL_ADMIN_STARTED] = "started", [WL_ADMIN_DONE] = "done", [WL_ADMIN_FAILED] = "failed"};
const char *const wl_admin_actors[] = {
    [WL_ADMIN_KEY] = "api_key", [WL_ADMIN_LOCAL] = "local", [WL_ADMIN_SIGNAL] = "signal"};

static const struct wl_owner ours = {.tenant = UPP_STR_INIT(WL_OWN_TENANT)};

static void write_name(int64_t order_ms, uint64_t any, char out[WL_ADMIN_ID + 1])
{
    (void)snprintf(out, WL_ADMIN_ID + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)(INT64_MAX - WB_MAX(order_ms, 0)), any);
}

/* The time that orders a row. False: it is no name of ours. */
static bool read_name(struct upp_str name, int64_t *order_ms)
{
    uint64_t falling = 0;
    if (name.n != WL_ADMIN_ID)
        return false;
    for (size_t i = 0; i < ORDER; i++) {
        char c = name.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        falling = falling << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (falling > INT64_MAX)
        return false;
    *order_ms = INT64_MAX - (int64_t)falling;
    return true;
}

void wl_admin_before(int64_t ms, char id[WL_ADMIN_ID + 1])
{
    write_name(ms, UINT64_MAX, id);
}

static struct upp_str shorten(struct upp_str s)
{
    return wb_str_sub(s, 0, wb_utf8_cut(s, WL_ADMIN_TEXT));
}

static void put(struct wj_writer *w, const char *name, struct upp_str s)
{
    if (s.n)
        wj_put_str(w, name, shorten(s));
}

static int write_row(const struct wl_admin *row, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_i64(&w, "time_ms", row->time_ms);
    wj_put_str(&w, "actor", wb_cstr(wl_admin_actors[row->actor]));
    wj_put_str(&w, "outcome", wb_cstr(wl_admin_outcomes[row->outcome]));
    wj_put_i64(&w, "uid", row->uid);
    put(&w, "key", row->key);
    put(&w, "key_name", row->key_name);
    put(&w, "tenant", row->tenant);
    put(&w, "user", row->user);
    put(&w, "action", row->action);
    put(&w, "target", row->target);
    put(&w, "detail", row->detail);
    put(&w, "error", row->error);
    put(&w, "request", row->request);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static uint8_t find_word(const char *const *words, uint8_t n, struct upp_str word)
{
    for (uint8_t i = 0; i < n; i++)
        if (wb_str_eq(word, wb_cstr(words[i])))
            return i;
    return n;
}

static bool get_i64(yyjson_val *root, const char *name, int64_t *ret)
{
    yyjson_val *v = yyjson_obj_get(root, name);
    return v && yyjson_is_raw(v) && wb_str_i64(wj_text(v), ret);
}

static bool parse_row(yyjson_val *v, struct wl_admin *ret)
{
    ret->actor = find_word(wl_admin_actors, WL_ADMIN_ACTORS, wj_text_at(v, "actor"));
    ret->outcome = find_word(wl_admin_outcomes, WL_ADMIN_OUTCOMES, wj_text_at(v, "outcome"));
    ret->action = wj_text_at(v, "action");
    if (!get_i64(v, "time_ms", &ret->time_ms) || !get_i64(v, "uid", &ret->uid) || !ret->action.n ||
        ret->actor == WL_ADMIN_ACTORS || ret->outcome == WL_ADMIN_OUTCOMES)
        return false;
    ret->key = wj_text_at(v, "key");
    ret->key_name = wj_text_at(v, "key_name");
    ret->tenant = wj_text_at(v, "tenant");
    ret->user = wj_text_at(v, "user");
    ret->target = wj_text_at(v, "target");
    ret->detail = wj_text_at(v, "detail");
    ret->error = wj_text_at(v, "error");
    ret->request = wj_text_at(v, "request");
    return true;
}

/* One row that is damaged must not hide the others. */
static int read_row(struct wb_arena *a, const struct wl_value *v, int64_t order_ms, struct wl_admin *ret,
                    struct upp_err *err)
{
    yyjson_val *root;
    int r = wj_read(a, v->bytes, NULL, &root, err);
    if (r == -UPP_ENOMEM)
        return r;
    *ret = (struct wl_admin){.uid = -1};
    if (r < 0 || !yyjson_is_obj(root) || !parse_row(root, ret))
        *ret = (struct wl_admin){.time_ms = order_ms, .action = UPP_STR("unreadable"), .uid = -1};
    memcpy(ret->id, v->name.p, WL_ADMIN_ID);
    return 0;
}

WEFT_SUSPENDS static int store_row(struct wl_store *s, const struct wl_admin *row, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(RECORD_MAX);
    int r = write_row(row, &json, err);
    if (r < 0)
        return r;
    struct wl_value v = {.space = UPP_STR(SPACE), .name = wb_cstr(row->id), .bytes = wb_buf_str(&json)};
    struct wl_change change = {.kind = WL_PUT_VALUE, .value = &v};
    struct wl_commit c = {.owner = ours, .changes = &change, .n = 1, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}

/* The time that orders a new row. */
WEFT_SUSPENDS static int next_order(struct wl_store *s, int64_t now_ms, int64_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_value *list;
    size_t n;
    int64_t newest;
    int r = wl_list_values(s, &ours, UPP_STR(SPACE), (struct upp_str){0}, 1, &a, &list, &n, err);
    if (r < 0)
        return r;
    bool follows = n && read_name(list[0].name, &newest) && newest >= now_ms && newest - now_ms < WL_DAY_MS;
    *ret = follows ? newest + 1 : now_ms;
    return 0;
}

int wl_admin_begin(struct wl_store *s, struct wl_admin *row, struct upp_err *err)
{
    uint64_t any;
    int64_t order;
    row->time_ms = wb_wall_ms();
    row->outcome = WL_ADMIN_STARTED;
    int r = wb_random(&any, sizeof any, err);
    if (r >= 0)
        r = next_order(s, row->time_ms, &order, err);
    if (r < 0)
        return upp_wrap(err, r, "the audit");
    write_name(order, any, row->id);
    r = store_row(s, row, err);
    return r < 0 ? upp_wrap(err, r, "the audit") : 0;
}

void wl_admin_end_as(struct wl_store *s, struct wl_admin *row, struct upp_str error)
{
    struct upp_err err = {0};
    row->outcome = error.n ? WL_ADMIN_FAILED : WL_ADMIN_DONE;
    row->error = error;
    if (store_row(s, row, &err) < 0)
        wb_log(WB_WARN, "the audit does not have the outcome of an action", WB_LS("action", row->action),
               WB_LS("target", row->target), WB_LERR(&err));
}

void wl_admin_end(struct wl_store *s, struct wl_admin *row, int r, const struct upp_err *why)
{
    char text[WL_ADMIN_TEXT] = "";
    if (r < 0)
        (void)snprintf(text, sizeof text, "%s: %s", upp_code_name(-r), why ? why->msg : "");
    wl_admin_end_as(s, row, wb_cstr(text));
    row->error = (struct upp_str){0}; /* it was ours */
}

int wl_admin_list(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a, struct wl_admin **ret,
                  size_t *n, struct upp_err *err)
{
    struct wl_value *list;
    size_t got;
    int64_t order;
    int r = wl_list_values(s, &ours, UPP_STR(SPACE), after, WB_MIN(max, (size_t)WL_ADMIN_PAGE), a, &list, &got, err);
    if (r < 0)
        return r;
    struct wl_admin *rows = wb_new_n(a, struct wl_admin, got + 1);
    if (!rows)
        return wb_arena_check(a, err);
    *n = 0;
    for (size_t i = 0; i < got; i++) {
        if (!read_name(list[i].name, &order))
            continue;
        r = read_row(a, &list[i], order, &rows[*n], err);
        if (r < 0)
            return r;
        ++*n;
    }
    *ret = rows;
    return 0;
}

int wl_admin_sweep(struct wl_store *s, int64_t before_ms, size_t max, size_t *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    char after[WL_ADMIN_ID + 1];
    struct wl_value *list;
    struct wl_change *drops;
    max = WB_MIN(max, (size_t)WL_ADMIN_PAGE);
    wl_admin_before(before_ms, after);
    int r = wl_list_values(s, &ours, UPP_STR(SPACE), wb_cstr(after), max, &a, &list, n, err);
    if (r < 0 || !*n)
        return r;
    drops = wb_new_n(&a, struct wl_change, *n);
    if (!drops)
        return wb_arena_check(&a, err);
    for (size_t i = 0; i < *n; i++)
        drops[i] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &list[i]};
    struct wl_commit c = {.owner = ours, .changes = drops, .n = *n, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}
