/* server/doors/envelopes/find.c — from the id of an envelope to its exchange, and what the exchange consists of.
 *
 * Nothing is stored for it but one alias for each envelope that came in. The id of a reply is that of the run that
 * wrote it, and the id of a request of ours is of its thread's family.
 */
#include <openssl/evp.h>

#include "base/defs.h"
#include "dialects/envelope/chains.h"
#include "json/edit.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/names.h"
#include "model/upp_json.h"
#include "server/doors/envelopes/routes.h"
#include "server/doors/options.h"
#include "server/http/auth.h"
#include "server/http/server.h"

enum {
    BATCH = 64,
    PAGE = 64,
    FAMILY = 1024, /* threads of a family that are looked at */
    BATCH_MEMORY = 512 << 20
};
#define PEERS UPP_STR("envelopes.peers")

int sv_envelope_digest(struct sv_exchange *x, struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    if (EVP_Digest(text.p ? text.p : "", text.n, hash, &n, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a hash");
    for (unsigned i = 0; i < n; i++) {
        hex[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    *ret = wb_arena_dup(&x->arena, wb_str(hex, 2 * (size_t)n));
    return wb_arena_check(&x->arena, err);
}

int sv_envelope_name(struct sv_exchange *x, const char *prefix, struct upp_str text, struct upp_str *ret,
                     struct upp_err *err)
{
    /* Joined, not printed: an id may have a NUL. */
    const struct upp_str parts[] = {wb_arena_printf(&x->arena, "%zu:", x->owner.user.n), x->owner.user, UPP_STR(":"),
                                    text};
    struct upp_str all = wb_arena_join(&x->arena, parts, WB_LEN(parts)), digest;
    int r = wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = sv_envelope_digest(x, all, &digest, err);
    if (r < 0)
        return r;
    *ret = wb_arena_printf(&x->arena, "%s:%.*s", prefix, UPP_FMT(digest));
    return wb_arena_check(&x->arena, err);
}

int sv_peer_set(struct sv_exchange *x, const struct we_peer *peer, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct upp_str text = wb_arena_printf(&x->arena, "{\"types\":%u,\"max_tokens\":%llu}", peer->types,
                                          (unsigned long long)peer->max_tokens);
    struct wl_value value = {.space = PEERS, .bytes = text};
    struct wl_change change = {.kind = WL_PUT_VALUE, .value = &value};
    struct wl_commit c = {.owner = x->owner, .changes = &change, .n = 1};
    int r = sv_envelope_name(x, "peer", sv_auth_key(x), &value.name, err);
    return r < 0 ? r : wl_store_commit(s, &c, err);
}

static uint64_t number(yyjson_val *v, const char *name)
{
    yyjson_val *n = yyjson_obj_get(v, name);
    uint64_t ret = 0;
    return n && yyjson_is_raw(n) && wj_num_u64(wj_text(n), &ret) ? ret : 0;
}

int sv_peer_get(struct sv_exchange *x, struct we_peer *ret, struct upp_err *err)
{
    struct upp_str name, text;
    yyjson_val *v;
    *ret = (struct we_peer){0};
    int r = sv_envelope_name(x, "peer", sv_auth_key(x), &name, err);
    if (r >= 0)
        r = wl_get_value(x->server->opts.store, &x->owner, PEERS, name, &x->arena, &text, err);
    if (r >= 0)
        r = wj_read(&x->arena, text, NULL, &v, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    *ret = (struct we_peer){.types = (uint32_t)number(v, "types"), .max_tokens = number(v, "max_tokens")};
    return 0;
}

struct walk {
    sv_envelope_fn *fn;
    void *arg;
    struct wm_names seen;
    struct wb_arena ids;
    struct wd_chains chains;
};

static int walk_message(struct walk *w, const struct upp_message *m, struct wb_arena *a, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < m->n_parts; i++) {
        yyjson_val *v = wd_envelope_recorded(a, wd_envelope_part_text(&m->parts[i]));
        uint32_t number_of;
        r = wb_arena_check(a, err);
        if (r < 0 || !v)
            continue;
        struct upp_str id = wb_arena_dup(&w->ids, wd_envelope_id(v));
        r = wb_arena_check(&w->ids, err);
        if (r >= 0)
            r = wd_chains_part(&w->chains, a, m, &m->parts[i], v, &v, err);
        if (r >= 0)
            r = id.n ? wm_names_add(&w->seen, id, &number_of, err) : 1;
        r = r > 0 ? w->fn(w->arg, v, err) : r;
    }
    return r;
}

static WEFT_SUSPENDS int walk_thread(struct sv_exchange *x, const struct wl_thread *t, struct walk *w,
                                     struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    int r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    for (uint32_t at = 0; r == 0 && at < path.length; at += BATCH) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(BATCH_MEMORY);
        uint32_t n = WB_MIN((uint32_t)BATCH, path.length - at);
        struct wl_line *lines;
        size_t got;
        r = wl_path_tail(s, &x->owner, &path, at + n, n, &a, &lines, &got, err);
        for (size_t i = 0; r == 0 && i < got; i++)
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE)
                r = walk_message(w, &lines[i].entry.message, &a, err);
    }
    return r;
}

int sv_envelopes_each(struct sv_exchange *x, const struct wl_thread *t, sv_envelope_fn *fn, void *arg,
                      struct upp_err *err)
{
    struct walk w = {.fn = fn, .arg = arg, .ids = WB_ARENA(BATCH_MEMORY)};
    int r = walk_thread(x, t, &w, err);
    wm_names_done(&w.seen);
    wb_arena_done(&w.ids);
    wd_chains_done(&w.chains);
    return r;
}

static bool is_own(const struct sv_exchange *x, const struct wl_thread *t)
{
    return t->kind == WL_MAIN && wb_str_eq(t->owner.user, x->owner.user);
}

WEFT_SUSPENDS static int thread_of_run(struct sv_exchange *x, struct wb_uuid id, struct wl_thread *ret,
                                       struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wm_run run;
    int r = wl_get_run(s, &x->owner, id, &x->arena, &run, err);
    if (r >= 0 && run.depth)
        r = wl_get_run(s, &x->owner, run.root, &x->arena, &run, err);
    if (r >= 0 && !wb_str_eq(run.agent, UPP_STR(WE_ROUTER_AGENT)))
        return -UPP_ENOTFOUND; /* a run, but not of an envelope */
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, run.thread, &x->arena, ret, err);
    return r < 0 ? r : is_own(x, ret) ? 0 : -UPP_ENOTFOUND;
}

struct wanted {
    struct upp_str id;
};

static int is_wanted(void *arg, yyjson_val *envelope, struct upp_err *err)
{
    const struct wanted *w = arg;
    (void)err;
    return wb_str_eq(wd_envelope_id(envelope), w->id);
}

/* A request of ours: among the threads of its family. */
WEFT_SUSPENDS static int thread_of_family(struct sv_exchange *x, struct wb_uuid id, struct upp_str text,
                                          struct wl_thread *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread *list;
    struct wb_uuid after = {{0}};
    struct wanted wanted = {text};
    size_t n = PAGE;
    for (size_t all = 0; n == PAGE; all += n) {
        int r = wl_list_family_threads(s, &x->owner, wl_family(id), after, PAGE, &x->arena, &list, &n, err);
        if (r < 0)
            return r;
        if (all == FAMILY && n)
            return upp_fail(err, UPP_ELIMIT,
                            "the envelope was not found in %d threads of its conversation: ask for its run", FAMILY);
        for (size_t i = 0; i < n; i++) {
            after = list[i].id;
            r = is_own(x, &list[i]) ? sv_envelopes_each(x, &list[i], is_wanted, &wanted, err) : 0;
            *ret = list[i];
            if (r != 0)
                return r < 0 ? r : 0;
        }
    }
    return -UPP_ENOTFOUND;
}

int sv_envelope_thread(struct sv_exchange *x, struct upp_str id, bool search, struct wl_thread *ret,
                       struct upp_err *err)
{
    struct wb_uuid uuid;
    struct upp_str name;
    int r = sv_envelope_name(x, "envelope", id, &name, err);
    if (r >= 0)
        r = wl_get_alias(x->server->opts.store, &x->owner, WL_ALIAS_RUN, name, &uuid, err);
    if (r >= 0)
        r = thread_of_run(x, uuid, ret, err);
    if (r == -UPP_ENOTFOUND && wb_uuid_parse(id, &uuid)) {
        r = thread_of_run(x, uuid, ret, err);
        if (r == -UPP_ENOTFOUND && search)
            r = thread_of_family(x, uuid, id, ret, err);
    }
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "there is no envelope '%.*s'", UPP_FMT(id)) : r;
}

/* 1: the input is an envelope with an id that no other has; the alias by which it is found and the digest of its text,
 * in the arena. */
WEFT_SUSPENDS static int alias_of(struct sv_exchange *x, const struct upp_message *input, struct upp_str *alias,
                                  struct upp_str *digest, struct upp_err *err)
{
    struct we_envelope e;
    struct wl_thread known;
    struct upp_err why = {0};
    struct upp_str text = wb_str_trim(wm_message_text(&x->arena, input));
    int r = wb_arena_check(&x->arena, err);
    if (r < 0)
        return r;
    r = sv_envelope_read(x, text, NULL, &e, &why);
    if (r == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for an envelope");
    if (r < 0 || !e.id.n || e.id.n > WE_MAX_ID) /* the router refuses it, or nobody can ask for it */
        return 0;
    r = sv_envelope_thread(x, e.id, true, &known, err);
    if (r != -UPP_ENOTFOUND)
        return r < 0 ? r : 0;
    r = sv_envelope_name(x, "envelope", e.id, alias, err);
    if (r >= 0)
        r = sv_envelope_digest(x, text, digest, err);
    return r < 0 ? r : 1;
}

int sv_envelope_index(struct sv_exchange *x, struct sv_start *s, struct upp_err *err)
{
    const struct upp_message *last = s->messages.n ? &s->messages.p[s->messages.n - 1].message : NULL;
    struct upp_str digest;
    if (s->run.alias.p || !last || last->role != UPP_ROLE_USER || !wb_str_eq(s->run.agent, UPP_STR(WE_ROUTER_AGENT)))
        return 0;
    int r = alias_of(x, last, &s->run.alias, &digest, err);
    if (r <= 0)
        return r;
    s->indexed = true;
    digest = wb_arena_printf(&x->arena, "{\"" SV_ENVELOPE_DIGEST "\":\"%.*s\"}", UPP_FMT(digest));
    r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : wj_merge(&x->arena, s->run.options, digest, &s->run.options, err);
}
