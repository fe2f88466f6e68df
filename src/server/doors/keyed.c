/* server/doors/keyed.c — looks an Idempotency-Key up, and adds it to the commit of what the request makes. */
#include "server/doors/keyed.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "server/doors/start.h"
#include "server/http/server.h"

/* Does the change make what the key is for? */
static bool makes(const struct sv_keyed *k, const struct wl_change *c, struct wb_uuid *ret)
{
    if (k->makes == SV_MAKES_THREAD && c->kind == WL_ADD_THREAD)
        *ret = c->thread->id;
    else if (k->makes == SV_MAKES_ENTRIES && c->kind == WL_ADD_ROW)
        *ret =
            wm_id_uuid((struct wm_id){.node = c->row->node, .index = wl_pos_index(c->row->pos), .noun = WM_NOUN_ENTRY});
    else
        return false;
    return true;
}

static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct sv_keyed *k = WB_OUTER(s, struct sv_keyed, store);
    bool found = false;
    for (size_t i = 0; i < c->n && k->key.key.n && !k->made && !found; i++)
        found = makes(k, &c->changes[i], &k->key.object);
    if (!found)
        return wl_store_commit(s->inner, c, err);
    struct wl_change *list = wb_calloc(c->n + 1, sizeof *list);
    if (!list)
        return upp_fail(err, UPP_ENOMEM, "no memory for a commit");
    struct wl_commit with = *c;
    memcpy(list, c->changes, c->n * sizeof *list);
    list[with.n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &k->key};
    with.changes = list;
    int r = wl_store_commit(s->inner, &with, err);
    c->conflict = with.conflict;
    wb_free(list);
    k->made = r >= 0;
    bool taken = r == -UPP_EBUSY && with.conflict == c->n;
    return taken ? upp_fail(err, UPP_EREFUSED, "another request with this Idempotency-Key was first") : r;
}

static const struct wl_store_ops ops = {
    .size = sizeof ops, .name = "keyed", .commit = commit, /* no close: the request ends, not the store */
};

static int digest(struct upp_str query, struct upp_str body, unsigned char ret[32], struct upp_err *err)
{
    unsigned n = 32;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(ctx, query.n ? query.p : "", query.n) == 1 && EVP_DigestUpdate(ctx, "\n", 1) == 1 &&
              EVP_DigestUpdate(ctx, body.n ? body.p : "", body.n) == 1 && EVP_DigestFinal_ex(ctx, ret, &n) == 1;
    EVP_MD_CTX_free(ctx);
    return ok ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for a digest");
}

/* What the key has made. 1; 0: nothing yet. */
WEFT_SUSPENDS static int find_made(struct sv_keyed *k, struct upp_err *err)
{
    struct wl_key had;
    int r = wl_get_key(k->x->server->opts.store, &k->x->owner, k->key.route, k->key.key, &had, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (memcmp(had.body, k->key.body, sizeof had.body) != 0)
        return upp_fail(err, UPP_EREFUSED, "the idempotency key was used with another request");
    k->object = had.object;
    return 1;
}

int sv_keyed_begin(struct sv_exchange *x, enum sv_makes what, struct sv_keyed *k, struct upp_err *err)
{
    *k = (struct sv_keyed){.store = {.ops = &ops, .inner = x->server->opts.store}, .x = x, .makes = (uint8_t)what};
    int r = sv_key_header(x, &k->key.key, err);
    if (r <= 0)
        return r;
    k->key.route = sv_key_route(x, wb_arena_printf(&x->arena, "POST %.*s", UPP_FMT(x->request->path)).p);
    k->key.created_ms = wb_wall_ms();
    r = wb_arena_check(&x->arena, err);
    if (r < 0 || what == SV_MAKES_FILE)
        return r;
    r = digest(x->request->query, wb_buf_str(&x->request->body), k->key.body, err);
    if (r < 0) {
        k->key.key = (struct upp_str){0}; /* without a digest, sv_keyed_end has nothing to look for */
        return r;
    }
    return find_made(k, err);
}

/* Whatever the write failed with, another request may have used the key since sv_keyed_begin looked for it: its commit
 * took the document's id or the next position first. */
int sv_keyed_end(struct sv_keyed *k, int r, struct upp_err *err)
{
    struct upp_err why;
    if (r >= 0 || !k->key.key.n)
        return r;
    int had = find_made(k, &why);
    if (had != -UPP_EREFUSED)
        return had > 0 ? had : r;
    if (err)
        *err = why;
    return had;
}

int sv_keyed_thread(struct sv_keyed *k, int r, struct wl_thread *t, struct upp_err *err)
{
    r = sv_keyed_end(k, r, err);
    return r > 0 ? wl_get_thread(k->x->server->opts.store, &k->x->owner, k->object, &k->x->arena, t, err) : r;
}

int sv_keyed_file(struct sv_keyed *k, struct upp_str body, struct upp_err *err)
{
    if (!k->key.key.n)
        return 0;
    int r = digest(k->x->request->query, body, k->key.body, err);
    return r < 0 ? r : find_made(k, err);
}
