/* server/doors/keys/routes.c — GET, POST and DELETE /v1/keys: the API keys themselves.
 *
 * Over the Unix socket: of all tenants, or of the one that weft-tenant names. With a key of the scope admin: of its own
 * tenant, and of the request's user if it has one. It can give a new key no scope that it lacks, no other user without
 * act-as, and a key with limits on what it uses adds none: each new key would count for itself.
 */
#include <stdio.h>

#include "json/value.h"
#include "json/write.h"
#include "server/doors/doors.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/conn.h"
#include "server/http/error.h"
#include "server/http/server.h"
#include "server/http/stream.h"

#include "base/defs.h"
#include "server/doors/objects/list_page.h"

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
    wj_put_str(w, "limits", limits.n ? wb_buf_str(&limits) : (struct upp_str){NULL, 0});
    put_seconds(w, "created_at", k->created_ms);
    put_seconds(w, "last_used_at", k->used_ms);
    put_seconds(w, "revoked_at", k->revoked_ms);
    if (secret)
        wj_put_str(w, "key", wb_cstr(secret));
    wj_write_close(w, '}');
    if (limits.failed)
        wj_writer_fail(w, limits.failed);
}

static int answer_key(struct sv_exchange *x, const struct sv_key *k, const char *secret, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    write_key(&w, k, secret);
    return sv_finish(x, &w);
}

/* A server without a table (tests) has no keys to show. */
static int need_keys(const struct sv_exchange *x, struct upp_err *err)
{
    return x->server->opts.keys ? 0 : upp_fail(err, UPP_EREFUSED, "this server has no API keys");
}

/* Whose keys the client may see. */
static struct sv_key_owner owner_of(const struct sv_exchange *x)
{
    size_t n = 1;
    if (x->conn->local)
        (void)sv_http_header(x->request, UPP_STR("weft-tenant"), &n);
    return (struct sv_key_owner){.tenant = n ? x->owner.tenant : (struct upp_str){NULL, 0}, .user = x->owner.user};
}

/* Parameter `after`: an id, also of a key that was forgotten meanwhile. 1; 0: it is absent. */
static int read_after(struct sv_exchange *x, struct sv_key *ret, struct upp_err *err)
{
    struct upp_str id;
    int r = sv_query(x, UPP_STR("after"), &id, err);
    if (r <= 0)
        return r;
    if (id.n != SV_KEY_ID)
        return upp_fail(err, UPP_EINVALID, "'after' is the id of a key");
    memcpy(ret->id, id.p, id.n);
    return 1;
}

static int list_keys(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_key_owner of = owner_of(x);
    struct sv_key after = {0};
    const struct sv_key *first = NULL, *last = NULL, *k;
    uint64_t limit = 0, n = 0;
    struct wj_writer w;
    int r = need_keys(x, err);
    if (r >= 0)
        r = sv_read_limit(x, &limit, NULL, err);
    if (r >= 0)
        r = read_after(x, &after, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (k = r ? &after : NULL; (k = sv_keys_next(x->server->opts.keys, k));) {
        if (!sv_key_is_of(k, &of))
            continue;
        if (n++ == limit)
            break;
        write_key(&w, k, NULL);
        first = first ? first : k;
        last = k;
    }
    sv_list_end_text(&w, wb_cstr(first ? first->id : ""), wb_cstr(last ? last->id : ""), k != NULL);
    return sv_finish(x, &w);
}

/* "run,read" or ["run", "read"]. */
static int read_scopes(struct sv_exchange *x, const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    yyjson_val *v = sv_member(b->root, UPP_STR("scopes")), *one;
    struct upp_str text = v && yyjson_is_str(v) ? wj_text(v) : (struct upp_str){NULL, 0};
    size_t i, max;
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

static int lacks(struct upp_err *err)
{
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", SV_SCOPE);
    return -UPP_EREFUSED;
}

static int confine_scopes(const struct sv_exchange *x, uint8_t scopes, bool given, struct upp_err *err)
{
    for (unsigned scope = 1; scope < SV_SCOPE_ALL; scope <<= 1)
        if (scopes & scope & ~x->scopes) {
            (void)upp_fail(err, UPP_EREFUSED, "the new key would have the scope '%s', which this key lacks%s",
                           sv_scope_name((uint8_t)scope), given ? "" : ": give 'scopes'");
            return lacks(err);
        }
    return 0;
}

/* A key gives no more than it has. scopes_given: they are not the default. */
static int confine(const struct sv_exchange *x, struct sv_key_spec *spec, bool scopes_given, struct upp_err *err)
{
    const struct sv_key *by = x->conn->auth.key;
    if (!by)
        return 0;
    if (!wb_str_eq(spec->tenant, by->tenant))
        return upp_fail(err, UPP_EREFUSED, "this API key manages the keys of its own tenant only");
    if (by->limits.requests || by->limits.runs || by->limits.tokens)
        return upp_fail(err, UPP_EREFUSED,
                        "this API key has limits of requests, runs or tokens, and each key that it adds would have them"
                        " again: add keys with `weft keys add`, or with a key without such limits");
    int r = confine_scopes(x, spec->scopes, scopes_given, err);
    if (r < 0)
        return r;
    if (!wb_str_eq(spec->user, x->owner.user) && !(x->scopes & SV_SCOPE_ACT_AS)) {
        (void)upp_fail(err, UPP_EREFUSED, "a key for another user needs an API key with the scope act-as");
        return lacks(err);
    }
    spec->limits = sv_limits_both(&spec->limits, &by->limits); /* bytes, which all keys of a tenant share */
    return 0;
}

static int read_spec(struct sv_exchange *x, struct sv_key_spec *spec, bool *scopes_given, struct upp_err *err)
{
    static const char *const known[] = {"name", "tenant", "user", "scopes", "limits", NULL};
    struct upp_str limits = {NULL, 0};
    struct sv_body b;
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("name"), &spec->name, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("tenant"), &spec->tenant, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("user"), &spec->user, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("limits"), &limits, err);
    if (r >= 0)
        r = sv_limits_parse(limits, &spec->limits, err);
    if (r < 0)
        return r;
    *scopes_given = sv_member(b.root, UPP_STR("scopes")) != NULL;
    return read_scopes(x, &b, &spec->scopes, err);
}

/* "key 28c0a16bb11f2a6f 'front'" */
static struct upp_str target_of(struct sv_exchange *x, const struct sv_key *k)
{
    return wb_arena_printf(&x->arena, "key %s '%.*s'", k->id, UPP_FMT(k->name));
}

/* What the audit says about a new key. */
static void note_spec(struct sv_exchange *x, const struct sv_key_spec *spec)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1024);
    wb_buf_add(&text, UPP_STR("scopes "));
    sv_scopes_write(spec->scopes, &text);
    if (spec->limits.requests || spec->limits.runs || spec->limits.tokens || spec->limits.bytes) {
        wb_buf_add(&text, UPP_STR(" limits "));
        sv_limits_write(&spec->limits, &text);
    }
    x->admin->tenant = spec->tenant;
    x->admin->user = spec->user;
    x->admin->detail = wb_arena_dup(&x->arena, wb_buf_str(&text));
}

WEFT_SUSPENDS static int create_key(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_key_spec spec = {.tenant = x->owner.tenant, .user = x->owner.user};
    bool given = false;
    char text[SV_KEY_TEXT + 1];
    const struct sv_key *k;
    struct upp_err wrong = {0};
    int r = need_keys(x, err);
    if (r < 0)
        return r;
    int read = read_spec(x, &spec, &given, &wrong);
    r = sv_admin_begin(x, "key.create", wb_arena_printf(&x->arena, "key '%.*s'", UPP_FMT(spec.name)), err);
    if (r >= 0 && read < 0) {
        *err = wrong;
        r = read;
    }
    if (r < 0)
        return r;
    if (x->admin)
        note_spec(x, &spec);
    r = confine(x, &spec, given, err);
    if (r >= 0)
        r = sv_keys_add(x->server->opts.keys, &spec, text, &k, err);
    if (r >= 0) {
        if (x->admin)
            x->admin->target = target_of(x, k);
        r = answer_key(x, k, text, err);
    }
    explicit_bzero(text, sizeof text);
    return r;
}

/* Streams of the key end: clients that reconnect are refused. */
WEFT_SUSPENDS static int revoke_key(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_key_owner of = owner_of(x);
    const struct sv_key *k;
    int r = need_keys(x, err);
    if (r >= 0)
        r = sv_admin_begin(x, "key.revoke", wb_arena_printf(&x->arena, "key '%.*s'", UPP_FMT(x->params[0])), err);
    if (r >= 0)
        r = sv_keys_revoke(x->server->opts.keys, &of, x->params[0], &k, err);
    if (r < 0)
        return r;
    if (x->admin) {
        x->admin->tenant = k->tenant;
        x->admin->user = k->user;
        x->admin->target = target_of(x, k);
    }
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
