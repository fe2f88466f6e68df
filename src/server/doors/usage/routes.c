/* server/doors/usage/routes.c — GET /v1/usage: what was used on each of some days (log/usage.h), the oldest day first.
 *
 * Over the Unix socket: of all tenants, or of the one that weft-tenant names. With a key of the scope admin: of its
 * tenant, and of its user if it has one. With another key: of that key. What was counted is stored first, so that the
 * answer is complete.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "json/write.h"
#include "log/change.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/doors.h"
#include "server/http/conn.h"
#include "server/http/server.h"

enum { DAYS = 7, DAYS_MAX = 4000, READ_MAX = 10000 /* rows that one request reads */ };

struct query {
    struct upp_str tenant, user, key; /* empty: of all; key: an id or a name */
    bool own;                         /* of `key` alone, which is an id */
    uint64_t days, limit;
    struct upp_str after;
};

/* Whose usage the client may see. */
static void confine(const struct sv_exchange *x, struct query *q)
{
    const struct sv_key *key = x->conn->auth.key;
    size_t named = 1;
    if (x->conn->local)
        (void)sv_http_header(x->request, UPP_STR("weft-tenant"), &named);
    if (!named)
        return;
    q->tenant = x->owner.tenant;
    q->user = x->owner.user;
    if (key && !(x->scopes & SV_SCOPE_ADMIN)) {
        q->user = (struct upp_str){NULL, 0};
        q->key = wb_cstr(key->id);
        q->own = true;
    }
}

static int read_query(struct sv_exchange *x, struct query *q, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_read_limit(x, &q->limit, NULL, err);
    q->days = DAYS;
    confine(x, q);
    if (r >= 0)
        r = sv_query(x, UPP_STR("days"), &text, err);
    if (r > 0 && (!wb_str_u64(text, &q->days) || q->days < 1 || q->days > DAYS_MAX))
        return upp_fail(err, UPP_EINVALID, "days is 1 to %d", DAYS_MAX);
    if (r >= 0)
        r = sv_query(x, UPP_STR("tenant"), &text, err);
    if (r > 0 && q->tenant.n && !wb_str_eq(text, q->tenant))
        return upp_fail(err, UPP_EREFUSED, "this shows tenant '%.*s' only", UPP_FMT(q->tenant));
    if (r > 0)
        q->tenant = text;
    if (r >= 0)
        r = sv_query(x, UPP_STR("key"), &text, err);
    if (r > 0 && q->own && !wb_str_eq(text, q->key) && !wb_str_eq(text, x->conn->auth.key->name))
        return upp_fail(err, UPP_EREFUSED, "this API key sees its own usage only: others need the scope admin");
    if (r > 0 && !q->own)
        q->key = text;
    return r < 0 ? r : sv_query(x, UPP_STR("after"), &q->after, err);
}

static bool matches(const struct query *q, const struct wl_usage *u)
{
    return (!q->tenant.n || wb_str_eq(q->tenant, u->tenant)) && (!q->user.n || wb_str_eq(q->user, u->user)) &&
           (!q->key.n || wb_str_eq(q->key, u->key) || (!q->own && wb_str_eq(q->key, u->key_name)));
}

static bool is_empty(const struct wl_usage *u)
{
    return !u->requests && !u->runs && !u->input && !u->output && !u->cache_read && !u->cache_write;
}

static void put_or_null(struct wj_writer *w, const char *name, struct upp_str s)
{
    wj_put_str(w, name, s.n ? s : (struct upp_str){NULL, 0});
}

static void write_usage(struct wj_writer *w, const struct wl_usage *u)
{
    char day[WL_DAY_TEXT];
    wj_write_open(w, '{');
    wj_put_str(w, "object", UPP_STR("usage.day"));
    wj_put_str(w, "day", wl_day_text(u->day, day));
    wj_put_str(w, "tenant", u->tenant);
    put_or_null(w, "user", u->user);
    put_or_null(w, "key", u->key);
    put_or_null(w, "key_name", u->key_name);
    wj_put_u64(w, "requests", u->requests);
    wj_put_u64(w, "runs", u->runs);
    wj_put_u64(w, "input_tokens", u->input);
    wj_put_u64(w, "output_tokens", u->output);
    wj_put_u64(w, "cache_read_tokens", u->cache_read);
    wj_put_u64(w, "cache_write_tokens", u->cache_write);
    wj_put_u64(w, "reasoning_tokens", u->reasoning);
    wj_write_close(w, '}');
}

/* One key, day by day: nothing of other keys is read. */
WEFT_SUSPENDS static int write_own(struct sv_exchange *x, const struct query *q, int64_t first, int64_t today,
                                   struct wj_writer *w, struct upp_err *err)
{
    for (int64_t day = first; day <= today + 1; day++) { /* tomorrow: the clock was put back */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wl_usage u;
        int r = wl_usage_get(x->server->opts.store, day, q->tenant, q->key, &a, &u, err);
        if (r < 0 && r != -UPP_ENOTFOUND)
            return r;
        if (r >= 0 && !is_empty(&u))
            write_usage(w, &u);
    }
    return 0;
}

/* Writes up to `limit` of them; *next: the name to continue after, in the request's arena; empty: there are no more. */
WEFT_SUSPENDS static int write_page(struct sv_exchange *x, const struct query *q, int64_t first, struct wj_writer *w,
                                    struct upp_str *next, struct upp_err *err)
{
    struct upp_str after = q->after;
    uint64_t shown = 0;
    for (size_t read = 0; read < READ_MAX && shown < q->limit; read += q->limit) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
        struct wl_usage *list;
        size_t n, max = (size_t)WB_MIN(q->limit - shown, (uint64_t)WL_USAGE_PAGE);
        struct upp_str last;
        int r = wl_usage_list(x->server->opts.store, first, after, max, &a, &list, &n, &last, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            if (matches(q, &list[i]) && !is_empty(&list[i])) {
                write_usage(w, &list[i]);
                shown++;
            }
        if (!last.n) {
            *next = last;
            return 0;
        }
        after = wb_arena_dup(&x->arena, last);
    }
    *next = after;
    return wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS static int list_usage(struct sv_exchange *x, struct upp_err *err)
{
    struct query q = {0};
    int64_t today = wb_wall_ms() / WL_DAY_MS;
    struct upp_str next = {NULL, 0};
    struct wj_writer w;
    int r = x->server->opts.keys ? 0 : upp_fail(err, UPP_EREFUSED, "this server counts no usage");
    if (r >= 0)
        r = read_query(x, &q, err);
    if (r < 0)
        return r;
    sv_keys_save(x->server->opts.keys);
    int64_t first = today - (int64_t)q.days + 1;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    r = q.own ? write_own(x, &q, first, today, &w, err) : write_page(x, &q, first, &w, &next, err);
    if (r < 0)
        return r;
    wj_write_close(&w, ']');
    wj_put_bool(&w, "has_more", next.n > 0);
    put_or_null(&w, "next", next);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

static const struct sv_route rows[] = {{SV_GET, "/v1/usage", list_usage, 0, 0}};
const struct sv_door sv_door_usage = {.name = "usage", .prefix = "/v1/usage", .routes = rows, .n_routes = WB_LEN(rows)};
