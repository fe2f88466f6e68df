/* server/doors/v1/run_create.c — POST /v1/threads/{t}/runs. */
#include "base/defs.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/message.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/doors/v1/routes.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/error.h"
#include "server/http/server.h"
#include "server/members/members.h"

static int read_on_busy(const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    static const struct {
        struct upp_str word;
        uint8_t busy;
    } words[] = {{UPP_STR_INIT("reject"), WR_REJECT},
                 {UPP_STR_INIT("enqueue"), WR_ENQUEUE},
                 {UPP_STR_INIT("interrupt"), WR_INTERRUPT},
                 {UPP_STR_INIT("rollback"), WR_ROLLBACK}};
    struct upp_str given;
    int r = sv_body_str(b, b->root, UPP_STR("on_busy"), &given, err);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(given, words[i].word)) {
            *ret = words[i].busy;
            return 0;
        }
    return sv_body_wrong(b, sv_member(b->root, UPP_STR("on_busy")), err,
                         "on_busy is reject, enqueue, interrupt or rollback");
}

/* Keys are for this thread or, of a run with a thread of its own, for all of the user. */
static int read_key(struct sv_exchange *x, const struct wl_thread *t, struct wr_start *start, unsigned char hash[32],
                    struct upp_err *err)
{
    bool own = wb_uuid_is_nil(t->id);
    char hex[WB_UUID_HEX + 1];
    struct upp_str route;
    (void)wb_uuid_hex(t->id, hex);
    route =
        own ? sv_key_route(x, "POST /v1/threads/runs") : wb_arena_printf(&x->arena, "POST /v1/threads/%s/runs", hex);
    return sv_start_key(x, route, start, hash, err);
}

WEFT_SUSPENDS int sv_read_run(struct sv_exchange *x, const struct sv_body *b, struct sv_run_request *ret,
                              struct upp_err *err)
{
    WB_CLEANUP(sv_system_done) struct sv_system system = SV_SYSTEM;

    struct sv_start *s = &ret->start;
    bool is = !wb_uuid_is_nil(s->thread.id); /* otherwise it comes with the run */
    s->run.owner = x->owner;
    s->run.on_busy = x->settings->on_busy;
    int r = sv_agent_read(x, b, "assistant_id", &s->run.agent, err);
    if (r >= 0 && !is && !s->run.agent.n && !wr_agent(x->core->engine, s->run.agent))
        return upp_fail(err, UPP_EINVALID, "assistant_id names the agent, and is missing");
    if (r >= 0)
        r = sv_body_bool(b, b->root, UPP_STR("stream"), &ret->streams, err);
    if (r >= 0 && ret->streams)
        r = sv_run_stream_read(x, NULL, &ret->stream, err); /* before anything is started */
    if (r >= 0)
        r = read_on_busy(b, &s->run.on_busy, err);
    if (r >= 0)
        r = sv_options_read(x, b, b->root, s->run.agent, NULL, &s->run.options, err);
    if (r >= 0)
        r = sv_assistant_start(x, &s->run, err);
    if (r >= 0)
        r = sv_read_messages(x, b, b->root, UPP_STR("additional_messages"), wr_agent(x->core->engine, s->run.agent),
                             &system, &s->messages, err);
    if (r >= 0)
        r = sv_system_text(&x->arena, &system, &s->system, err);
    if (r >= 0 && is)
        r = sv_members_receive(x, b, &s->thread, false, &s->messages, err);
    if (r >= 0 && is && !s->run.agent.n)
        r = sv_members_answerer(x, &s->thread, &s->messages, &s->run.agent, err);
    if (r >= 0)
        r = read_key(x, &s->thread, &s->run, ret->hash, err);
    if (r >= 0)
        r = sv_read_answers(x, b, &s->answers, err);
    s->agent_member = sv_member(b->root, UPP_STR("assistant_id")) ? "assistant_id" : NULL;
    if (r >= 0 && is && !s->answers.n)
        r = sv_members_may_answer(x, &s->thread, &s->messages, s->run.agent, err);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_create_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {SV_RUN_MEMBERS, NULL};
    struct sv_run_request q = {0};
    struct sv_body b;
    struct wb_uuid run;
    int r = sv_find_thread(x, &q.start.thread, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_read_run(x, &b, &q, err);
    if (r >= 0)
        r = sv_start_run(x, &q.start, &run, err);
    return r < 0 ? r : sv_answer_started(x, run, &q, err);
}
