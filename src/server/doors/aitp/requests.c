/* server/doors/aitp/requests.c — GET /v1/threads/{t}/requests: what members asked each other in structured messages,
 * and the state of each request. An extension. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "dialects/core/convert.h"
#include "server/doors/aitp/routes.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { PROBLEMS = 100 /* of all messages, that are listed */ };

struct listing {
    struct sv_transcript transcript;
    struct wd_aitp_exchanges exchanges;
    struct wd_problems problems;
};

static void listing_done(struct listing *l)
{
    sv_transcript_done(&l->transcript);
    wd_aitp_exchanges_done(&l->exchanges);
    wd_problems_done(&l->problems);
}

static struct wb_uuid id_at(const struct listing *l, size_t i)
{
    return i < l->transcript.ids.n ? l->transcript.ids.p[i] : WB_UUID_NIL;
}

static void write_request(struct wj_writer *w, const struct listing *l, const struct wl_thread *t,
                          const struct wd_aitp_exchange *e)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", e->id);
    wj_put_str(w, "object", UPP_STR("thread.request"));
    asst_put_id(w, "thread_id", "thread_", t->id);
    wj_put_str(w, "kind", wb_cstr(e->kind->name));
    wj_put_str(w, "state", wb_cstr(wd_aitp_state_name(e->state)));
    wj_put_str(w, "actor", e->asker);
    asst_put_id(w, "message_id", "msg_", id_at(l, e->request));
    asst_put_id(w, "reply_message_id", "msg_", e->reply == WD_AITP_NO_REPLY ? id_at(l, SIZE_MAX) : id_at(l, e->reply));
    if (e->expires_ms == INT64_MAX)
        wj_put_null(w, "expires_at");
    else
        wj_put_i64(w, "expires_at", e->expires_ms / 1000);
    wj_write_close(w, '}');
}

static void write_problem(struct wj_writer *w, const struct listing *l, const struct wd_problem *p)
{
    struct upp_str rest = wb_str_sub(p->pointer, sizeof "/messages/" - 1, SIZE_MAX), number;
    uint64_t at;
    bool in = wb_str_split(&rest, '/', &number) && wb_str_u64(number, &at);
    wj_write_open(w, '{');
    asst_put_id(w, "message_id", "msg_", id_at(l, in ? (size_t)at : SIZE_MAX));
    wj_put_str(w, "rule", wb_cstr(p->rule));
    wj_put_str(w, "severity", p->severity == WD_ERROR ? UPP_STR("error") : UPP_STR("warning"));
    wj_put_str(w, "message", p->sentence);
    wj_write_close(w, '}');
}

WEFT_SUSPENDS int sv_aitp_list_requests(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(listing_done) struct listing l = {.exchanges = {.a = WB_ARENA(64u << 20)}};
    struct wl_thread t;
    yyjson_val *thread;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r < 0)
        return r;
    sv_transcript_begin(&l.transcript, &t, err);
    r = sv_transcript_read(&l.transcript, x->server->opts.store, &x->owner, &t, err);
    if (r >= 0)
        r = sv_transcript_end(&l.transcript, &x->arena, &thread, err);
    if (r < 0)
        return r;
    l.problems.a = &x->arena;
    l.problems.root = thread;
    r = wd_aitp_follow(&l.exchanges, thread, &l.problems, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < l.exchanges.list.n; i++)
        write_request(&w, &l, &t, &l.exchanges.list.p[i]);
    wj_write_close(&w, ']');
    wj_put_open(&w, "problems", '[');
    for (size_t i = 0; i < WB_MIN(l.problems.list.n, (size_t)PROBLEMS); i++)
        write_problem(&w, &l, &l.problems.list.p[i]);
    wj_write_close(&w, ']');
    wj_put_bool(&w, "has_more", l.exchanges.more > 0);
    wj_put_bool(&w, "has_more_problems", l.problems.list.n > PROBLEMS);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
