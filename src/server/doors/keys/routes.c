/* server/doors/keys/routes.c — GET, POST and DELETE /v1/keys: the API keys themselves.
 *
 * Over the Unix socket: of all tenants, or of the one that weft-tenant names. With a key of the scope admin: of its own
 * tenant; it can give a new key neither scopes nor limits wider than its own.
 */
#include "json/value.h"
#include "json/write.h"
#include "server/doors/keys/routes.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/server.h"
#include "server/http/stream.h"

#include "base/defs.h"

enum { SCOPES_TEXT = 1024 };

static void put_seconds(struct wj_writer *w, const char *name, int64_t ms)
{
    if (ms)
        wj_put_i64(w, name, ms / 1000);
    else
        wj_put_null(w, name);
}

/* secret: NULL: not shown. */
static void write_key(struct wj_writer *w, const struct sv_key *k, const char *secret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf limits = WB_BUF(256);
    sv_limits_write(&k->limits, &limits);
    wj_write_open(w, '{');
    wj_put_str(w, "id", wb_cstr(k->id));
    wj_put_str(w, "object", UPP_STR("api_key"));
    wj_put_str(w, "name", k->name);
    wj_put_str(w, "tenant", k->tenant);
    if (k->user.n)
        wj_put_str(w, "user", k->user);
    else
        wj_put_null(w, "user");
    wj_put_open(w, "scopes", '[');
    for (unsigned scope = 1; scope < SV_SCOPE_ALL; scope <<= 1)
        if (k->scopes & scope)
            wj_write_str(w, wb_cstr(sv_scope_name((uint8_t)scope)));
    wj_write_close(w, ']');
    wj_put_str_or_empty(w, "limits", wb_buf_str(&limits));
    put_seconds(w, "created_at", k->created_ms);
    put_seconds(w, "last_used_at", k->used_ms);
    put_seconds(w, "revoked_at", k->revoked_ms);
    if (secret)
        wj_put_str(w, "key", wb_cstr(secret));
    wj_write_close(w, '}');
    if (limits.failed)
        wj_writer_fail(w, limits.failed);
}

static int finish(struct sv_exchange *x, struct wj_writer *w)
{
    x->reply.status = 200;
    return wj_writer_check(w);
}

static int answer_key(struct sv_exchange *x, const struct sv_key *k, const char *secret, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    write_key(&w, k, secret);
    return finish(x, &w);
}

/* A server without a table (tests) has no keys to show. */
static int need_keys(const struct sv_exchange *x, struct upp_err *err)
{
    return x->server->opts.keys ? 0 : upp_fail(err, UPP_EREFUSED, "this server has no API keys");
}

/* The tenant whose keys the client may see; empty: all. */
static struct upp_str tenant_of(const struct sv_exchange *x)
{
    size_t n = 1;
    if (x->conn->local)
        (void)sv_http_header(x->request, UPP_STR("weft-tenant"), &n);
    return n ? x->owner.tenant : (struct upp_str){NULL, 0};
}

static int list_keys(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str   tenant = tenant_of(x);
    struct wj_writer w;
    int              r = need_keys(x, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("list"));
    wj_put_open(&w, "data", '[');
    for (const struct sv_key *k = NULL; (k = sv_keys_next(x->server->opts.keys, k));)
        if (!tenant.n || wb_str_eq(k->tenant, tenant))
            write_key(&w, k, NULL);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return finish(x, &w);
}

/* "run,read" or ["run", "read"]. */
static int read_scopes(struct sv_exchange *x, const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    yyjson_val    *v    = sv_member(b->root, UPP_STR("scopes")), *one;
    struct upp_str text = v && yyjson_is_str(v) ? wj_text(v) : (struct upp_str){NULL, 0};
    size_t         i, max;
    *ret = SV_SCOPE_RUN;
    if (!v)
        return 0;
    if (yyjson_is_arr(v)) {
        WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(SCOPES_TEXT);
        yyjson_arr_foreach(v, i, max, one)
        {
            if (!yyjson_is_str(one))
                return sv_body_wrong(b, one, err, "a scope is a string");
            if (i)
                wb_buf_addc(&all, ',');
            wb_buf_add(&all, wj_text(one));
        }
        if (all.failed)
            return sv_body_wrong(b, v, err, "too many scopes");
        text = wb_arena_dup(&x->arena, wb_buf_str(&all));
    } else if (!text.p)
        return sv_body_wrong(b, v, err, "scopes is a string or an array of strings");
    return sv_scopes_parse(text, ret, err);
}

/* A key gives no more than it has. */
static int confine(const struct sv_exchange *x, struct sv_key_spec *spec, struct upp_err *err)
{
    const struct sv_key *by = x->conn->auth.key;
    if (!by)
        return 0;
    if (!wb_str_eq(spec->tenant, by->tenant))
        return upp_fail(err, UPP_EREFUSED, "this API key manages the keys of its own tenant only");
    for (unsigned scope = 1; scope < SV_SCOPE_ALL; scope <<= 1)
        if (sv_scopes_all(spec->scopes) & scope) {
            int r = sv_auth_need(x, (uint8_t)scope, err);
            if (r < 0)
                return r;
        }
    if (by->user.n && spec->user.n && !wb_str_eq(spec->user, by->user))
        return upp_fail(err, UPP_EREFUSED, "this API key manages the keys of its own user only");
    if (by->user.n)
        spec->user = by->user;
    spec->limits = sv_limits_both(&spec->limits, &by->limits);
    return 0;
}

WEFT_SUSPENDS static int create_key(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"name", "tenant", "user", "scopes", "limits", NULL};
    struct sv_key_spec       spec    = {.tenant = x->owner.tenant};
    struct upp_str           limits  = {NULL, 0};
    struct sv_body           b;
    char                     text[SV_KEY_TEXT + 1];
    const struct sv_key     *k;
    int                      r = need_keys(x, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("name"), &spec.name, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("tenant"), &spec.tenant, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("user"), &spec.user, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("limits"), &limits, err);
    if (r >= 0)
        r = sv_limits_parse(limits, &spec.limits, err);
    if (r >= 0)
        r = read_scopes(x, &b, &spec.scopes, err);
    if (r >= 0)
        r = confine(x, &spec, err);
    if (r >= 0)
        r = sv_keys_add(x->server->opts.keys, &spec, text, &k, err);
    if (r >= 0)
        r = answer_key(x, k, text, err);
    explicit_bzero(text, sizeof text);
    return r;
}

/* Streams of the key end: clients that reconnect are refused. */
WEFT_SUSPENDS static int revoke_key(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_key *k;
    int                  r = need_keys(x, err);
    if (r >= 0)
        r = sv_keys_revoke(x->server->opts.keys, tenant_of(x), x->params[0], &k, err);
    if (r < 0)
        return r;
    sv_server_wake_streams(x->server);
    return answer_key(x, k, NULL, err);
}

static const struct sv_route rows[] = {
    {SV_GET, "/v1/keys", list_keys, 0, 0},
    {SV_POST, "/v1/keys", create_key, 64 << 10, SV_ROUTE_SMALL},
    {SV_DELETE, "/v1/keys/{k}", revoke_key, 0, 0},
};
const struct sv_door sv_door_keys = {
    .name = "keys", .prefix = "/v1/keys", .routes = rows, .n_routes = WB_LEN(rows), .flags = SV_ROUTE_ADMIN};
