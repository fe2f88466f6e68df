/* envelope/run/router.c — the router's model, which plays an exchange as calls of tools, and the agent that has it. */
#include "envelope/run/router.h"

#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "dialects/core/convert.h"
#include "log/log.h"
#include "model/upp_json.h"

enum {
    ASKS = 128, /* calls of one message, as many as a run takes */
    ROUNDS = 1 << 20,
};

/* The answer: calls, or one text. */
struct answer {
    const struct we_router *router;
    struct wb_arena arena;
    uint32_t family; /* of the thread, for new ids */
    bool has_family;
    bool closes; /* nobody is asked any more */
    bool left;   /* though something was to be asked */
    struct we_ask *asks;
    size_t n;
    struct upp_str text; /* without calls */
    size_t part;
    uint8_t stage; /* of the part: opened, its text given */
};

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    const struct answer *x = arg;
    return we_router_model(x->router, agent);
}

static int new_id(void *arg, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    const struct answer *x = arg;
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    int r = x->has_family ? wl_id_new(x->family, &id, err) : wb_uuid_new(&id, err);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(a, wb_uuid_text(id, text));
    return wb_arena_check(a, err);
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return wb_wall_ms();
}

/* Feeds the exchange with a message of the log. */
static int take_message(struct we_exchange *e, const struct upp_message *m, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_CALL)
            r = we_exchange_sent(e, p->name, p->text, err);
        else if (p->kind == UPP_PART_RESULT)
            r = we_exchange_reply(e, p->id, p->text, err);
        if (r == -UPP_ENOTFOUND) /* the result of a call that is none of ours */
            r = 0;
    }
    return r;
}

static int play(struct answer *x, const struct we_host *host, const struct we_envelope *ingress,
                const struct upp_message *const *messages, size_t n, struct upp_err *err)
{
    struct we_exchange *e;
    int r = we_exchange_new(&x->arena, host, x->router->opts.limits, ingress, &e, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = take_message(e, messages[i], err);
    if (r >= 0 && x->closes) {
        r = we_exchange_cut(e, &x->text, err);
        x->left = r > 0;
        return r < 0 ? r : 0;
    }
    if (r < 0)
        return r;
    x->asks = wb_new_n(&x->arena, struct we_ask, ASKS);
    r = x->asks ? we_exchange_next(e, x->asks, ASKS, &x->n, err) : wb_arena_check(&x->arena, err);
    return r < 0 || x->n ? r : we_exchange_answer(e, &x->text, err);
}

/* The input is no envelope: it came through another door. */
static int refuse(struct answer *x, const struct we_host *host, const struct wd_problems *problems,
                  const struct upp_err *why, struct upp_err *err)
{
    struct we_error e = {
        .code = "invalid_envelope", .text = wb_cstr(why->msg), .problems = problems, .now_ms = now_ms(x)};
    int r = host->new_id(x, &x->arena, &e.id, err);
    return r < 0 ? r : we_write_error(&x->arena, &e, &x->text, err);
}

/* messages: the input, and what followed. */
static int open_input(struct answer *x, const struct upp_message *const *messages, size_t n, struct upp_err *err)
{
    const struct we_host host = {
        .routes = x->router->opts.routes, .model_of = model_of, .new_id = new_id, .now_ms = now_ms, .arg = x};
    struct wd_problems problems = {0};
    struct upp_err why = {0};
    struct we_envelope *ingress = wb_new(&x->arena, struct we_envelope);
    struct upp_str text = wm_message_text(&x->arena, messages[0]);
    int r = wb_arena_check(&x->arena, err);
    if (r < 0)
        return r;
    r = we_read_ingress(&x->arena, text, x->router->opts.limits, &problems, ingress, &why);
    if (r == -UPP_ENOMEM)
        r = upp_fail(err, UPP_ENOMEM, "no memory for an envelope");
    else
        r = r < 0 ? refuse(x, &host, &problems, &why, err) : play(x, &host, ingress, messages + 1, n - 1, err);
    wd_problems_done(&problems);
    return r;
}

/* The last input, and what followed. */
static int open_last(struct answer *x, const struct upp_message *const *messages, size_t n, struct upp_err *err)
{
    for (size_t i = n; i-- > 0;)
        if (messages[i]->role == UPP_ROLE_USER)
            return open_input(x, messages + i, n - i, err);
    return upp_fail(err, UPP_EINVALID, "there is no envelope to route");
}

static int router_open(struct upp_step *s, struct upp_err *err)
{
    struct answer *x = upp_step_state(s);
    const struct upp_request *q = s->request;
    struct wb_uuid session;
    x->router = s->model->state;
    x->arena = (struct wb_arena)WB_ARENA(WE_MEMORY);
    x->has_family = wb_uuid_parse(q->session, &session);
    x->family = x->has_family ? wl_family(session) : 0;
    return open_last(x, q->messages, q->n_messages, err);
}

static int router_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    struct answer *x = upp_step_state(s);
    size_t parts = x->n ? x->n : 1;
    (void)err;
    if (x->part == parts) {
        ret->kind = UPP_STEP_END;
        ret->stop = x->n ? UPP_STOP_TOOLS : UPP_STOP_END;
        return 1;
    }
    const struct we_ask *ask = x->n ? &x->asks[x->part] : NULL;
    ret->part = (uint32_t)x->part;
    if (x->stage == 0) {
        ret->kind = UPP_STEP_PART_OPEN;
        ret->part_kind = ask ? UPP_PART_CALL : UPP_PART_TEXT;
        if (ask) {
            ret->id = ask->id;
            ret->name = ask->agent;
        }
        x->stage = 1;
    } else if (x->stage == 1) {
        ret->kind = UPP_STEP_DELTA;
        ret->text = ask ? ask->envelope : x->text;
        x->stage = 2;
    } else {
        ret->kind = UPP_STEP_PART_CLOSE;
        x->stage = 0;
        x->part++;
    }
    return 1;
}

static void router_close(struct upp_step *s)
{
    struct answer *x = upp_step_state(s);
    wb_arena_done(&x->arena);
}

static const struct upp_model_ops router_ops = {
    .size = sizeof router_ops,
    .provider = "weft",
    .step_size = sizeof(struct answer),
    .open = router_open,
    .next = router_next,
    .close = router_close,
};

/* A budget is used up: the best answer so far. */
static int close_exchange(const struct wr_agent_def *def, struct wb_uuid thread,
                          const struct upp_message *const *messages, size_t n, struct wb_arena *a, struct upp_str *ret,
                          struct upp_err *err)
{
    struct answer x = {.router = def->model->state,
                       .arena = WB_ARENA(WE_MEMORY),
                       .family = wl_family(thread),
                       .has_family = true,
                       .closes = true};
    int r = open_last(&x, messages, n, err);
    if (r >= 0)
        *ret = wb_arena_dup(a, x.text);
    wb_arena_done(&x.arena);
    if (r >= 0)
        r = wb_arena_check(a, err);
    return r < 0 ? r : x.left;
}

const struct wr_agent_def *we_router_agent(const struct we_router *r, struct upp_str name)
{
    for (size_t i = 0; i < r->opts.n_agents; i++)
        if (wb_str_eq(r->opts.agents[i].name, name))
            return r->opts.agents[i].model ? &r->opts.agents[i] : NULL;
    return NULL;
}

struct upp_str we_router_model(const struct we_router *r, struct upp_str agent)
{
    const struct wr_agent_def *def = we_router_agent(r, agent);
    if (!def)
        return (struct upp_str){NULL, 0};
    return r->opts.model ? r->opts.model(r->opts.arg, agent) : def->model->name;
}

/* The limits of an exchange end it before. */
static const struct weft_strategy_loop_opts rounds = {.max_iterations = ROUNDS};

static int make_tools(struct wb_arena *a, struct we_router *r, struct upp_err *err)
{
    struct wr_tool *tools = wb_new_n(a, struct wr_tool, WB_MAX(r->opts.n_agents, 1));
    size_t n = 0;
    for (size_t i = 0; tools && i < r->opts.n_agents; i++) {
        const struct wr_agent_def *def = &r->opts.agents[i];
        if (!def->model)
            continue;
        tools[n++] = (struct wr_tool){.spec = {.name = def->name,
                                               .description = def->card ? def->card->description : UPP_STR(""),
                                               .parameters = UPP_STR("{\"type\":\"object\"}")},
                                      .kind = WR_TOOL_AGENT,
                                      .agent = def->name,
                                      .max_result = WE_MAX_RESULT,
                                      .adapter = &r->adapter};
    }
    r->def.tools = tools;
    r->def.n_tools = n;
    return wb_arena_check(a, err);
}

static bool is_limited(const struct weft_budget *b)
{
    return b->max_tokens || b->max_time_ms || b->max_steps || b->max_cost > 0;
}

int we_router_make(struct wb_arena *a, const struct we_router_opts *opts, struct we_router **ret, struct upp_err *err)
{
    struct we_router *r = wb_new(a, struct we_router);
    if (!r)
        return wb_arena_check(a, err);
    *r = (struct we_router){
        .opts = *opts,
        .strategy = weft_loop_with(&rounds),
        .adapter = {r, we_child_ask, we_child_answer},
        /* `once`: then a request names its conversation, whose family its ids are of. */
        .model = {.ops = &router_ops, .name = UPP_STR("router"), .state = r, .can = UPP_CAN_ALL, .once = true},
    };
    r->rights.budget = opts->budget;
    r->def = (struct wr_agent_def){.name = UPP_STR(WE_ROUTER_AGENT),
                                   .id = UPP_STR(WE_ROUTER_ID),
                                   .model = &r->model,
                                   .strategy = &r->strategy,
                                   .rights = is_limited(&opts->budget) ? &r->rights : NULL,
                                   .closing = close_exchange};
    *ret = r;
    return make_tools(a, r, err);
}
