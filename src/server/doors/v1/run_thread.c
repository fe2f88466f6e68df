/* server/doors/v1/run_thread.c — POST /v1/threads/runs: a thread and a run on it in one request. Both are there, or
 * neither. */
#include <string.h>

#include "base/defs.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

/* The messages of the thread come before those that the run adds. */
static int join(struct sv_exchange *x, const struct sv_entries *first, struct sv_entries *to, struct upp_err *err)
{
    if (!first->n)
        return 0;
    struct wm_entry *all = wb_new_n(&x->arena, struct wm_entry, first->n + to->n);
    if (!all)
        return wb_arena_check(&x->arena, err);
    memcpy(all, first->p, first->n * sizeof *all);
    if (to->n)
        memcpy(all + first->n, to->p, to->n * sizeof *all);
    *to = (struct sv_entries){.p = all, .n = first->n + to->n};
    return 0;
}

/* What `thread` says of the thread; without it the thread is an empty one. */
WEFT_SUSPENDS static int read_thread(struct sv_exchange *x, const struct sv_body *b, struct sv_start *s,
                                     struct upp_err *err)
{
    WB_CLEANUP(sv_system_done) struct sv_system system = SV_SYSTEM;

    yyjson_val *thread = NULL;
    struct upp_str more = s->system;
    struct sv_entries messages = {0};
    struct wl_thread_opts opts = {.size = sizeof opts};

    int r = sv_body_object(b, b->root, UPP_STR("thread"), &thread, err);
    if (r > 0)
        r = sv_read_thread(x, b, thread, wr_agent(x->core->engine, s->run.agent), &system, &opts, &messages, err);
    if (r >= 0)
        r = sv_system_text(&x->arena, &system, &s->system, err);
    if (r >= 0 && more.n)
        s->system = s->system.n ? wb_arena_printf(&x->arena, "%.*s\n\n%.*s", UPP_FMT(s->system), UPP_FMT(more)) : more;
    if (r >= 0 && !wb_uuid_is_nil(opts.parent)) /* it is of the parent's family, and at home there */
        r = wl_id_new(wl_family(opts.parent), &opts.id, err);
    if (r >= 0)
        r = sv_start_new_thread(s, &opts, err);
    return r < 0 ? r : join(x, &messages, &s->messages, err);
}

/* The stream of this API begins with the thread. */
WEFT_SUSPENDS static int announce(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *stream,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY + 4096);
    struct wl_store *s = x->server->opts.store;
    struct wr_run_info look;
    struct wl_thread t;
    struct wj_writer w;
    unsigned tries = 0;
    if (stream->ops != wd_stream_find(wb_cstr(sv_door_v1.stream)))
        return 0;
    int r = sv_look_at_run(x, run, &look, err);
    if (r < 0)
        return r;
    do
        r = wl_get_thread(s, &x->owner, look.run.thread, &x->arena, &t, err);
    while (sv_try_again(x, r, err, &tries));
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    sv_write_thread(&w, &t);
    r = wj_writer_check(&w);
    stream->preamble = (struct sv_preamble){"thread.created", wb_arena_dup(&x->arena, wb_buf_str(&out))};
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_request *q = x->work;
    const struct wb_uuid run = x->run;
    int r = q->streams ? announce(x, run, &q->stream, err) : 0;
    return r < 0 ? r : sv_answer_started(x, run, q, err);
}

/* Where the thread is at home; one that an earlier request with the same key has made may be elsewhere. */
WEFT_SUSPENDS static int start(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_run_request *q = x->work;
    struct wb_uuid run;
    int r = sv_start_run(x, &q->start, &run, err);
    if (r >= 0 && q->start.joined)
        return sv_run_at_home(x, run, answer, err);
    return r < 0 ? r : answer(x, err);
}

WEFT_SUSPENDS int sv_create_thread_and_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"thread", SV_RUN_MEMBERS, NULL};
    struct sv_run_request *q = wb_new(&x->arena, struct sv_run_request);
    struct sv_body b;
    if (!q)
        return wb_arena_check(&x->arena, err);
    *q = (struct sv_run_request){0};
    x->work = q;
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_read_run(x, &b, q, err);
    if (r >= 0)
        r = read_thread(x, &b, &q->start, err);
    if (r >= 0 && q->start.answers.n)
        r = sv_body_wrong(&b, sv_member(b.root, UPP_STR("answers")), err, "a new thread has no open calls");
    return r < 0 ? r : sv_start_at_home(x, &q->start, start, err);
}
