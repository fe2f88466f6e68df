/* server/doors/start.c — starts a run on a thread, new or existing, on the loop where it is at home. */
#include "server/doors/start.h"

#include <openssl/evp.h>

#include "base/defs.h"
#include "base/log.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/change.h"
#include "run/settings/settings.h"
#include "server/doors/options.h"
#include "server/http/auth.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/repair.h"

enum { KEY_MAX = 255 };

WEFT_SUSPENDS int sv_busy_error(struct sv_exchange *x, const struct wl_thread *t, bool for_run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node node;
    char thread[WB_UUID_HEX + 1], run[WB_UUID_HEX + 1];
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
    struct upp_str user = x->owner.user, text = wb_cstr(route);
    if (user.n)
        text = wb_arena_printf(&x->arena, "%s of %.*s", route, UPP_FMT(user));
    return x->agent.n ? wb_arena_printf(&x->arena, "%.*s at %.*s", UPP_FMT(text), UPP_FMT(x->agent)) : text;
}

int sv_key_header(struct sv_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    size_t n;
    *ret = sv_http_header(x->request, UPP_STR("idempotency-key"), &n);
    x->keyed = true;
    if (n > 1 || (n && (!ret->n || ret->n > KEY_MAX)))
        return upp_fail(err, UPP_EINVALID, "an Idempotency-Key has 1 to %d bytes, and there is one of them", KEY_MAX);
    return n > 0;
}

int sv_start_key(struct sv_exchange *x, struct upp_str route, struct wr_start *start, unsigned char hash[32],
                 struct upp_err *err)
{
    unsigned len = 32;
    struct upp_str body = wb_buf_str(&x->request->body);
    int r = sv_key_header(x, &start->key, err);
    if (r <= 0)
        return r < 0 ? r : wb_arena_check(&x->arena, err);
    if (EVP_Digest(body.p, body.n, hash, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    start->route = route;
    start->body = hash;
    return wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS bool sv_key_is_used(struct sv_exchange *x, const struct wr_start *start)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_key used;
    return start->key.n && wl_get_key(s, &x->owner, start->route, start->key, &used, NULL) >= 0;
}

int sv_start_new_thread(const struct sv_exchange *x, struct sv_start *s, const struct wl_thread_opts *opts,
                        struct upp_err *err)
{
    s->new_thread = true;
    s->thread_opts = opts ? *opts : (struct wl_thread_opts){.size = sizeof s->thread_opts};
    return wb_uuid_is_nil(s->thread_opts.id) ? sv_core_thread_id(x->server, &s->thread_opts.id, err) : 0;
}

int sv_start_at_home(struct sv_exchange *x, const struct sv_start *s, sv_handler *handler, struct upp_err *err)
{
    uint32_t home = wr_home(s->new_thread ? s->thread_opts.id : s->thread.tree, x->server->n_cores);
    return sv_core_run(&x->server->cores[home], x, handler, err);
}

int sv_run_at_home(struct sv_exchange *x, struct wb_uuid run, sv_handler *handler, struct upp_err *err)
{
    uint32_t home;
    int r = wr_home_of_run(x->server->opts.store, &x->owner, run, x->server->n_cores, &home, err);
    x->run = run;
    return r < 0 ? r : sv_core_run(&x->server->cores[home], x, handler, err);
}

/* Calls before the position whose results come after it, and not with the request, get results first: unknown ones. */
WEFT_SUSPENDS static int close_calls(struct sv_exchange *x, struct sv_start *s, struct upp_err *err)
{
    struct wa_open open;
    struct wa_mended mended;
    struct sv_entries all;
    int r = wa_open_at(x->server->opts.store, &x->owner, s->run.node, s->run.length, &x->arena, &open, err);
    if (r < 0 || !open.of)
        return r;
    for (size_t i = 0; i < s->messages.n && s->messages.p[i].message.role == UPP_ROLE_TOOL; i++)
        wa_open_follow(&open, &s->messages.p[i].message);
    r = wa_repair_list(&x->arena, NULL, 0, &open, true, &mended, err);
    if (r < 0 || !mended.n)
        return r;
    all = (struct sv_entries){.p = wb_new_n(&x->arena, struct wm_entry, mended.n + s->messages.n)};
    if (!all.p)
        return wb_arena_check(&x->arena, err);
    for (size_t i = 0; i < mended.n; i++)
        all.p[all.n++] = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                           .origin = WM_ORIGIN_IMPORT,
                                           .audience = WM_AUDIENCE_ALL,
                                           .message = mended.list[i]};
    for (size_t i = 0; i < s->messages.n; i++)
        all.p[all.n++] = s->messages.p[i];
    s->messages = all;
    return 0;
}

/* The last additional message is the run's input. Those before it, or all if the last is an assistant's, are committed
 * together with it. */
static void put_messages(const struct sv_entries *e, struct wr_start *start)
{
    start->before = e->p;
    start->n_before = e->n;
    if (e->n && e->p[e->n - 1].message.role == UPP_ROLE_USER) {
        start->input = &e->p[--start->n_before].message;
        start->who = e->p[start->n_before].who;
    }
}

/* Options that the server gives a run, besides those of its request. */
struct given_options {
    struct wj_edit list[12];
    size_t n;
};

static void give(struct given_options *g, const char *name, struct upp_str json)
{
    g->list[g->n++] = (struct wj_edit){wb_cstr(name), json};
}

static int give_text(struct sv_exchange *x, struct given_options *g, const char *name, struct upp_str text,
                     struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(SV_MAX_BODY * 6);
    struct upp_str written = {NULL, 0};
    struct wj_writer w;
    wj_writer_init(&w, &json, err);
    wj_write_str(&w, text);
    int r = wj_writer_text(&w, &x->arena, &written);
    give(g, name, written);
    return r;
}

/* A client's system text for a gateway: after the instructions of the request, and marked. */
static int give_system(struct sv_exchange *x, const struct sv_start *s, struct given_options *g, struct upp_err *err)
{
    yyjson_val *v = NULL;
    if (!s->system.n)
        return 0;
    int r = s->run.options.n ? wj_read(&x->arena, s->run.options, NULL, &v, err) : 0;
    struct upp_str own = wj_text_at(v, "additional_instructions");
    if (own.n)
        own = wb_arena_printf(&x->arena, "%.*s\n\n%.*s", UPP_FMT(own), UPP_FMT(s->system));
    if (r >= 0)
        r = give_text(x, g, "additional_instructions", own.n ? own : s->system, err);
    give(g, SV_SYSTEM_OPTION, UPP_STR("true"));
    return r;
}

/* What the options have that the client did not set, so that the run keeps it after a restart: the trace of the
 * request, that the thread was made for it, and the limit of threads with members. */
static int add_options(struct sv_exchange *x, struct sv_start *s, struct upp_err *err)
{
    const struct upp_str yes = UPP_STR("true");
    struct wl_thread made = {.metadata = s->thread_opts.metadata};
    struct given_options g = {.n = 0};
    int r = give_system(x, s, &g, err);
    if (r >= 0 && s->asked.n && !wb_str_eq(s->asked, s->run.agent))
        r = give_text(x, &g, SV_ASKED, s->asked, err);
    if (s->background)
        give(&g, SV_BACKGROUND, yes);
    if (s->stored)
        give(&g, SV_STORED, yes);
    if (x->trace.id[0])
        give(&g, "traceparent", wb_arena_printf(&x->arena, "\"%s\"", x->trace.parent));
    if (s->made_thread)
        give(&g, SV_MADE_THREAD, yes);
    if (s->calls_by_id)
        give(&g, WR_CALL_IDS, yes);
    if (s->conversation)
        give(&g, SV_CONVERSATION, wb_arena_printf(&x->arena, "\"%s\"", s->conversation));
    if (sv_has_members(s->new_thread ? &made : &s->thread))
        give(&g, WR_AGENT_MESSAGES, wb_arena_printf(&x->arena, "%d", SV_AGENT_MESSAGES));
    if (r >= 0)
        r = wb_arena_check(&x->arena, err);
    if (r >= 0 && g.n)
        r = wj_edit(&x->arena, s->run.options, g.list, g.n, &s->run.options, err);
    s->run.fork_options = s->run.options;
    if (r >= 0 && s->run.forks && !s->made_thread)
        r = wj_set(&x->arena, s->run.options, SV_MADE_THREAD, yes, &s->run.fork_options, err);
    return r;
}

/* Does an option belong to the run, whatever the next request says? */
static bool stays(struct upp_str name)
{
    static const char *const of_requests[] = {SV_ASKED, SV_BACKGROUND, SV_SYSTEM_OPTION, SV_STORED};
    for (size_t i = 0; i < WB_LEN(of_requests); i++)
        if (wb_str_eq(name, wb_cstr(of_requests[i])))
            return false;
    return wb_str_eq(name, UPP_STR("traceparent")) || wb_str_eq(name, UPP_STR("agentapi")) ||
           wb_str_starts(name, UPP_STR("weft_"));
}

int sv_has_options(struct sv_exchange *x, struct upp_str own, bool *ret, struct upp_err *err)
{
    yyjson_val *v = NULL;
    int r = wr_options_read(&x->arena, own, &v, err);
    *ret = false;

    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    for (yyjson_val *key; r >= 0 && !*ret && (key = yyjson_obj_iter_next(&it));)
        *ret = !stays(wj_text(key));
    return r < 0 ? r : 0;
}

/* A request that names an agent keeps the run's model, and the name that the run was asked by. What is stored stays. */
static bool stays_if_not_set(struct upp_str name)
{
    return wb_str_eq(name, UPP_STR("model")) || wb_str_eq(name, UPP_STR(SV_ASKED)) ||
           wb_str_eq(name, UPP_STR(SV_STORED));
}

static void put_options(struct wj_writer *w, yyjson_val *of_run, yyjson_val *of_request)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(of_run);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it)))
        if (stays(wj_text(key)) || (stays_if_not_set(wj_text(key)) && !sv_member(of_request, wj_text(key))))
            wj_put_member(w, key);
    it = yyjson_obj_iter_with(of_request);
    while ((key = yyjson_obj_iter_next(&it)))
        if (!stays(wj_text(key)))
            wj_put_member(w, key);
}

int sv_next_options(struct sv_exchange *x, const struct wm_run *run, struct sv_start *s, struct upp_str *ret,
                    struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2u * SV_MAX_BODY + 4096);
    struct given_options g = {.n = 0};
    struct upp_str next = s->run.options;
    yyjson_val *had = NULL, *now = NULL;
    struct wj_writer w;
    int r = give_system(x, s, &g, err);
    if (r >= 0 && s->asked.n)
        r = give_text(x, &g, SV_ASKED, s->asked, err);
    if (s->stored)
        give(&g, SV_STORED, UPP_STR("true"));
    if (r >= 0 && g.n)
        r = wj_edit(&x->arena, next, g.list, g.n, &next, err);
    if (r >= 0)
        r = wr_check_options(x->core->engine, s->run.agent, next, err);
    if (r >= 0)
        r = wr_options_read(&x->arena, run->options, &had, err);
    if (r >= 0)
        r = wr_options_read(&x->arena, next, &now, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    put_options(&w, had, now);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &x->arena, ret);
}

bool sv_made_thread(struct sv_exchange *x, const struct wm_run *run)
{
    yyjson_val *v = NULL;
    return run->options.n && wj_read(&x->arena, run->options, NULL, &v, NULL) >= 0 &&
           yyjson_is_true(yyjson_obj_get(v, SV_MADE_THREAD));
}

/* Somebody else may be first with the same id, which stays with theirs. */
WEFT_SUSPENDS static int start_indexed(struct sv_exchange *x, struct sv_start *s, struct wr_started *ret,
                                       struct upp_err *err)
{
    struct upp_err why = {0};
    int r = wr_start(x->core->engine, &s->run, ret, &why);
    if (r == -UPP_EREFUSED && s->indexed && wb_str_eq(wb_cstr(why.cause), UPP_STR(WR_ALIAS_TAKEN))) {
        s->run.alias = (struct upp_str){NULL, 0};
        return wr_start(x->core->engine, &s->run, ret, err);
    }
    if (r < 0 && err)
        *err = why;
    return r;
}

WEFT_SUSPENDS static int start_run(struct sv_exchange *x, struct sv_start *s, struct upp_str own, struct wb_uuid *run,
                                   struct upp_err *err)
{
    struct wr_started started = {0};
    int r = 0;
    if (s->answers.n && s->messages.n)
        return upp_fail(err, UPP_EINVALID, "a run begins with answers to open calls or with messages, not both");
    s->run.api_key = sv_auth_key(x);
    r = sv_may_write(x, &s->thread, err);
    if (r >= 0)
        r = sv_members_attribute(x, &s->thread, &s->messages, err);
    if (r < 0)
        return r;
    if (!sv_key_is_used(x, &s->run)) { /* before messages are stored for a run that is refused */
        r = wr_check_options(x->core->engine, s->run.agent, s->run.options, err);
        if (r >= 0 && !s->answers.n)
            r = sv_auth_may_start(x, err);
    }
    if (r >= 0 && s->run.node && !s->answers.n)
        r = close_calls(x, s, err);
    put_messages(&s->messages, &s->run);
    if (r >= 0 && s->answers.n && !sv_key_is_used(x, &s->run)) {
        r = sv_put_answers(x, s, own, run, err);
        x->run = *run;
        if (r > 0) /* the run waited and resumes */
            return 0;
    }
    if (r < 0)
        return r;
    s->run.thread = s->thread.id;
    s->run.made = s->new_thread ? &s->thread_opts : NULL;
    r = start_indexed(x, s, &started, err);
    if (r == -UPP_EBUSY && !s->new_thread)
        return sv_busy_error(x, &s->thread, !s->run.n_before, err);
    *run = started.run;
    s->joined = r >= 0 && started.joined;
    x->run = started.run;
    x->started = r >= 0 && !started.joined;
    x->done = x->started;
    struct wm_run *made = x->started ? wb_new(&x->arena, struct wm_run) : NULL;
    if (made)
        *made = started.row;
    x->made = made;
    return r;
}

bool sv_try_again(struct sv_exchange *x, int r, const struct upp_err *err, unsigned *tries)
{
    enum { TRIES = 50, PAUSE_MS = 100 };
    return r < 0 && x->done && wl_may_pass(err) && (*tries)++ < TRIES && weft_sleep_ms(PAUSE_MS, NULL) >= 0;
}

int sv_look_at_run(struct sv_exchange *x, struct wb_uuid run, struct wr_run_info *ret, struct upp_err *err)
{
    unsigned tries = 0;
    int r;
    do {
        r = wr_get(x->core->engine, &x->owner, run, &x->arena, ret, err);
        if (r < 0 && wl_may_pass(err) && x->made && wb_uuid_eq(x->made->id, run)) {
            *ret = (struct wr_run_info){.run = *x->made};
            return 0;
        }
    } while (sv_try_again(x, r, err, &tries));
    return r;
}

WEFT_SUSPENDS int sv_start_run(struct sv_exchange *x, struct sv_start *s, struct wb_uuid *run, struct upp_err *err)
{
    struct upp_str own = s->run.options;
    int r = add_options(x, s, err);
    for (size_t i = 0; r >= 0 && sv_start_steps[i]; i++)
        r = sv_start_steps[i](x, s, err);
    return r < 0 ? r : start_run(x, s, own, run, err);
}
