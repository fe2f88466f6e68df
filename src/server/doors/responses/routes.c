/* server/doors/responses/routes.c — reads a request for a response, finds its conversation, starts the run and
 * answers. */
#include "server/doors/responses/responses.h"

#include "base/defs.h"
#include "dialects/responses/response.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/http/server.h"

struct request {
    struct sv_body body;
    struct sv_items items;
    struct sv_conversation_place place;
    struct sv_start start;
    struct sv_run_stream stream;
    struct upp_str previous; /* id of the response before; NULL: none */
    bool streams, background;
    bool joins;                /* another request has started the run ... */
    struct sv_joining joining; /* ... which is this one */
    unsigned char hash[32];    /* of the body, with an Idempotency-Key */
};

/* ---- Reading a request ------------------------------------------------------------------------------------------- */

/* The id of a conversation: a text, or an object with it. 1; 0: there is none. */
static int read_conversation(const struct sv_body *b, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = sv_member(b->root, UPP_STR("conversation"));
    if (yyjson_is_obj(v))
        return sv_body_str(b, v, UPP_STR("id"), ret, err);
    return sv_body_str(b, b->root, UPP_STR("conversation"), ret, err);
}

WEFT_SUSPENDS static int find_conversation(struct sv_exchange *x, struct request *q, struct upp_str id,
                                           struct upp_str *agent, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_node head;
    struct wm_run run;
    struct wb_uuid busy = {{0}};
    int r = sv_conversation_find(x, id, &q->place.thread, err);
    q->place.named = true;
    if (r == -UPP_ENOTFOUND) {
        wj_pointer_err(err, q->body.root, sv_member(q->body.root, UPP_STR("conversation")));
        return r;
    }
    if (r >= 0)
        r = wl_get_node(s, &x->owner, q->place.thread.head, &head, err);
    if (r >= 0)
        r = wl_thread_busy(s, &q->place.thread, &head, &busy, err);
    if (r < 0 || wb_uuid_is_nil(busy))
        return r;
    r = wl_get_run(s, &x->owner, busy, &x->arena, &run, err);
    if (r >= 0 && run.status == WM_WAITING) {
        q->place.waits = busy;
        *agent = wb_arena_dup(&x->arena, run.agent);
        r = wb_arena_check(&x->arena, err);
    }
    return r;
}

/* Where the request goes on; without one of both members that is found out by its items. */
WEFT_SUSPENDS static int find_place(struct sv_exchange *x, struct request *q, struct upp_str *agent,
                                    struct upp_err *err)
{
    struct upp_str conversation = {NULL, 0};
    struct wm_run run;
    uint32_t segment;
    int r = sv_body_str(&q->body, q->body.root, UPP_STR("previous_response_id"), &q->previous, err);
    if (r >= 0)
        r = read_conversation(&q->body, &conversation, err);
    if (r < 0)
        return r;
    if (q->previous.p && conversation.p)
        return sv_body_wrong(&q->body, sv_member(q->body.root, UPP_STR("conversation")), err,
                             "a response continues a conversation or previous_response_id, not both");
    if (conversation.p)
        return find_conversation(x, q, conversation, agent, err);
    if (!q->previous.p)
        return 0;
    r = sv_response_find(x, q->previous, &run, &segment, err);
    if (r == -UPP_ENOTFOUND)
        wj_pointer_err(err, q->body.root, sv_member(q->body.root, UPP_STR("previous_response_id")));
    if (r >= 0 && run.status != WM_WAITING && !wm_status_ended(run.status) && sv_join_repeated(x)) {
        q->joining = (struct sv_joining){.run = run, .results = true}; /* the results were sent before */
        q->joins = true;
        return 0;
    }
    if (r >= 0)
        r = sv_conversation_after(x, &run, &q->place, err);
    if (r >= 0)
        r = sv_conversation_after_call(x, &run, sv_items_first_output(&q->body), &q->place, err);
    if (r < 0)
        return r;
    *agent = wb_arena_dup(&x->arena, run.agent);
    return wb_arena_check(&x->arena, err);
}

/* Who answers: the agent that is asked for, also where a run of another one (`before`) waits, which then ends. If that
 * has to go on itself, the model that is asked for is ignored. */
WEFT_SUSPENDS static int choose_agent(struct sv_exchange *x, struct request *q, struct upp_str before,
                                      const struct wr_agent_def **agent, bool *model, struct upp_err *err)
{
    struct upp_str name;
    yyjson_val *asked = sv_member(q->body.root, UPP_STR("model"));
    int r = sv_agent_as_model(x, &q->body, before, agent, &name, model, err);
    q->start.run.agent = name;
    q->start.asked = wj_text_of(asked);
    if (r < 0 || wb_uuid_is_nil(q->place.waits) || wb_str_eq(name, before))
        return r;
    r = sv_conversation_take_over(x, sv_items_first_output(&q->body), &q->place, err);
    if (r != 0)
        return r;
    *agent = wr_agent(x->core->engine, before);
    *model = false;
    q->start.run.agent = before;
    q->start.asked = (struct upp_str){NULL, 0};
    if (asked)
        sv_reply_header(&x->reply, "weft-ignored", UPP_STR("model"));
    return 0;
}

static int read_stream(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    int r = sv_body_bool(&q->body, q->body.root, UPP_STR("stream"), &q->streams, err);
    if (r >= 0)
        r = sv_body_bool(&q->body, q->body.root, UPP_STR("background"), &q->background, err);
    if (r >= 0)
        r = sv_options_stored(&q->body, &q->start.unstored, err);
    if (r >= 0 && q->start.unstored && q->background)
        return sv_body_wrong(&q->body, sv_member(q->body.root, UPP_STR("background")), err,
                             "a response in the background is stored: nobody else would see its end");
    if (r >= 0)
        r = sv_run_stream_read(x, NULL, &q->stream, err);
    struct wd_responses_opts *own = r < 0 ? NULL : sv_run_stream_own(&q->stream, &wd_stream_responses);
    if (own)
        own->whole = !q->streams;
    q->stream.to_wait = true;
    q->stream.unstored = q->start.unstored;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int read_request(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    static const char *const known[] = {"model",
                                        "input",
                                        "stream",
                                        "background",
                                        "previous_response_id",
                                        "conversation",
                                        "store",
                                        "instructions",
                                        "metadata",
                                        "temperature",
                                        "top_p",
                                        "tools",
                                        "tool_choice",
                                        "parallel_tool_calls",
                                        "text",
                                        "reasoning",
                                        "max_output_tokens",
                                        NULL};
    const struct wr_agent_def *agent;
    struct upp_str before = {NULL, 0};
    bool model = false;
    *q = (struct request){.start.run = {.owner = x->owner, .on_busy = x->settings->on_busy}};
    int r = sv_body_read(x, known, &q->body, err);
    if (r >= 0)
        r = sv_responses_refuse(&q->body, err);
    if (r >= 0)
        r = sv_start_key(x, sv_key_route(x, "POST /v1/responses"), &q->start.run, q->hash, err);
    if (r >= 0)
        r = sv_join_key(x, &q->start.run, &q->joining, err);
    q->joins = r > 0;
    if (r == 0)
        r = find_place(x, q, &before, err);
    if (r >= 0 && q->joins)
        return read_stream(x, q, err);
    if (r >= 0)
        r = choose_agent(x, q, before, &agent, &model, err);
    if (r >= 0)
        r = q->place.named && !sv_member(q->body.root, UPP_STR("input"))
                ? 0 /* nothing is added */
                : sv_items_read(x, &q->body, "input", agent, &q->place, &q->items, err);
    if (r >= 0) /* those of earlier messages may be gone by now */
        r = sv_check_files(x, &q->body, sv_member(q->body.root, UPP_STR("input")), q->items.messages.list.p,
                           q->items.messages.next, q->items.messages.list.n, err);
    if (r >= 0)
        r = read_stream(x, q, err);
    if (r >= 0)
        r = sv_responses_options(x, &q->body, q->start.run.agent, model, q->previous, &q->start.run.options, err);
    q->start.system = q->items.messages.instructions;
    q->start.background = q->background;
    return r < 0 ? r : sv_assistant_start(x, &q->start.run, err);
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int answer_run(struct sv_exchange *x, struct request *q, struct wb_uuid run, struct upp_err *err)
{
    if (q->streams)
        return sv_run_stream(x, run, &q->stream, err);
    if (q->background)
        return sv_response_unfinished(x, run, 0, err);
    int r = sv_run_answer(x, run, &q->stream, err);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int join(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    int r = sv_join_from(x, &q->joining, &q->stream, err);
    return r < 0 ? r : answer_run(x, q, q->joining.run.id, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    struct wb_uuid run;
    int r = sv_conversation_start(x, &q->place, &q->items.messages, &q->start, &q->stream.from, &run, err);
    if (r >= 0 && q->start.joined) /* the same request was first */
        return sv_join_other(x, &q->start.run, run, &q->joining, join, err);
    if (r >= 0)
        r = answer_run(x, q, run, err);
    if (q->start.unstored)
        sv_conversation_erase(x, &q->start);
    return r;
}

/* Adds the results of the new messages to the approvals. */
static int add_results(struct sv_exchange *x, const struct sv_conversation_messages *m, struct sv_answers *to,
                       struct upp_err *err)
{
    struct sv_answers results;
    int r = sv_conversation_answers(x, m, &results, err);
    for (size_t i = 0; r > 0 && i < results.n; i++) {
        if (to->n == SV_ANSWERS_MAX)
            return upp_fail(err, UPP_EINVALID, "at most %d outputs and approvals in one request", SV_ANSWERS_MAX);
        if (!to->p)
            to->p = wb_new_n(&x->arena, struct wr_answer, SV_ANSWERS_MAX);
        if (!to->p)
            return wb_arena_check(&x->arena, err);
        to->p[to->n++] = results.p[i];
    }
    return r < 0 ? r : 0;
}

/* A conversation that the client sends whole continues its thread, if it is known. */
WEFT_SUSPENDS static int choose_thread(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct sv_conversation_messages *m = &q->items.messages;
    size_t from = 0;
    int r = 0;
    if (wb_uuid_is_nil(q->place.thread.id) && (m->next || q->items.answers.n)) {
        r = sv_conversation_find_place(x, q->start.run.agent, m, &q->items.answers, &q->place, err);
        if (r >= 0 && q->start.unstored)
            r = sv_conversation_unstored(x, &q->place, &q->start, err);
        if (r >= 0 && !wb_uuid_is_nil(q->place.thread.id))
            from = m->next;
        if (r >= 0 && wb_uuid_is_nil(q->place.waits))
            q->items.answers = (struct sv_answers){0}; /* of another conversation, or none: they have no authority */
        else if (r >= 0)
            r = add_results(x, m, &q->items.answers, err);
    } else if (q->start.unstored)
        r = sv_conversation_unstored(x, &q->place, &q->start, err);
    if (r >= 0)
        r = sv_conversation_add_results(&x->arena, &q->place, m, err);
    if (r >= 0 && wb_uuid_is_nil(q->place.thread.id)) {
        if (!m->list.n)
            return sv_body_wrong(&q->body, sv_member(q->body.root, UPP_STR("input")), err,
                                 "there is nothing to answer");
        if (!q->start.new_thread)
            r = sv_start_new_thread(x, &q->start, NULL, err);
    }
    q->start.thread = q->place.thread;
    q->start.made_thread = q->start.new_thread || q->place.made;
    q->start.answers = q->items.answers;
    q->start.messages = (struct sv_entries){.p = m->list.p + from, .n = m->list.n - from};
    return r < 0 ? r : 0;
}

/* A conversation, or a response before, is part of what was asked. */
static bool is_same_place(struct sv_exchange *x, const struct request *q, const struct wm_run *run)
{
    yyjson_val *v = NULL;
    struct upp_str previous = {NULL, 0};
    if (run->options.n && wj_read(&x->arena, run->options, NULL, &v, NULL) >= 0)
        previous = wj_text_at(v, "weft_previous");
    return q->previous.p
               ? wb_str_eq(previous, q->previous)
               : !previous.p && (wb_uuid_is_nil(q->place.thread.id) || wb_uuid_eq(q->place.thread.id, run->thread));
}

/* Was the request sent before? */
WEFT_SUSPENDS static int find_run(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    int r = sv_join_messages(x, q->start.run.agent, &q->items.messages, &q->joining, err);
    q->joins = r > 0 && is_same_place(x, q, &q->joining.run);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int create(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = wb_new(&x->arena, struct request);
    int r = q ? read_request(x, q, err) : wb_arena_check(&x->arena, err);
    x->work = q;
    if (r >= 0 && !q->joins)
        r = find_run(x, q, err);
    if (r >= 0 && q->joins)
        return sv_join_go(x, &q->joining, join, err);
    if (r >= 0)
        r = choose_thread(x, q, err);
    if (r >= 0)
        r = sv_start_at_home(x, &q->start, answer, err);
    return q ? sv_join_failed(x, r, &q->start.run, &q->joining, join, err) : r;
}

static const struct sv_route rows[] = {
    {SV_POST, "/v1/responses", create, 0, 0},
    {SV_POST, "/compatible-mode/v1/responses", create, 0, 0}, /* where AgentScope's servers have it */
    {SV_GET, "/v1/responses/{response}", sv_response_get, 0, SV_ROUTE_LARGE},
    {SV_DELETE, "/v1/responses/{response}", sv_response_delete, 0, 0},
    {SV_POST, "/v1/responses/{response}/cancel", sv_response_cancel, 0, SV_ROUTE_SMALL},
    {SV_GET, "/v1/responses/{response}/input_items", sv_response_input, 0, SV_ROUTE_LARGE},
};
const struct sv_door sv_door_responses = {.name = "responses",
                                          .prefix = "/v1/responses",
                                          .routes = rows,
                                          .n_routes = WB_LEN(rows),
                                          .stream = "responses",
                                          .agents = true};
