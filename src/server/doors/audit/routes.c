/* server/doors/audit/routes.c — GET and POST /v1/audit: the rows of log/admin.h.
 *
 * GET needs the scope admin. Over the Unix socket it shows all rows, or those of the tenant that weft-tenant names;
 * with a key those of its tenant, and of its user if it has one. POST is for commands that act without the server (weft
 * backup) and report it over the Unix socket.
 */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/doors.h"
#include "server/doors/objects/list_page.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/server.h"

enum { READ_MAX = 10000 /* rows that one request reads */ };

struct query {
    struct upp_str tenant, user; /* empty: of all */
    struct upp_str actor;        /* empty: all */
    uint64_t limit;
    char after[WL_ADMIN_ID + 1]; /* empty: from the newest */
    char end[WL_ADMIN_ID + 1];   /* of `since`: later ids are older; empty: to the oldest */
};

static bool matches(const struct query *q, const struct wl_admin *row)
{
    if (q->tenant.n && !wb_str_eq(q->tenant, row->tenant))
        return false;
    if (q->user.n && !wb_str_eq(q->user, row->user))
        return false;
    return !q->actor.n || wb_str_eq(q->actor, row->key) || wb_str_eq(q->actor, row->key_name) ||
           wb_str_eq(q->actor, row->user) || wb_str_eq(q->actor, wb_cstr(wl_admin_actors[row->actor]));
}

/* What the client may see. */
static void confine(const struct sv_exchange *x, struct query *q)
{
    size_t named = 1;
    if (x->conn->local)
        (void)sv_http_header(x->request, UPP_STR("weft-tenant"), &named);
    if (!named)
        return;
    q->tenant = x->owner.tenant;
    q->user = x->owner.user;
}

static int read_times(struct sv_exchange *x, struct query *q, struct upp_err *err)
{
    int64_t ms;
    int r = sv_read_time(x, UPP_STR("since"), &ms, err);
    if (r < 0)
        return r;
    if (r > 0)
        wl_admin_before(ms, q->end);
    r = sv_read_time(x, UPP_STR("until"), &ms, err);
    if (r > 0)
        wl_admin_before(ms, q->after);
    return r;
}

static int read_tenant(struct sv_exchange *x, struct query *q, struct upp_err *err)
{
    struct upp_str tenant;
    int r = sv_query(x, UPP_STR("tenant"), &tenant, err);
    if (r <= 0)
        return r;
    if (q->tenant.n && !wb_str_eq(tenant, q->tenant))
        return upp_fail(err, UPP_EREFUSED, "this shows tenant '%.*s' only", UPP_FMT(q->tenant));
    q->tenant = tenant;
    return 0;
}

static int read_after(struct sv_exchange *x, struct query *q, struct upp_err *err)
{
    struct upp_str after;
    int r = sv_query(x, UPP_STR("after"), &after, err);
    if (r <= 0)
        return r;
    if (wb_str_starts(after, UPP_STR("act_")))
        after = wb_str_sub(after, 4, SIZE_MAX);
    if (after.n != WL_ADMIN_ID)
        return upp_fail(err, UPP_EINVALID, "'after' is the 'next' of the page before");
    if (memcmp(after.p, q->after, WL_ADMIN_ID) > 0) /* not before where `until` begins */
        memcpy(q->after, after.p, WL_ADMIN_ID);
    return 0;
}

static int read_query(struct sv_exchange *x, struct query *q, struct upp_err *err)
{
    confine(x, q);
    int r = sv_read_limit(x, &q->limit, NULL, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("actor"), &q->actor, err);
    if (r >= 0)
        r = read_times(x, q, err);
    if (r >= 0)
        r = read_tenant(x, q, err);
    return r < 0 ? r : read_after(x, q, err);
}

static void put_time(struct wj_writer *w, const char *name, int64_t ms)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    wj_put_str(w, name, wb_time_upp(&t, text));
}

static void put_id(struct wj_writer *w, const char *name, const char *id)
{
    char text[4 + WL_ADMIN_ID + 1];
    (void)snprintf(text, sizeof text, "act_%s", id);
    wj_put_str(w, name, id[0] ? wb_cstr(text) : (struct upp_str){NULL, 0});
}

static void write_row(struct wj_writer *w, const struct wl_admin *row)
{
    wj_write_open(w, '{');
    put_id(w, "id", row->id);
    wj_put_str(w, "object", UPP_STR("audit.action"));
    put_time(w, "time", row->time_ms);
    wj_put_str(w, "action", row->action);
    wj_put_str(w, "target", row->target.n ? row->target : (struct upp_str){NULL, 0});
    wj_put_str(w, "outcome", wb_cstr(wl_admin_outcomes[row->outcome]));
    wj_put_open(w, "actor", '{');
    wj_put_str(w, "type", wb_cstr(wl_admin_actors[row->actor]));
    if (row->key.n) {
        wj_put_str(w, "key", row->key);
        wj_put_str(w, "name", row->key_name);
    }
    if (row->uid >= 0)
        wj_put_i64(w, "uid", row->uid);
    wj_write_close(w, '}');
    wj_put_str(w, "tenant", row->tenant.n ? row->tenant : (struct upp_str){NULL, 0});
    wj_put_str(w, "user", row->user.n ? row->user : (struct upp_str){NULL, 0});
    wj_put_text(w, "detail", row->detail.n ? row->detail : (struct upp_str){NULL, 0});
    wj_put_text(w, "error", row->error.n ? row->error : (struct upp_str){NULL, 0});
    wj_put_text(w, "request", row->request.n ? row->request : (struct upp_str){NULL, 0});
    wj_write_close(w, '}');
}

/* Writes rows until there are `limit` of them, READ_MAX were read, or no more are left (*next is empty then). */
WEFT_SUSPENDS static int write_rows(struct sv_exchange *x, struct query *q, struct wj_writer *w,
                                    char next[WL_ADMIN_ID + 1], struct upp_err *err)
{
    uint64_t shown = 0;
    size_t n = WL_ADMIN_PAGE;
    for (size_t read = 0; n == WL_ADMIN_PAGE; read += n) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_admin *rows;
        int r = wl_admin_list(x->server->opts.store, wb_cstr(q->after), WL_ADMIN_PAGE, &a, &rows, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            if (q->end[0] && strcmp(rows[i].id, q->end) > 0)
                return 0;
            if (shown == q->limit) {
                memcpy(next, q->after, WL_ADMIN_ID + 1);
                return 0;
            }
            memcpy(q->after, rows[i].id, WL_ADMIN_ID + 1);
            if (!matches(q, &rows[i]))
                continue;
            write_row(w, &rows[i]);
            shown++;
        }
        if (read + n >= READ_MAX) {
            memcpy(next, q->after, WL_ADMIN_ID + 1);
            return 0;
        }
    }
    return 0;
}

WEFT_SUSPENDS static int list_rows(struct sv_exchange *x, struct upp_err *err)
{
    struct query q = {0};
    char next[WL_ADMIN_ID + 1] = "";
    struct wj_writer w;
    int r = x->server->opts.store ? 0 : upp_fail(err, UPP_EREFUSED, "this server has no store");
    if (r >= 0)
        r = read_query(x, &q, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    r = write_rows(x, &q, &w, next, err);
    if (r < 0)
        return r;
    wj_write_close(&w, ']');
    wj_put_bool(&w, "has_more", next[0] != 0);
    put_id(&w, "next", next);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

/* What commands report. */
static const char *const reported[] = {"backup", "backup.restore", "data.export", "store.rewrite"};

static int read_action(const struct sv_body *b, const char **ret, struct upp_err *err)
{
    struct upp_str action = {NULL, 0};
    int r = sv_body_str(b, b->root, UPP_STR("action"), &action, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(reported); i++)
        if (wb_str_eq(action, wb_cstr(reported[i]))) {
            *ret = reported[i];
            return 0;
        }
    return r < 0 ? r : upp_fail(err, UPP_EINVALID, "action is backup, backup.restore, data.export or store.rewrite");
}

/* {"action": "backup", "target": "FILE", "detail": "...", "error": "..."}; error: it failed, and why. */
WEFT_SUSPENDS static int report(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"action", "target", "detail", "error", NULL};
    struct upp_str target = {NULL, 0}, detail = {NULL, 0}, error = {NULL, 0};
    const char *action = NULL;
    struct sv_body b;
    struct wl_admin row = {0};
    struct wj_writer w;
    if (!x->conn->local)
        return upp_fail(err, UPP_EREFUSED, "only commands report actions, over the Unix socket");
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_action(&b, &action, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("target"), &target, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("detail"), &detail, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("error"), &error, err);
    if (r < 0)
        return r;
    sv_admin_actor(x, &row);
    size_t named;
    (void)sv_http_header(x->request, UPP_STR("weft-tenant"), &named);
    if (!named)
        row.tenant = (struct upp_str){NULL, 0};
    row.action = wb_cstr(action);
    row.target = target;
    row.detail = detail;
    r = wl_admin_begin(x->server->opts.store, &row, err);
    if (r < 0)
        return r;
    wl_admin_end_as(x->server->opts.store, &row, error);
    wj_writer_init(&w, &x->reply.body, err);
    write_row(&w, &row);
    return sv_finish(x, &w);
}

static const struct sv_route rows[] = {
    {SV_GET, "/v1/audit", list_rows, 0, 0},
    {SV_POST, "/v1/audit", report, 16 << 10, SV_ROUTE_SMALL},
};
const struct sv_door sv_door_audit = {
    .name = "audit", .prefix = "/v1/audit", .routes = rows, .n_routes = WB_LEN(rows), .flags = SV_ROUTE_ADMIN};
