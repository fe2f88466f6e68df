/* agent/tool/tools.c — converts tools to the engine's form; agents as tools. */
#include <upp/schema.h>

#include "agent/agent.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "base/utf8.h"
#include "fiber/loop.h"
#include "model/upp_json.h"
#include "upp/client/call.h"

enum { ABOUT = 256, AFTER = 4096 };

static const char task_schema[] =
    "{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\",\"description\":\"What the agent shall "
    "do\"}},\"required\":[\"task\"]}";

/* The first characters of a text. */
static struct upp_str beginning(struct upp_str s, size_t characters)
{
    size_t at = 0;
    while (characters-- && at < s.n) {
        uint32_t c;
        size_t n = wb_wtf8_decode(s, at, &c);
        at += n ? n : 1;
    }
    return wb_str(s.p, at);
}

static struct upp_str about(const struct weft_agent *a)
{
    if (a->description)
        return wb_cstr(a->description);
    if (a->system && a->system[0])
        return beginning(wb_cstr(a->system), ABOUT);
    return UPP_STR("An agent that works on a task by itself and answers with its result.");
}

static struct upp_str tool_name(struct wb_arena *arena, const struct weft_agent *a)
{
    return a->name ? wb_cstr(a->name) : wb_arena_printf(arena, "agent_%.*s", UPP_FMT(wa_agent_id(a)));
}

static int refuse(const struct upp_tool *t, const char *why, struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "tool '%s' %s", t->name ? t->name : "", why);
}

static uint8_t kind_of(const struct weft_tool_opts *o)
{
    return o->agent ? WR_TOOL_AGENT : o->client ? WR_TOOL_CLIENT : WR_TOOL_FUNCTION;
}

static int check(const struct upp_tool *from, const struct weft_tool_opts *o, struct upp_err *err)
{
    if (!o->agent && (!from->name || !from->name[0]))
        return upp_fail(err, UPP_EINVALID, "a tool has no name");
    if (o->agent && o->client)
        return refuse(from, "is an agent, and so not the client's", err);
    if (!o->agent && !o->client && !from->run)
        return refuse(from, "has nothing to run", err);
    if (o->delivery > WEFT_PURE)
        return refuse(from, "has an unknown delivery", err);
    return 0;
}

static int make_spec(struct wb_arena *arena, const struct upp_tool *from, const struct weft_agent *agent,
                     struct upp_tool_spec *to, struct upp_err *err)
{
    to->name = from->name ? wb_cstr(from->name) : tool_name(arena, agent);
    to->description = from->description ? wb_cstr(from->description) : agent ? about(agent) : UPP_STR("");
    int r = 0;
    if (agent && !from->parameters)
        to->parameters = wb_cstr(task_schema);
    else
        r = upp__parameters(arena, wb_cstr(from->parameters), &to->parameters, err);
    if (r >= 0)
        r = wa_object("metadata", from->metadata, &to->metadata, err);
    return r < 0 ? r : wb_arena_check(arena, err);
}

static int make_after(struct wb_arena *arena, const char *const *names, struct wr_tool *to, struct upp_err *err)
{
    size_t n = 0;
    while (names && n < AFTER && names[n])
        n++;
    struct upp_str *list = n ? wb_new_n(arena, struct upp_str, n) : NULL;
    for (size_t i = 0; list && i < n; i++)
        list[i] = wb_cstr(names[i]);
    to->after = list;
    to->n_after = list ? n : 0;
    return wb_arena_check(arena, err);
}

static int make_schema(struct wr_tool *to, struct upp_err *err)
{
    struct upp_schema *s = NULL;
    int r = upp_schema_new(to->spec.parameters, &s, err);
    to->schema = s;
    return r < 0 ? upp_wrap(err, r, "its parameters") : 0;
}

static int make_tool(struct wb_arena *arena, const struct upp_tool *from, struct wr_tool *to, struct upp_err *err)
{
    struct weft_tool_opts o;
    wb_opts(&o, sizeof o, from->extra);
    int r = check(from, &o, err);
    if (r < 0)
        return r;
    to->base = *from;
    to->kind = kind_of(&o);
    to->delivery = o.delivery;
    to->approval = o.approval;
    to->sequential = o.sequential;
    to->withheld = o.withheld;
    to->timeout_ms = o.timeout_ms;
    to->max_result = o.max_result;
    to->rights = o.rights;
    to->agent = o.agent ? wa_agent_name(o.agent) : (struct upp_str){0};
    r = make_spec(arena, from, o.agent, &to->spec, err);
    if (r >= 0)
        r = make_after(arena, o.after, to, err);
    if (r >= 0 && !o.unchecked)
        r = make_schema(to, err);
    return r < 0 ? upp_wrap(err, r, "tool '%.*s'", UPP_FMT(to->spec.name)) : 0;
}

void wa_tool_done(const struct wr_tool *t)
{
    union {
        const struct upp_schema *in;
        struct upp_schema *out;
    } schema = {.in = t->schema};
    upp_schema_free(schema.out);
}

static int list_functions(struct wa_provider *p, struct wb_arena *arena, struct wr_tool **ret, size_t *n,
                          struct upp_err *err)
{
    const struct weft_tools *from = &WB_OUTER(p, struct wa_functions, provider)->agent->tools;
    struct wr_tool *tools = wb_new_n(arena, struct wr_tool, from->n + 1);
    int r = wb_arena_check(arena, err);
    size_t made = 0;
    while (r >= 0 && made < from->n) {
        r = make_tool(arena, &from->list[made], &tools[made], err);
        made++; /* it may own a schema also if it failed */
    }
    if (r < 0) {
        for (size_t i = 0; i < made; i++)
            wa_tool_done(&tools[i]);
        return r;
    }
    *ret = tools;
    *n = made;
    return 0;
}

const struct wa_provider_ops wa_functions_ops = {.kind = "function", .list = list_functions};

const struct weft_agent *wa_tool_agent(const struct upp_tool *t)
{
    struct weft_tool_opts o;
    wb_opts(&o, sizeof o, t->extra);
    return o.agent;
}

int wa_handoff_make(struct wb_arena *arena, const struct weft_agent *to_whom, struct wr_tool *to, struct upp_err *err)
{
    struct upp_str name = wa_agent_name(to_whom);
    to->kind = WR_TOOL_HANDOFF;
    to->agent = name;
    to->spec.name = wb_arena_printf(arena, "handoff_to_%.*s", UPP_FMT(name));
    to->spec.description =
        wb_arena_printf(arena, "Hands the conversation over to '%.*s': %.*s", UPP_FMT(name), UPP_FMT(about(to_whom)));
    to->spec.parameters = wr_handoff_parameters;
    int r = wb_arena_check(arena, err);
    return r < 0 ? r : make_schema(to, err);
}

/* A tool created from an agent, with all that it points to. */
struct wa_made {
    struct wa_made *next;
    struct weft_tool_opts extra;
    struct wb_arena arena; /* owns this struct */
};

void wa_made_free(struct wa_made *m)
{
    while (m) {
        struct wa_made *next = m->next;
        struct wb_arena arena = m->arena;
        wb_arena_done(&arena);
        m = next;
    }
}

/* For libupp's own loop: runs the agent by itself. In another agent the engine creates a child run instead. */
static WEFT_SUSPENDS int run_agent(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a = call->arg;
    struct upp_str task;
    if (upp_call_arg_str(call, "task", &task, NULL) < 0)
        task = call->arguments;
    int r = weft_agent_run_with(a, UPP_OPTS(upp_input, .text = task, .wait = call->wait), &turn, err);
    return r < 0 ? r : upp_value_text(ret, wb_cstr(upp_turn_text(turn)), err);
}

int weft_agent_to_tool(struct weft_agent *a, const struct weft_to_tool *opts, struct upp_tool *ret, struct upp_err *err)
{
    struct weft_to_tool o;
    struct wb_arena arena = WB_ARENA(1u << 20);
    wb_opts(&o, sizeof o, opts);
    struct wa_made *m = wb_new(&arena, struct wa_made);
    struct upp_tool tool = {.name = o.name, .description = o.description, .parameters = o.parameters};
    struct upp_tool_spec spec = {0};
    int r = m ? make_spec(&arena, &tool, a, &spec, err) : wb_arena_check(&arena, err);
    if (r >= 0) {
        tool.name = wb_arena_dup(&arena, spec.name).p;
        tool.description = wb_arena_dup(&arena, spec.description).p;
        tool.parameters = wb_arena_dup(&arena, spec.parameters).p;
        r = wb_arena_check(&arena, err);
    }
    if (r < 0) {
        wb_arena_done(&arena);
        return r;
    }
    m->extra = (struct weft_tool_opts){.size = sizeof m->extra, .agent = a, .rights = o.rights};
    m->arena = arena;
    m->next = a->made;
    a->made = m;
    tool.run = run_agent;
    tool.arg = a;
    tool.extra = &m->extra;
    *ret = tool;
    return 0;
}
