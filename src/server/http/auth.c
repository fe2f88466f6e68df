/* server/http/auth.c — finds the key, the tenant and the user of a request, and checks scopes and limits. */
#include "server/http/auth.h"

#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/defs.h"
#include "server/http/conn.h"
#include "server/http/route.h"
#include "server/http/error.h"
#include "server/http/server.h"

/* What the request gives as its key; empty: none. A header that is there twice gives none. */
static struct upp_str given_key(const struct sv_http *h)
{
    struct upp_str scheme = UPP_STR("Bearer ");
    size_t n;
    struct upp_str text = sv_http_header(h, UPP_STR("authorization"), &n);
    if (n == 1 && text.n > scheme.n && wb_str_eq_nocase(wb_str_sub(text, 0, scheme.n), scheme))
        return wb_str_trim(wb_str_sub(text, scheme.n, SIZE_MAX));
    text = sv_http_header(h, UPP_STR("x-api-key"), &n);
    return n == 1 ? text : (struct upp_str){NULL, 0};
}

static int deny(struct sv_conn *c, int status, const char *code, const char *why)
{
    c->auth.code = code;
    c->http.why = why;
    return status;
}

/* One sentence for a missing, a malformed, an unknown, a wrong and a revoked key. */
static int deny_key(struct sv_conn *c)
{
    return deny(c, 401, "invalid_api_key",
                "no valid API key: send one as 'Authorization: Bearer KEY' or 'x-api-key: KEY'");
}

/* Without a valid key. Not of one that was revoked meanwhile: its client was known. */
static int deny_stranger(struct sv_conn *c)
{
    uint64_t wait = sv_strangers_count(&c->server->strangers, wb_cstr(c->client), wb_mono_ms());
    c->auth.stranger = true;
    if (!wait)
        return deny_key(c);
    c->auth.retry_ms = wait;
    return deny(c, 429, "rate_limit_exceeded", "too many requests without a valid API key come from this address");
}

static int find_key(struct sv_conn *c)
{
    struct sv_keys *keys = c->server->opts.keys;
    struct sv_key *k = keys ? sv_keys_find(keys, given_key(&c->http)) : NULL;
    if (!k)
        return deny_stranger(c);
    k->refs++;
    c->auth.key = k;
    c->auth.scopes = sv_scopes_all(k->scopes);
    c->owner = (struct wl_owner){.tenant = k->tenant, .user = k->user};
    return 0;
}

static int find_tenant(struct sv_conn *c)
{
    size_t n;
    struct upp_str name = sv_http_header(&c->http, UPP_STR("weft-tenant"), &n);
    if (!n)
        return 0;
    if (!c->local)
        return deny(c, 403, SV_SCOPE, "weft-tenant is for the Unix socket: elsewhere the API key says the tenant");
    if (n > 1 || sv_tenant_check(name, NULL) < 0)
        return deny(c, 400, "invalid_request", "weft-tenant is not the name of a tenant");
    c->owner.tenant = name;
    return 0;
}

static int find_user(struct sv_conn *c)
{
    size_t n;
    struct upp_str name = sv_http_header(&c->http, UPP_STR("weft-user"), &n);
    if (!n)
        return 0;
    if (!(c->auth.scopes & SV_SCOPE_ACT_AS))
        return deny(c, 403, SV_SCOPE, "weft-user needs an API key with the scope act-as");
    if (n > 1 || sv_user_check(name, NULL) < 0)
        return deny(c, 400, "invalid_request", "weft-user is not the name of a user");
    c->owner.user = name;
    return 0;
}

static unsigned flags_of(const struct sv_conn *c)
{
    return c->match.route->flags | c->match.door->flags;
}

static uint8_t scope_of(const struct sv_conn *c)
{
    unsigned flags = flags_of(c);
    if (flags & SV_ROUTE_ADMIN || (flags & SV_ROUTE_OPERATOR && sv_keys_required(c->server->opts.keys)))
        return SV_SCOPE_ADMIN;
    return flags & SV_ROUTE_READ || c->http.method & (SV_GET | SV_HEAD) ? SV_SCOPE_READ : SV_SCOPE_RUN;
}

static int check_scope(struct sv_conn *c)
{
    uint8_t scope = scope_of(c);
    if (c->auth.scopes & scope)
        return 0;
    return deny(c, 403, SV_SCOPE,
                scope == SV_SCOPE_ADMIN  ? "this needs an API key with the scope admin, or the Unix socket"
                : scope == SV_SCOPE_READ ? "this needs an API key with the scope read"
                                         : "this needs an API key with the scope run");
}

static int deny_limit(struct sv_conn *c, const char *code, const struct upp_err *err)
{
    (void)snprintf(c->auth.why, sizeof c->auth.why, "%.*s", (int)sizeof c->auth.why - 1, err->msg);
    c->auth.retry_ms = err->retry_after_ms;
    return deny(c, 429, code, c->auth.why);
}

static int check_limits(struct sv_conn *c)
{
    struct upp_err err = {0};
    if (!c->auth.key)
        return 0;
    int r = sv_key_count(c->server->opts.keys, c->auth.key, &err);
    c->auth.bucket = c->auth.key->bucket;
    if (r < 0)
        return deny_limit(c, "rate_limit_exceeded", &err);
    if (!(c->http.method & (SV_POST | SV_PUT | SV_PATCH)) || flags_of(c) & SV_ROUTE_SMALL ||
        sv_key_may_store(c->auth.key, &err) >= 0)
        return 0;
    return deny_limit(c, "insufficient_quota", &err);
}

/* Proxies let in whoever can reach them, also where the server itself listens on a loopback address only. */
static bool needs_key(struct sv_conn *c)
{
    return !c->local && (sv_keys_required(c->server->opts.keys) || sv_conn_settings(c)->proxies.n);
}

int sv_auth_check(struct sv_conn *c)
{
    bool keyed = needs_key(c);
    c->auth.scopes = c->local ? SV_SCOPE_ALL : SV_SCOPE_ALL & ~SV_SCOPE_ADMIN;
    if (!keyed)
        c->owner = (struct wl_owner){.tenant = UPP_STR("local")};
    if (flags_of(c) & SV_ROUTE_OPEN)
        return 0;
    int status = keyed ? find_key(c) : 0;
    if (!status)
        status = check_limits(c); /* before the scope: a client without it may not try for free */
    if (!status)
        status = check_scope(c);
    if (!status)
        status = find_tenant(c);
    return status ? status : find_user(c);
}

bool sv_auth_refuses(struct sv_exchange *x)
{
    if (!sv_auth_revoked(&x->conn->auth))
        return false;
    sv_auth_deny(x, deny_key(x->conn));
    return true;
}

void sv_auth_done(struct sv_auth *a)
{
    if (a->key)
        a->key->refs--;
    *a = (struct sv_auth){0};
}

void sv_auth_deny(struct sv_exchange *x, int status)
{
    sv_error_refuse_as(x, x->conn->match.door, status, x->request->why, x->conn->auth.code, x->conn->auth.retry_ms);
}

/* x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests. */
static void put_limit(struct sv_exchange *x, const char *what, uint64_t limit, uint64_t left, uint64_t reset_ms)
{
    char name[64], value[SV_DURATION];
    (void)snprintf(name, sizeof name, "x-ratelimit-limit-%s", what);
    (void)snprintf(value, sizeof value, "%llu", (unsigned long long)limit);
    sv_reply_header(&x->reply, name, wb_cstr(value));
    (void)snprintf(name, sizeof name, "x-ratelimit-remaining-%s", what);
    (void)snprintf(value, sizeof value, "%llu", (unsigned long long)left);
    sv_reply_header(&x->reply, name, wb_cstr(value));
    (void)snprintf(name, sizeof name, "x-ratelimit-reset-%s", what);
    sv_reply_header(&x->reply, name, sv_duration(reset_ms, value));
}

void sv_auth_headers(struct sv_exchange *x)
{
    const struct sv_key *k = x->conn->auth.key;
    if (x->reply.status == 401) {
        sv_reply_header(&x->reply, "WWW-Authenticate", UPP_STR("Bearer"));
        return;
    }
    if (k && k->limits.requests) {
        uint64_t now = wb_mono_ms(), per_minute = k->limits.requests;
        put_limit(x, "requests", per_minute, sv_bucket_left(&x->conn->auth.bucket, per_minute, now),
                  sv_bucket_reset_ms(&x->conn->auth.bucket, per_minute, now));
    }
    if (k && k->limits.tokens) {
        int64_t now = wb_wall_ms();
        uint64_t used = sv_key_tokens(k, now), limit = k->limits.tokens;
        put_limit(x, "tokens", limit, limit > used ? limit - used : 0, SV_DAY_MS - (uint64_t)(now % SV_DAY_MS));
    }
}

int sv_auth_need(const struct sv_exchange *x, uint8_t scope, struct upp_err *err)
{
    if (x->scopes & scope)
        return 0;
    int r = upp_fail(err, UPP_EREFUSED, "this needs an API key with the scope %s", sv_scope_name(scope));
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", SV_SCOPE);
    return r;
}

struct upp_str sv_auth_key(const struct sv_exchange *x)
{
    return x->conn->auth.key ? wb_cstr(x->conn->auth.key->id) : (struct upp_str){NULL, 0};
}

struct upp_str sv_auth_key_name(const struct sv_exchange *x)
{
    return x->conn->auth.key ? x->conn->auth.key->name : (struct upp_str){NULL, 0};
}

int sv_auth_may_start(const struct sv_exchange *x, struct upp_err *err)
{
    return x->conn->auth.key ? sv_key_may_start(x->conn->auth.key, err) : 0;
}

/* Of the process at the other end of a Unix socket; -1: not known. */
static int64_t uid_of(const struct sv_conn *c)
{
    struct ucred who;
    socklen_t n = sizeof who;
    return getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 ? (int64_t)who.uid : -1;
}

void sv_admin_actor(const struct sv_exchange *x, struct wl_admin *row)
{
    const struct sv_key *key = x->conn->auth.key;
    row->actor = key ? WL_ADMIN_KEY : WL_ADMIN_LOCAL;
    row->uid = x->conn->local ? uid_of(x->conn) : -1;
    row->tenant = x->owner.tenant;
    row->user = x->owner.user;
    row->request = wb_cstr(x->request_id);
    if (key) {
        row->key = wb_cstr(key->id);
        row->key_name = key->name;
    }
}

int sv_admin_begin(struct sv_exchange *x, const char *action, struct upp_str target, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_admin *row = x->admin;
    if (row) {
        row->action = wb_cstr(action);
        row->target = target;
        return 0;
    }
    if (!s)
        return 0;
    row = wb_new(&x->arena, struct wl_admin);
    if (!row)
        return wb_arena_check(&x->arena, err);
    sv_admin_actor(x, row);
    row->action = wb_cstr(action);
    row->target = target;
    int r = wl_admin_begin(s, row, err);
    if (r >= 0)
        x->admin = row;
    return r;
}

int sv_admin_others(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_http *h = x->request;
    struct upp_str pattern = wb_cstr(x->conn->match.route->pattern);
    bool exports = wb_str_find(pattern, UPP_STR("/export"), 0) != SIZE_MAX;
    size_t tenants, users;
    if (!(x->scopes & SV_SCOPE_ADMIN) || !(exports || h->method == SV_DELETE))
        return 0;
    (void)sv_http_header(h, UPP_STR("weft-tenant"), &tenants);
    (void)sv_http_header(h, UPP_STR("weft-user"), &users);
    if (!tenants && !users)
        return 0;
    return sv_admin_begin(x, exports ? "data.export" : "data.delete", h->path, err);
}

void sv_admin_end(struct sv_exchange *x, int r, const struct upp_err *err)
{
    if (x->admin)
        wl_admin_end(x->server->opts.store, x->admin, r, err);
    x->admin = NULL;
}
