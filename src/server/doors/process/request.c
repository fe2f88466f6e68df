/* server/doors/process/request.c — reads the members of a request of the Agent API, and writes its errors.
 *
 * Every member is honoured or refused; what is unknown is accepted and named in the header weft-ignored.
 */
#include <openssl/evp.h>
#include <string.h>

#include "base/defs.h"
#include "base/err.h"
#include "dialects/core/convert.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/options.h"
#include "server/doors/process/process.h"
#include "server/http/server.h"

const char *const sv_process_members[] = {
    "input",      "stream", "id", "model", "top_p", "temperature", "frequency_penalty", "presence_penalty",
    "max_tokens", "stop",   "n",  "seed",  "tools", "session_id",  "user_id",           "response_id",
    NULL};

/* A pointer as FastAPI's `loc`: ["body", "input", 0, "role"]. */
static void put_loc(struct wj_writer *w, struct upp_str pointer)
{
    struct upp_str part;
    uint64_t number;
    wj_put_open(w, "loc", '[');
    wj_write_str(w, UPP_STR("body"));
    if (pointer.n && pointer.p[0] == '/')
        pointer = wb_str_sub(pointer, 1, SIZE_MAX);
    while (pointer.n && wb_str_split(&pointer, '/', &part)) {
        if (wb_str_u64(part, &number))
            wj_write_u64(w, number);
        else
            wj_write_str(w, part);
    }
    wj_write_close(w, ']');
}

static void put_problem(struct wj_writer *w, const char *type, struct upp_str pointer, struct upp_str sentence)
{
    wj_write_open(w, '{');
    wj_put_str(w, "type", wb_cstr(type));
    put_loc(w, pointer);
    wj_put_str(w, "msg", sentence);
    wj_write_close(w, '}');
}

void sv_process_error(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out)
{
    struct wj_writer w;
    (void)x;
    wj_writer_init(&w, out, NULL);
    wj_write_open(&w, '{');
    if (e->status == 422) {
        wj_put_open(&w, "detail", '[');
        put_problem(&w, e->code, e->param, e->message);
        wj_write_close(&w, ']');
    } else
        wj_put_str(&w, "detail", e->message);
    wj_write_close(&w, '}');
}

static int put_problems(struct sv_exchange *x, const struct wd_problems *problems, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "detail", '[');
    for (size_t i = 0; i < problems->list.n; i++) {
        const struct wd_problem *p = &problems->list.p[i];
        if (p->severity == WD_ERROR)
            put_problem(&w, "invalid_request", p->pointer, p->sentence);
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    x->reply.status = 422;
    int r = wj_writer_check(&w);
    return r < 0 ? r : 1;
}

int sv_process_check(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    const struct wd_document_ops *ops = wd_document_find(UPP_STR("agentapi"));
    int r = wd_document_validate(ops, wb_buf_str(&x->request->body), &memory, &problems, &ops, err);
    return r < 0 || !problems.errors ? r : put_problems(x, &problems, err);
}

/* The agent of the path, or that of `model`, or the default one: then `model` names a model that it is to use. */
static int choose_agent(struct sv_exchange *x, struct sv_process *p, struct upp_str *model, struct upp_err *err)
{
    const struct wr_agent_def *agent;
    struct upp_str name = {NULL, 0};
    int r = sv_body_str(&p->body, p->body.root, UPP_STR("model"), &name, err);
    *model = (struct upp_str){NULL, 0};
    if (r < 0)
        return r;
    name = sv_agent_named(x, name);
    agent = x->agent.n ? wr_agent(x->core->engine, x->agent) : r > 0 && name.n ? wr_agent(x->core->engine, name) : NULL;
    if (x->agent.n)
        *model = wb_str_eq(name, x->agent) ? *model : name;
    else if (!agent) {
        agent = wr_agent(x->core->engine, (struct upp_str){NULL, 0});
        *model = name;
    }
    if (!agent && x->agent.n)
        return wr_no_agent(x->core->engine, x->agent, err);
    if (model->n && !wr_has_model(x->core->engine, *model)) {
        struct wb_guess guess = {0};
        wr_guess_agent(x->core->engine, *model, &guess);
        wr_guess_model(x->core->engine, *model, &guess);
        return sv_body_wrong(&p->body, sv_member(p->body.root, UPP_STR("model")), err,
                             "the configuration has no agent and no model '%.*s'%s", UPP_FMT(*model),
                             wb_guessed(&guess));
    }
    if (!agent)
        return upp_fail(err, UPP_EINVALID, "the configuration has no default agent: `model` names one");
    if (agent->base) /* a stored assistant: by the name that asked for it */
        p->start.run.agent = x->agent.n ? x->agent : name;
    else
        p->start.run.agent = wb_arena_dup(&x->arena, agent->name);
    return wb_arena_check(&x->arena, err);
}

/* A tool is {"type", "function"}, or the function alone. */
static void put_tools(struct wj_writer *w, yyjson_val *tools)
{
    size_t i, n;
    yyjson_val *tool;
    wj_put_open(w, "tools", '[');
    yyjson_arr_foreach(tools, i, n, tool)
    {
        yyjson_val *function = yyjson_obj_get(tool, "function");
        wj_write_open(w, '{');
        wj_put_str(w, "type", UPP_STR("function"));
        wj_put_value(w, "function", yyjson_is_obj(function) ? function : tool);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

/* Tools of the request stand beside the agent's: a name of both is refused. */
static int check_tools(struct sv_exchange *x, struct sv_process *p, yyjson_val *tools, struct upp_err *err)
{
    const struct wr_agent_def *agent = wr_agent(x->core->engine, p->start.run.agent);
    size_t i, n;
    yyjson_val *tool;
    yyjson_arr_foreach(tools, i, n, tool)
    {
        yyjson_val *function = yyjson_obj_get(tool, "function");
        struct upp_str name = wj_text_at(yyjson_is_obj(function) ? function : tool, "name");
        for (size_t k = 0; agent && k < agent->n_tools; k++)
            if (wb_str_eq(agent->tools[k].spec.name, name))
                return sv_body_wrong(&p->body, tool, err, "the agent has a tool '%.*s' of its own", UPP_FMT(name));
        for (size_t k = 0; k < i; k++) {
            yyjson_val *other = yyjson_arr_get(tools, k), *f = yyjson_obj_get(other, "function");
            if (wb_str_eq(wj_text_at(yyjson_is_obj(f) ? f : other, "name"), name))
                return sv_body_wrong(&p->body, tool, err, "two tools have the name '%.*s'", UPP_FMT(name));
        }
    }
    return 0;
}

/* The members of a request that are options of a run: with the names of this protocol, and tools in one form. */
static int gather_options(struct sv_exchange *x, const struct sv_process *p, struct upp_str model, struct sv_body *ret,
                          struct upp_err *err)
{
    static const char *const names[] = {"temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens",
                                        "stop",        "seed"};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY + 4096);
    yyjson_val *tools = sv_member(p->body.root, UPP_STR("tools"));
    struct upp_str text;
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    if (model.n)
        wj_put_str(&w, "model", model);
    for (size_t i = 0; i < WB_LEN(names); i++)
        wj_put_value(&w, names[i], sv_member(p->body.root, wb_cstr(names[i])));
    if (tools && yyjson_arr_size(tools))
        put_tools(&w, tools);
    wj_write_close(&w, '}');
    int r = wj_writer_text(&w, &x->arena, &text);
    return r < 0 ? r : wj_read(&x->arena, text, NULL, &ret->root, err);
}

/* What every reader of the run is to see of the request (dialects/agentapi/stream.c). */
static int put_ours(struct sv_exchange *x, const struct sv_process *p, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "agentapi", '{');
    wj_put_str(&w, "session_id", p->session);
    if (p->id.n)
        wj_put_str(&w, "id", p->id);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &x->arena, ret);
}

static int read_options(struct sv_exchange *x, struct sv_process *p, struct upp_str model, struct upp_err *err)
{
    static const struct sv_alias aliases[] = {{"max_completion_tokens", "max_tokens"}, {NULL, NULL}};
    struct sv_body given;
    struct upp_str options = {NULL, 0}, ours = {NULL, 0};
    int r = check_tools(x, p, sv_member(p->body.root, UPP_STR("tools")), err);
    if (r >= 0)
        r = gather_options(x, p, model, &given, err);
    if (r >= 0)
        r = sv_options_read(x, &given, given.root, p->start.run.agent, aliases, &options, err);
    if (r >= 0)
        r = put_ours(x, p, &ours, err);
    return r < 0 ? r : wj_merge(&x->arena, options, ours, &p->start.run.options, err);
}

static int read_n(const struct sv_process *p, struct upp_err *err)
{
    yyjson_val *n = sv_member(p->body.root, UPP_STR("n"));
    if (!n || wb_str_eq(wj_text(n), UPP_STR("1")))
        return 0;
    return sv_body_wrong(&p->body, n, err, "an agent gives one answer: n is 1");
}

/* The request's id becomes that of its response, and the key of its run: the same request again joins it. Without one
 * its Idempotency-Key is. */
static int read_id(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct upp_str body = wb_buf_str(&x->request->body);
    unsigned len = 32;
    int r = sv_body_str(&p->body, p->body.root, UPP_STR("id"), &p->id, err);
    unsigned char *hash = r < 0 ? NULL : wb_arena_alloc(&x->arena, 32, 1);
    if (!hash)
        return r < 0 ? r : wb_arena_check(&x->arena, err);
    if (r == 0) {
        struct upp_str route = sv_key_route(x, p->task ? "POST /process/task" : "POST /process, by header");
        return sv_start_key(x, route, &p->start.run, hash, err);
    }
    if (!p->id.n || p->id.n > SV_RESPONSE_ID)
        return sv_body_wrong(&p->body, sv_member(p->body.root, UPP_STR("id")), err, "an id has 1 to %d bytes",
                             SV_RESPONSE_ID);
    if (EVP_Digest(body.p, body.n, hash, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    p->start.run.route = sv_key_route(x, SV_PROCESS_KEYS);
    p->start.run.key = p->id;
    p->start.run.body = hash;
    return wb_arena_check(&x->arena, err);
}

int sv_process_read(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct upp_str model;
    p->streams = true;
    p->start.run.on_busy = x->settings->on_busy;
    yyjson_val *input = sv_member(p->body.root, UPP_STR("input"));
    if (!input || !yyjson_is_arr(input))
        return sv_body_wrong(&p->body, input ? input : p->body.root, err, "input is an array of messages");
    int r = sv_process_check(x, err);
    if (r != 0)
        return r;
    r = sv_body_bool(&p->body, p->body.root, UPP_STR("stream"), &p->streams, err);
    if (r >= 0)
        r = choose_agent(x, p, &model, err);
    if (r >= 0 && !model.n && sv_member(p->body.root, UPP_STR("model")))
        p->start.agent_member = "model";
    if (r >= 0)
        r = read_n(p, err);
    if (r >= 0)
        r = read_id(x, p, err);
    if (r >= 0)
        r = read_options(x, p, model, err);
    return r < 0 ? r : sv_assistant_start(x, &p->start.run, err);
}
