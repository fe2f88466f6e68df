/* server/doors/responses/stored.c — reads, cancels and deletes responses, and lists their input. */
#include "server/doors/responses/responses.h"

#include "base/defs.h"
#include "dialects/responses/response.h"
#include "log/log.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/doors/stored_run.h"
#include "server/http/server.h"

WEFT_SUSPENDS int sv_response_find(struct sv_exchange *x, struct upp_str id, struct wm_run *run, uint32_t *segment,
                                   struct upp_err *err)
{
    struct wb_uuid u;
    int r = sv_stored_id(id, "resp_", '_', &u, segment) ? sv_stored_find(x, u, run, err) : -UPP_ENOTFOUND;
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "no response '%.*s'", UPP_FMT(id)) : r;
}

/* Finds it, and goes where it is at home. */
WEFT_SUSPENDS static int at_home(struct sv_exchange *x, sv_handler *handler, struct upp_err *err)
{
    struct sv_stored *it = wb_new(&x->arena, struct sv_stored);
    int r = it ? sv_response_find(x, x->params[0], &it->run, &it->segment, err) : wb_arena_check(&x->arena, err);
    x->work = it;
    return r < 0 ? r : sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, handler, err);
}

WEFT_SUSPENDS int sv_response_unfinished(struct sv_exchange *x, struct wb_uuid id, uint32_t segment,
                                         struct upp_err *err)
{
    struct wr_run_info look;
    struct wj_writer w;
    x->run = id;
    int r = sv_look_at_run(x, id, &look, err);
    wj_writer_init(&w, &x->reply.body, err);
    if (r >= 0)
        r = resp_write_unfinished(&w, &look.run, segment, err);
    x->reply.status = 200;
    return r < 0 ? r : wj_writer_check(&w);
}

/* The position after the wait that the response continues; it begins there. */
WEFT_SUSPENDS static int find_segment(struct sv_exchange *x, const struct sv_stored *it, struct wr_from *ret,
                                      struct upp_err *err)
{
    static const struct wr_from start;
    struct wr_reader *reader = NULL;
    struct wm_event ev;
    uint32_t n = 0;
    int r = wr_reader_open(x->core->engine, &x->owner, it->run.id, &start, &reader, err);
    while (r >= 0 && n < it->segment && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        if (ev.from->depth || ev.kind != WM_RUN || ev.run.status != WM_WAITING)
            continue;
        *ret = (struct wr_from){ev.from->epoch, ev.number, 0};
        n++;
    }
    wr_reader_close(reader);
    if (n < it->segment && (r == -UPP_EBUSY || r >= 0))
        return upp_fail(err, UPP_ENOTFOUND, "no response '%.*s'", UPP_FMT(x->params[0]));
    return r < 0 ? r : 0;
}

/* starting_after=N: the events after that sequence_number, unless the client says with Last-Event-ID what it has. */
WEFT_SUSPENDS static int read_start(struct sv_exchange *x, const struct sv_stored *it, struct sv_run_stream *s,
                                    struct upp_err *err)
{
    struct upp_str text;
    uint64_t n;
    int r = sv_run_stream_from(x, s, err);
    if (r < 0 || s->from.number)
        return r;
    if (it->segment)
        r = find_segment(x, it, &s->from, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("starting_after"), &text, err);
    if (r <= 0)
        return r;
    if (!wb_str_u64(text, &n) || n >= UINT32_MAX)
        return upp_fail(err, UPP_EINVALID, "starting_after is the sequence_number of an event");
    s->drop = n + 1;
    return 0;
}

WEFT_SUSPENDS static int read_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_stored *it = x->work;
    struct sv_run_stream s;
    struct upp_str text;
    int r = sv_run_stream_read(x, NULL, &s, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("stream"), &text, err);
    bool streams = r > 0 && wb_str_eq(text, UPP_STR("true"));
    s.to_wait = true;
    if (r >= 0 && streams)
        r = read_start(x, it, &s, err);
    if (r < 0)
        return r;
    if (streams)
        return sv_run_stream(x, it->run.id, &s, err);
    struct wd_responses_opts *own = sv_run_stream_own(&s, &wd_stream_responses);
    if (own)
        own->whole = true;
    s.skip = it->segment;
    s.now = true;
    r = sv_run_answer(x, it->run.id, &s, err);
    if (r == 0 && it->segment && wm_status_ended(it->run.status)) /* it had fewer */
        return upp_fail(err, UPP_ENOTFOUND, "no response '%.*s'", UPP_FMT(x->params[0]));
    return r == 0 ? sv_response_unfinished(x, it->run.id, it->segment, err) : r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_response_get(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, read_here, err);
}

WEFT_SUSPENDS static int cancel_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_stored *it = x->work;
    uint8_t status;
    int r = sv_cancel(x, it->run.id, err);
    if (r >= 0)
        r = wr_wait(x->core->engine, &x->owner, it->run.id, &status, err);
    return r < 0 ? r : read_here(x, err);
}

WEFT_SUSPENDS int sv_response_cancel(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, cancel_here, err);
}

/* The whole context, as at OpenAI: all that is before the response's output. */
WEFT_SUSPENDS static int input_here(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_path path;
    int r = sv_stored_context(x, x->work, &path, err);
    return r < 0 ? r : sv_items_list(x, &path, err);
}

WEFT_SUSPENDS int sv_response_input(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, input_here, err);
}

WEFT_SUSPENDS static int delete_here(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    int r = sv_stored_delete(x, x->work, "the response", err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", x->params[0]);
    wj_put_str(&w, "object", UPP_STR("response"));
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_response_delete(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, delete_here, err);
}
