/* server/doors/start.c — see start.h. */
#include "server/doors/start.h"

#include <openssl/evp.h>

#include "base/log.h"
#include "log/change.h"
#include "server/doors/aitp/members.h"
#include "server/http/auth.h"
#include "server/http/server.h"

enum { KEY_MAX = 255 };

WEFT_SUSPENDS int sv_busy_error(struct sv_exchange *x, const struct wl_thread *t, bool for_run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node   node;
    char             thread[WB_UUID_HEX + 1], run[WB_UUID_HEX + 1];
    if (wl_get_node(s, &x->owner, t->head, &node, NULL) < 0)
        return -UPP_EBUSY; /* err has the message already */
    (void)wb_uuid_hex(t->id, thread);
    (void)wb_uuid_hex(node.holder, run);
    return for_run
               ? upp_fail(err, UPP_EBUSY, "Thread thread_%s already has an active run run_%s.", thread, run)
               : upp_fail(err, UPP_EBUSY, "Can't add messages to thread_%s while a run run_%s is active.", thread, run);
}

struct upp_str sv_key_route(struct sv_exchange *x, const char *route)
{
    struct upp_str user = x->owner.user;
    return user.n ? wb_arena_printf(&x->arena, "%s of %.*s", route, UPP_FMT(user)) : wb_cstr(route);
}

int sv_start_key(struct sv_exchange *x, struct upp_str route, struct wr_start *start, unsigned char hash[32],
                 struct upp_err *err)
{
    size_t         n;
    unsigned       len  = 32;
    struct upp_str body = wb_buf_str(&x->request->body);
    start->key          = sv_http_header(x->request, UPP_STR("idempotency-key"), &n);
    if (!n)
        return wb_arena_check(&x->arena, err);
    if (n > 1 || !start->key.n || start->key.n > KEY_MAX)
        return upp_fail(err, UPP_EINVALID, "an Idempotency-Key has 1 to %d bytes, and there is one of them", KEY_MAX);
    if (EVP_Digest(body.p, body.n, hash, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    start->route = route;
    start->body  = hash;
    return wb_arena_check(&x->arena, err);
}

/* Has an earlier request with this key started the run? */
WEFT_SUSPENDS static bool key_is_used(struct sv_exchange *x, const struct wr_start *start)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_key    used;
    return start->key.n && wl_get_key(s, &x->owner, start->route, start->key, &used, NULL) >= 0;
}

/* The last additional message is the run's input, committed together with it. Those before it are appended first, or
 * all if the last is an assistant's, unless an earlier request with the same key did that. */
WEFT_SUSPENDS static int put_messages(struct sv_exchange *x, const struct wl_thread *t, const struct sv_entries *e,
                                      struct wr_start *start, struct upp_err *err)
{
    struct wl_store *s     = x->server->opts.store;
    size_t           first = e->n;
    struct wl_key    used;
    uint32_t         index;
    if (e->n && e->p[e->n - 1].message.role == UPP_ROLE_USER)
        start->input = &e->p[--first].message;
    if (!first)
        return 0;
    if (start->key.n) {
        int r = wl_get_key(s, &x->owner, start->route, start->key, &used, err);
        if (r != -UPP_ENOTFOUND)
            return r;
    }
    struct wl_thread to = *t;
    int              r  = wl_append(s, &x->owner, &to, e->p, first, &index, err);
    return r == -UPP_EBUSY ? sv_busy_error(x, t, false, err) : r;
}

/* The trace of the request is stored with the options of the run, so that the run keeps it after a restart. */
static int add_trace(struct sv_exchange *x, struct upp_str *options, struct upp_err *err)
{
    struct upp_str before = *options;
    if (!x->trace.id[0])
        return 0;
    bool some = before.n > 2; /* more than {} */
    *options  = wb_arena_printf(&x->arena, "%.*s%s\"traceparent\":\"%s\"}", some ? (int)before.n - 1 : 0,
                               some ? before.p : "", some ? "," : "{", x->trace.parent);
    return wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS static int start_run(struct sv_exchange *x, struct sv_start *s, struct wb_uuid *run, struct upp_err *err)
{
    struct wr_started started = {0};
    int               r       = 0;
    if (s->answers.n && s->messages.n)
        return upp_fail(err, UPP_EINVALID, "a run begins with answers to open calls or with messages, not both");
    s->run.api_key = sv_auth_key(x);
    r              = sv_aitp_may_write(x, &s->thread, err);
    if (r < 0)
        return r;
    if (!key_is_used(x, &s->run)) { /* before messages are stored for a run that is refused */
        r = wr_check_options(x->core->engine, s->run.agent, s->run.options, err);
        if (r >= 0 && !s->answers.n)
            r = sv_auth_may_start(x, err);
        if (r >= 0 && !s->answers.n && s->new_thread)
            r = wr_thread_new(x->core->engine, &x->owner, &s->thread_opts, &x->arena, &s->thread, err);
    }
    if (r >= 0)
        r = put_messages(x, &s->thread, &s->messages, &s->run, err);
    if (r >= 0 && s->answers.n && !key_is_used(x, &s->run)) {
        r      = sv_put_answers(x, &s->thread, &s->answers, &s->run, run, err);
        x->run = *run;
        if (r > 0) /* the run waited and resumes */
            return 0;
    }
    if (r < 0)
        return r;
    s->run.thread = s->thread.id;
    r             = wr_start(x->core->engine, &s->run, &started, err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &s->thread, true, err);
    *run       = started.run;
    x->run     = started.run;
    x->started = r >= 0 && !started.joined;
    return r;
}

WEFT_SUSPENDS int sv_start_run(struct sv_exchange *x, struct sv_start *s, struct wb_uuid *run, struct upp_err *err)
{
    int r = add_trace(x, &s->run.options, err);
    if (r >= 0)
        r = start_run(x, s, run, err);
    if (r < 0 && s->new_thread && s->thread.head &&
        wl_thread_delete(x->server->opts.store, &x->owner, &s->thread, NULL) < 0)
        wb_log(WB_WARN, "a thread without its run could not be deleted", WB_LZ("id", x->request_id));
    return r;
}
