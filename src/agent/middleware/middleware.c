/* agent/middleware/middleware.c — the chain: `before` in order, `after` and `on_error` in reverse order, with one
 * context per run.
 *
 * The context is in the run's memory. When all `before` functions are done, the engine gets their changes and stores
 * them with the run; a recovered run has a new context with the same content.
 */
#include "agent/middleware/middleware.h"

#include "base/clock.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "run/engine.h"

enum { METADATA_BYTES = 1 << 20 };

struct item {
    struct weft_middleware m;
    const struct weft_middleware_kind *kind; /* NULL: custom */
    void *own;
};

struct chain {
    struct wr_middleware middleware; /* first */
    const struct weft_agent *agent;
    void (*trace)(void *arg, const struct wa_trace *t);
    void *trace_arg;
    const struct weft_budget *budgets[WA_MIDDLEWARE];
    size_t n;
    struct item items[];
};

struct context {
    struct weft_context pub;   /* first */
    const struct chain *chain; /* its chain: the run may be handed over to another agent */
    struct wb_arena *memory;
    unsigned order;   /* number of calls so far */
    size_t current;   /* index of the middleware being called */
    uint64_t words[]; /* one per middleware */
};

static struct context *context_of(struct weft_context *c)
{
    return (struct context *)(void *)c;
}

uint64_t *wa_context_word(struct weft_context *c)
{
    struct context *x = context_of(c);
    return &x->words[x->current];
}

struct wb_arena *wa_context_memory(struct weft_context *c)
{
    return context_of(c)->memory;
}

/* ---- Metadata of a request -------------------------------------------------------------------------------------- */

int weft_context_set(struct weft_context *c, const char *name, struct upp_str json, struct upp_err *err)
{
    struct wb_arena *a = context_of(c)->memory;
    struct upp_str checked = {NULL, 0}, text;
    yyjson_val *value = NULL;
    int r = json.n ? wj_read(a, json, NULL, &value, err) : 0;
    if (r >= 0)
        r = wj_value_text(a, value, &checked, err);
    if (r >= 0)
        r = wj_set(a, c->metadata, name, checked, &text, err);
    if (r >= 0 && text.n > METADATA_BYTES)
        r = upp_fail(err, UPP_ELIMIT, "the metadata of a request has at most %d bytes", METADATA_BYTES);
    if (r < 0)
        return upp_wrap(err, r, "metadata '%s'", name);
    c->metadata = text;
    return 0;
}

struct upp_str weft_context_get(const struct weft_context *c, const char *name)
{
    union {
        const struct weft_context *in;
        struct weft_context *out;
    } u = {.in = c};
    struct wb_arena *a = context_of(u.out)->memory;
    struct wb_buf b = WB_BUF(METADATA_BYTES);
    struct upp_str is = {0};
    yyjson_val *v;
    if (c->metadata.p && wj_read(a, c->metadata, NULL, &v, NULL) >= 0 && (v = yyjson_obj_get(v, name)) &&
        wj_write(v, &b, NULL) >= 0)
        is = wb_arena_dup(a, wb_buf_str(&b));
    wb_buf_done(&b);
    return is;
}

/* ---- The context of a run --------------------------------------------------------------------------------------- */

static struct context *context(struct chain *ch, struct weft_run *run, struct upp_err *err)
{
    void **slot = wr_run_slot(run);
    struct context *has = *slot;
    if (has && has->chain == ch)
        return has;
    struct wb_arena *a = wr_run_memory(run);
    struct context *x = wb_arena_zero(a, sizeof *x + ch->n * sizeof *x->words, _Alignof(struct context));
    if (!x)
        return upp_fail(err, UPP_ENOMEM, "no memory for middleware"), NULL;
    struct upp_str metadata = wr_run_request(run);
    x->memory = a;
    x->chain = ch;
    x->pub = (struct weft_context){.run = run, .agent = ch->agent, .input = wr_run_enriched(run), .metadata = metadata};
    const struct wr_watch *watch = wr_run_watch(run);
    x->pub.session = watch ? watch->arg : NULL; /* only sessions watch runs */
    if (!metadata.p)
        x->pub.metadata = UPP_STR("{}");
    /* A copy: the run's own list is reallocated as it grows. */
    const struct upp_message *const *path = weft_run_history(run, &x->pub.n_history);
    const struct upp_message **list = wb_new_n(a, const struct upp_message *, x->pub.n_history + 1);
    if (!list)
        return upp_fail(err, UPP_ENOMEM, "no memory for middleware"), NULL;
    for (size_t i = 0; i < x->pub.n_history; i++)
        list[i] = path[i];
    x->pub.history = list;
    *slot = x;
    return x;
}

/* Copies an input that a function has set. */
static int copy_input(struct context *x, const struct upp_message *was, struct upp_err *err)
{
    if (x->pub.input == was || !x->pub.input)
        return 0;
    struct upp_message *m = wb_new(x->memory, struct upp_message);
    int r = m ? wm_message_copy(x->memory, x->pub.input, m, err) : wb_arena_check(x->memory, err);
    if (r >= 0)
        x->pub.input = m;
    return r;
}

/* Most new lists are a subsequence of the old one: continues after the last match. */
static bool holds(const struct weft_context *c, const struct upp_message *m, size_t *from)
{
    for (size_t i = 0; i < c->n_history; i++) {
        size_t at = (*from + i) % c->n_history;
        if (c->history[at] == m) {
            *from = at + 1;
            return true;
        }
    }
    return false;
}

static int copy_history(struct context *x, const struct weft_context *was, struct upp_err *err)
{
    struct weft_context *c = &x->pub;
    if (c->history == was->history && c->n_history == was->n_history)
        return 0;
    const struct upp_message **list = wb_new_n(x->memory, const struct upp_message *, c->n_history + 1);
    if (!list)
        return wb_arena_check(x->memory, err);
    for (size_t i = 0, from = 0; i < c->n_history; i++) {
        list[i] = c->history[i];
        if (holds(was, list[i], &from))
            continue;
        struct upp_message *m = wb_new(x->memory, struct upp_message);
        int r = m ? wm_message_copy(x->memory, list[i], m, err) : wb_arena_check(x->memory, err);
        if (r < 0)
            return r;
        list[i] = m;
    }
    c->history = list;
    return 0;
}

static int copy_changes(struct context *x, const struct weft_context *was, struct upp_err *err)
{
    int r = copy_input(x, was->input, err);
    if (r >= 0)
        r = copy_history(x, was, err);
    if (r >= 0 && x->pub.metadata.p != was->metadata.p) {
        x->pub.metadata = wb_arena_dup(x->memory, x->pub.metadata);
        r = wb_arena_check(x->memory, err);
    }
    if (r >= 0 && !x->pub.metadata.p)
        x->pub.metadata = UPP_STR("{}");
    return r;
}

/* Copies the changes, also of a function that failed, before anything that they may point into is freed. If that fails,
 * restores the old values. */
static int copy_or_restore(struct context *x, const struct weft_context *was, int result, struct upp_err *err)
{
    int r = copy_changes(x, was, result < 0 ? NULL : err);
    if (r < 0)
        x->pub = *was;
    return result < 0 ? result : r;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

static void trace_call(const struct chain *ch, struct context *x, const char *which, uint64_t began, int result)
{
    const struct item *it = &ch->items[x->current];
    struct wa_trace t = {
        .name = it->m.name, .which = which, .order = ++x->order, .ns = wb_mono_ns() - began, .result = result};
    wb_log(WB_DEBUG, "middleware", WB_LZ("name", t.name), WB_LZ("which", which), WB_LU("order", t.order),
           WB_LU("us", t.ns / 1000), WB_LI("result", result), WB_LS("run", weft_run_id(x->pub.run)));
    if (ch->trace)
        ch->trace(ch->trace_arg, &t);
}

/* Built-in middleware names itself in its errors. Only strategies and tools may wait for answers from outside. */
static int wrap_error(const struct item *it, const char *which, int r, struct upp_err *err)
{
    if (r == -UPP_EWAIT)
        r = upp_fail(err, UPP_EREFUSED, "it cannot wait for an answer from outside");
    return r < 0 && r != -UPP_ECANCELED && !it->kind ? upp_wrap(err, r, "%s of %s", which, it->m.name) : r;
}

static WEFT_SUSPENDS int one_before(struct chain *ch, struct context *x, struct upp_err *err)
{
    const struct item *it = &ch->items[x->current];
    if (!(it->kind ? it->kind->before != NULL : it->m.before != NULL))
        return 0;
    struct weft_context was = x->pub;
    uint64_t began = wb_mono_ns();
    int r = it->kind ? it->kind->before(it->own, &x->pub, err) : it->m.before(it->m.arg, &x->pub, err);
    trace_call(ch, x, "before", began, r);
    if (r < 0)
        r = wrap_error(it, "before", r, err);
    return copy_or_restore(x, &was, r, err);
}

static WEFT_SUSPENDS int before(void *arg, struct weft_run *run, struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    if (!x)
        return -UPP_ENOMEM;
    const struct weft_context was = x->pub;
    int r = 0;
    for (x->current = 0; r >= 0 && x->current < ch->n; x->current++)
        r = one_before(ch, x, err);
    const struct weft_context *c = &x->pub;
    if (r >= 0 && (c->history != was.history || c->n_history != was.n_history))
        r = wr_run_set_history(run, c->history, c->n_history, err);
    if (r >= 0 && c->input != was.input && c->input)
        r = wr_run_set_input(run, c->input, err);
    return r < 0 ? r : wr_run_set_request(run, c->metadata, err);
}

/* *turn is owned by the chain afterwards, whatever the function did. */
static WEFT_SUSPENDS int one_after(struct chain *ch, struct context *x, struct upp_turn **turn, struct upp_err *err)
{
    const struct item *it = &ch->items[x->current];
    if (!(it->kind ? it->kind->after != NULL : it->m.after != NULL))
        return 0;
    struct upp_turn *now = *turn;
    struct weft_context was = x->pub;
    uint64_t began = wb_mono_ns();
    int r = it->kind ? it->kind->after(it->own, &x->pub, &now, err) : it->m.after(it->m.arg, &x->pub, &now, err);
    trace_call(ch, x, "after", began, r);
    if (r >= 0 && !now)
        r = upp_fail(err, UPP_EINVALID, "it gave back no turn");
    if (r < 0)
        r = wrap_error(it, "after", r, err);
    r = copy_or_restore(x, &was, r, err);
    if (now && now != *turn) {
        upp_turn_free(*turn);
        *turn = now;
    }
    return r;
}

static WEFT_SUSPENDS int after(void *arg, struct weft_run *run, struct upp_turn **turn, struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    int r = x ? 0 : -UPP_ENOMEM;
    for (size_t i = ch->n; r >= 0 && i-- > 0;) {
        x->current = i;
        r = one_after(ch, x, turn, err);
    }
    return r < 0 ? r : wr_run_set_request(run, x->pub.metadata, err);
}

/* 1: it returned a turn. 0: *why is the error that the next one gets. */
static WEFT_SUSPENDS int one_failed(struct chain *ch, struct context *x, struct upp_err *why, struct upp_turn **ret)
{
    const struct item *it = &ch->items[x->current];
    if (!(it->kind ? it->kind->on_error != NULL : it->m.on_error != NULL))
        return 0;
    struct upp_turn *turn = NULL;
    struct weft_context was = x->pub;
    struct upp_err own = {0};
    uint64_t began = wb_mono_ns();
    int r = it->kind ? it->kind->on_error(it->own, &x->pub, why, &turn, &own)
                     : it->m.on_error(it->m.arg, &x->pub, why, &turn, &own);
    trace_call(ch, x, "on_error", began, r);
    if (r > 0 && !turn)
        r = upp_fail(&own, UPP_EINVALID, "it gave back no turn");
    int copied = copy_or_restore(x, &was, r, &own);
    if (r > 0)
        return *ret = turn, 1;
    upp_turn_free(turn);
    r = copied;
    if (r < 0) {
        r = wrap_error(it, "on_error", r, &own);
        *why = own;
        why->code = -r;
    }
    return 0;
}

/* Calls all of them, also those whose `before` was not called, until one returns a turn. */
static WEFT_SUSPENDS int pass_failed(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                     struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    struct upp_err now = *why;
    if (!x)
        return 0; /* the original error counts */
    for (size_t i = ch->n; i-- > 0;) {
        x->current = i;
        if (one_failed(ch, x, &now, ret) > 0)
            return 1;
    }
    if (now.code == why->code && strcmp(now.msg, why->msg) == 0)
        return 0;
    if (err)
        *err = now;
    return -now.code;
}

static WEFT_SUSPENDS int view(void *arg, struct weft_run *run, struct upp_request *request, struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    int r = x ? 0 : -UPP_ENOMEM;
    for (size_t i = 0; r >= 0 && i < ch->n; i++)
        if (ch->items[i].kind && ch->items[i].kind->view) {
            x->current = i;
            r = wrap_error(&ch->items[i], "view", ch->items[i].kind->view(ch->items[i].own, &x->pub, request, err),
                           err);
        }
    return r;
}

/* Innermost first, like `after`. */
static WEFT_SUSPENDS int screen(void *arg, struct weft_run *run, struct upp_message *message, struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    int r = x ? 0 : -UPP_ENOMEM;
    for (size_t i = ch->n; r >= 0 && i-- > 0;)
        if (ch->items[i].kind && ch->items[i].kind->screen) {
            x->current = i;
            r = wrap_error(&ch->items[i], "screen", ch->items[i].kind->screen(ch->items[i].own, &x->pub, message, err),
                           err);
        }
    return r < 0 ? r : wr_run_set_request(run, x->pub.metadata, err);
}

/* Innermost first, like screen: it is output of the model, and the outermost decides last. */
static WEFT_SUSPENDS int call(void *arg, struct weft_run *run, struct upp_call *c, struct upp_err *err)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, err);
    int r = x ? 0 : -UPP_ENOMEM;
    for (size_t i = ch->n; r >= 0 && i-- > 0;)
        if (ch->items[i].kind && ch->items[i].kind->call) {
            x->current = i;
            r = ch->items[i].kind->call(ch->items[i].own, &x->pub, c, err);
        }
    int set = x ? wr_run_set_request(run, x->pub.metadata, r < 0 ? NULL : err) : 0;
    return r < 0 ? r : set;
}

static void observe(void *arg, struct weft_run *run, const struct wm_event *ev)
{
    struct chain *ch = arg;
    struct context *x = context(ch, run, NULL);
    for (size_t i = 0; x && i < ch->n; i++)
        if (ch->items[i].kind && ch->items[i].kind->observe) {
            x->current = i;
            ch->items[i].kind->observe(ch->items[i].own, &x->pub, ev);
        }
}

/* ---- Building the chain ----------------------------------------------------------------------------------------- */

int wa_opts_copy(const void *opts, size_t size, void **ret, struct upp_err *err)
{
    void *copy = wb_alloc(size);
    if (!copy)
        return upp_fail(err, UPP_ENOMEM, "no memory for options");
    wb_opts(copy, size, opts);
    *ret = copy;
    return 0;
}

/* How much of the history the chain needs: what the first view leaves, if nothing else looks at it. A function of the
 * program gets the whole history in its context. */
static struct wr_window window_of(const struct chain *ch)
{
    struct wr_window window = {.tokens = UINT64_MAX};
    bool viewed = false;
    for (size_t i = 0; i < ch->n; i++) {
        const struct weft_middleware_kind *kind = ch->items[i].kind;
        if (!kind)
            return (struct wr_window){0};
        if (kind->view && !viewed)
            window = kind->window ? kind->window(ch->items[i].own) : (struct wr_window){0};
        viewed |= kind->view != NULL;
    }
    return window;
}

/* Warns once about middleware that sees the input before guardrails does: that may be intended. */
static void warn_order(const struct chain *ch)
{
    const char *first = NULL;
    for (size_t i = 0; i < ch->n; i++) {
        if (ch->items[i].kind == &wa_guardrails && first)
            wb_log(WB_WARN, "guardrails does not stand before other middleware", WB_LZ("before", first));
        if (!first && ch->items[i].kind != &wa_guardrails && ch->items[i].kind != &wa_logging)
            first = ch->items[i].m.name;
    }
}

static int make_item(struct chain *ch, const struct weft_middleware *m, struct upp_err *err)
{
    struct item *it = &ch->items[ch->n];
    *it = (struct item){.m = *m, .kind = m->kind};
    if (!it->m.name)
        it->m.name = m->kind ? m->kind->name : "middleware";
    int r = m->kind && m->kind->make ? m->kind->make(m->opts, &it->own, err) : 0;
    if (r < 0)
        return upp_wrap(err, r, "%s", it->m.name);
    ch->n++;
    struct wr_middleware *a = &ch->middleware;
    if (!m->kind)
        return 0;
    if (m->kind->view)
        a->view = view;
    if (m->kind->observe)
        a->observe = observe;
    if (m->kind->screen && (!m->kind->screens || m->kind->screens(it->own)))
        a->screen = screen;
    if (m->kind->call && (!m->kind->calls || m->kind->calls(it->own)))
        a->call = call;
    if (m->kind->budget)
        ch->budgets[a->n_budgets++] = m->kind->budget(it->own);
    return 0;
}

int wa_middleware_new(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                      const struct wr_middleware **ret, struct upp_err *err)
{
    *ret = NULL;
    if (!n)
        return 0;
    if (n > WA_MIDDLEWARE)
        return upp_fail(err, UPP_ELIMIT, "an agent has at most %d middleware", WA_MIDDLEWARE);
    struct chain *ch = wb_calloc(1, sizeof *ch + n * sizeof *ch->items);
    if (!ch)
        return upp_fail(err, UPP_ENOMEM, "no memory for middleware");
    ch->agent = agent;
    ch->middleware = (struct wr_middleware){.arg = ch, .before = before, .after = after, .failed = pass_failed};
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = make_item(ch, &list[i], err);
    ch->middleware.budgets = ch->budgets;
    ch->middleware.window = window_of(ch);
    if (r < 0) {
        wa_middleware_free(&ch->middleware);
        return r;
    }
    warn_order(ch);
    *ret = &ch->middleware;
    return 0;
}

static struct chain *chain_of(const struct wr_middleware *middleware)
{
    union {
        const struct wr_middleware *in;
        struct wr_middleware *out;
    } u = {.in = middleware};
    return (struct chain *)(void *)u.out;
}

void wa_middleware_free(const struct wr_middleware *middleware)
{
    struct chain *ch = middleware ? chain_of(middleware) : NULL;
    for (size_t i = 0; ch && i < ch->n; i++)
        if (ch->items[i].kind && ch->items[i].kind->free)
            ch->items[i].kind->free(ch->items[i].own);
    wb_free(ch);
}

void wa_middleware_trace(const struct wr_middleware *middleware, void (*fn)(void *arg, const struct wa_trace *t),
                         void *arg)
{
    struct chain *ch = chain_of(middleware);
    ch->trace = fn;
    ch->trace_arg = arg;
}
