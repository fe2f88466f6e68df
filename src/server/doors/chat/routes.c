/* server/doors/chat/routes.c — reads a chat request, starts or continues its run, and answers as a stream or as one
 * object. */
#include "server/doors/chat/chat.h"

#include "base/defs.h"
#include "dialects/chat/chat.h"
#include "json/pointer.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/http/auth.h"
#include "server/http/error.h"
#include "server/http/server.h"

struct request {
    struct sv_body body;
    struct sv_conversation_messages messages;
    struct sv_conversation_place place;
    struct sv_start start;
    struct sv_run_stream stream;
    bool streams;
    bool model; /* `model` names one of the configuration */
    struct sv_joining joining;
    unsigned char hash[32]; /* of the body, with an Idempotency-Key */
};

/* Members that change what the client would get, and that runs do not have. */
static int refuse(const struct sv_body *b, bool *unstored, struct upp_err *err)
{
    static const char *const names[] = {"functions",  "function_call", "logprobs",           "top_logprobs",
                                        "logit_bias", "audio",         "web_search_options", NULL};
    for (size_t i = 0; names[i]; i++) {
        yyjson_val *v = sv_member(b->root, wb_cstr(names[i]));
        if (v && !yyjson_is_false(v) && !(yyjson_is_obj(v) && !yyjson_obj_size(v)))
            return sv_body_wrong(b, v, err, "'%s' is not supported", names[i]);
    }
    int r = sv_options_stored(b, unstored, err);
    if (r < 0)
        return r;
    yyjson_val *n = sv_member(b->root, UPP_STR("n"));
    bool one = !n || (yyjson_is_raw(n) && wb_str_eq(wj_text(n), UPP_STR("1")));
    return one ? 0 : sv_body_wrong(b, n, err, "an answer has one choice");
}

WEFT_SUSPENDS static int read_agent(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct upp_str none = {NULL, 0};
    int r = sv_agent_as_model(x, &q->body, none, &def, &q->start.run.agent, &q->model, err);
    if (r >= 0)
        r = sv_chat_read_messages(x, &q->body, def, &q->messages, err);
    if (r >= 0) /* those of earlier messages may be gone by now */
        r = sv_check_files(x, &q->body, sv_member(q->body.root, UPP_STR("messages")), q->messages.list.p,
                           q->messages.next, q->messages.list.n, err);
    return r;
}

static int read_stream(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    yyjson_val *options = NULL;
    bool usage = false;
    int r = sv_body_bool(&q->body, q->body.root, UPP_STR("stream"), &q->streams, err);
    if (r >= 0)
        r = sv_run_stream_read(x, NULL, &q->stream, err);
    if (r >= 0)
        r = sv_body_object(&q->body, q->body.root, UPP_STR("stream_options"), &options, err);
    if (r > 0)
        r = sv_body_bool(&q->body, options, UPP_STR("include_usage"), &usage, err);
    struct wd_chat_opts *own = r < 0 ? NULL : sv_run_stream_own(&q->stream, &wd_stream_chat);
    if (own)
        own->whole = !q->streams;
    if (own && r > 0)
        own->usage = usage;
    q->stream.to_wait = true;
    return r < 0 ? r : 0;
}

static int read_options(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    static const struct sv_alias aliases[] = {{"model", NULL}, /* names the agent */
                                              {"max_completion_tokens", "max_tokens"},
                                              {"instructions", NULL},
                                              {"truncation_strategy", NULL},
                                              {NULL, NULL}};
    q->start.system = q->messages.instructions;
    q->start.asked = wj_text_of(sv_member(q->body.root, UPP_STR("model")));
    q->start.stored = yyjson_is_true(sv_member(q->body.root, UPP_STR("store")));
    return sv_options_read(x, &q->body, q->body.root, q->start.run.agent, aliases + q->model, &q->start.run.options,
                           err);
}

WEFT_SUSPENDS static int read_request(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    static const char *const known[] = {"model", "messages", "stream", "stream_options", "n", "max_tokens",
                                        "store", SV_OPTIONS, NULL};
    *q = (struct request){.start.run = {.owner = x->owner, .on_busy = WR_REJECT}};
    int r = sv_body_read(x, known, &q->body, err);
    if (r >= 0)
        r = refuse(&q->body, &q->start.unstored, err);
    if (r >= 0)
        r = read_agent(x, q, err);
    if (r >= 0)
        r = read_stream(x, q, err);
    if (r >= 0)
        r = read_options(x, q, err);
    return r < 0 ? r : sv_assistant_start(x, &q->start.run, err);
}

/* The request was sent before: the answer is that of its run, from the beginning. */
WEFT_SUSPENDS static int join(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    int r = sv_join_from(x, &q->joining, &q->stream, err);
    if (r >= 0)
        r = q->streams ? sv_run_stream(x, q->joining.run.id, &q->stream, err)
                       : sv_run_answer(x, q->joining.run.id, &q->stream, err);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    struct wb_uuid run;
    int r = sv_conversation_answers(x, &q->messages, &q->start.answers, err);
    if (r >= 0 && wb_uuid_is_nil(q->place.waits))
        q->start.answers = (struct sv_answers){0}; /* part of the history */
    if (r >= 0)
        r = sv_conversation_start(x, &q->place, &q->messages, &q->start, &q->stream.from, &run, err);
    if (r >= 0 && q->start.joined) /* the same request was first */
        return sv_join_other(x, &q->start.run, run, &q->joining, join, err);
    if (r >= 0)
        r = q->streams ? sv_run_stream(x, run, &q->stream, err) : sv_run_answer(x, run, &q->stream, err);
    if (q->start.unstored)
        sv_conversation_erase(x, &q->start);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int find_run(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    int r = sv_start_key(x, sv_key_route(x, "POST /v1/chat/completions"), &q->start.run, q->hash, err);
    if (r >= 0)
        r = sv_join_key(x, &q->start.run, &q->joining, err);
    return r != 0 ? r : sv_join_messages(x, q->start.run.agent, &q->messages, &q->joining, err);
}

WEFT_SUSPENDS static int complete(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = wb_new(&x->arena, struct request);
    size_t from = 0;
    int r = q ? read_request(x, q, err) : wb_arena_check(&x->arena, err);
    x->work = q;
    if (r >= 0)
        r = find_run(x, q, err);
    if (r > 0)
        return sv_join_go(x, &q->joining, join, err);
    if (r >= 0)
        r = sv_conversation_find_place(x, q->start.run.agent, &q->messages, NULL, &q->place, err);
    if (r >= 0 && q->start.unstored)
        r = sv_conversation_unstored(x, &q->place, &q->start, err);
    if (r < 0)
        return sv_join_failed(x, r, &q->start.run, &q->joining, join, err);
    q->stream.unstored = q->start.unstored;
    q->start.thread = q->place.thread;
    if (!q->start.new_thread && wb_uuid_is_nil(q->start.thread.id))
        r = sv_start_new_thread(x, &q->start, NULL, err);
    else if (!q->start.new_thread)
        from = q->messages.next;
    q->start.made_thread = q->start.new_thread || q->place.made;
    q->start.messages = (struct sv_entries){.p = q->messages.list.p + from, .n = q->messages.list.n - from};
    if (r >= 0)
        r = sv_start_at_home(x, &q->start, answer, err);
    return sv_join_failed(x, r, &q->start.run, &q->joining, join, err);
}

static const struct sv_route rows[] = {
    {SV_POST, "/v1/chat/completions", complete, 0, 0},
    {SV_GET, "/v1/chat/completions", sv_chat_list, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/chat/completions/{completion}", sv_chat_get, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/chat/completions/{completion}", sv_chat_update, 0, 0},
    {SV_DELETE, "/v1/chat/completions/{completion}", sv_chat_delete, 0, 0},
    {SV_GET, "/v1/chat/completions/{completion}/messages", sv_chat_list_messages, 0, SV_ROUTE_LARGE},
};
const struct sv_door sv_door_chat = {
    .name = "chat", .prefix = "/v1/chat/", .routes = rows, .n_routes = WB_LEN(rows), .stream = "chat", .agents = true};
