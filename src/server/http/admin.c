/* server/http/admin.c — begins and ends the row of the audit of a request. */
#include "server/http/admin.h"

#include <sys/socket.h>

#include "server/http/auth.h"
#include "server/http/conn.h"
#include "server/http/server.h"

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
