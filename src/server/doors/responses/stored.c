/* server/doors/responses/stored.c — see stored.h. */
#include "server/doors/responses/stored.h"

#include "base/defs.h"
#include "dialects/responses/response.h"
#include "log/change.h"
#include "log/log.h"
#include "server/doors/aitp/members.h"
#include "server/doors/responses/item_list.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { BATCH = 64 };

/* ---- Ids --------------------------------------------------------------------------------------------------------- */

/* resp_ + a run, and _2 for its second segment. */
static bool parse_id(struct upp_str id, struct wb_uuid *run, uint32_t *segment)
{
    static const struct upp_str prefix = UPP_STR_INIT("resp_");
    uint64_t                    n      = 1;
    if (!wb_str_starts(id, prefix))
        return false;
    struct upp_str rest = wb_str_sub(id, prefix.n, SIZE_MAX);
    size_t         at   = wb_str_find(rest, UPP_STR("_"), 0);
    if (at < rest.n && (!wb_str_u64(wb_str_sub(rest, at + 1, SIZE_MAX), &n) || n < 2 || n > UINT32_MAX))
        return false;
    *segment = (uint32_t)(n - 1);
    return wl_id_parse(wb_str_sub(rest, 0, at), UPP_STR("run_"), run);
}

/* A run of another owner and none at all get the same answer. */
WEFT_SUSPENDS int sv_response_find(struct sv_exchange *x, struct upp_str id, struct wm_run *run, uint32_t *segment,
                                   struct upp_err *err)
{
    struct wl_store  *s = x->server->opts.store;
    struct wl_thread *t = wb_new(&x->arena, struct wl_thread);
    struct wb_uuid    u;
    if (!t)
        return wb_arena_check(&x->arena, err);
    int r = parse_id(id, &u, segment) ? wl_get_run(s, &x->owner, u, &x->arena, run, err) : -UPP_ENOTFOUND;
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, run->thread, &x->arena, t, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_str_eq(t->owner.user, x->owner.user)))
        return upp_fail(err, UPP_ENOTFOUND, "no response '%.*s'", UPP_FMT(id));
    x->thread = t;
    return r;
}

/* ---- Stored responses -------------------------------------------------------------------------------------------- */

struct stored {
    struct wm_run run;
    uint32_t      segment;
};

/* Finds it, and goes where it is at home. */
WEFT_SUSPENDS static int at_home(struct sv_exchange *x, sv_handler *handler, struct upp_err *err)
{
    struct stored *it = wb_new(&x->arena, struct stored);
    int r   = it ? sv_response_find(x, x->params[0], &it->run, &it->segment, err) : wb_arena_check(&x->arena, err);
    x->work = it;
    return r < 0 ? r : sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, handler, err);
}

WEFT_SUSPENDS int sv_response_unfinished(struct sv_exchange *x, struct wb_uuid id, uint32_t segment,
                                         struct upp_err *err)
{
    struct wr_run_info look;
    struct wj_writer   w;
    x->run = id;
    int r  = sv_look_at_run(x, id, &look, err);
    wj_writer_init(&w, &x->reply.body, err);
    if (r >= 0)
        r = resp_write_unfinished(&w, &look.run, segment, err);
    x->reply.status = 200;
    return r < 0 ? r : wj_writer_check(&w);
}

/* The position after the wait that the response continues; it begins there. */
WEFT_SUSPENDS static int find_segment(struct sv_exchange *x, const struct stored *it, struct wr_from *ret,
                                      struct upp_err *err)
{
    static const struct wr_from start;
    struct wr_reader           *reader = NULL;
    struct wm_event             ev;
    uint32_t                    n = 0;
    int                         r = wr_reader_open(x->core->engine, &x->owner, it->run.id, &start, &reader, err);
    while (r >= 0 && n < it->segment && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        if (ev.from->depth || ev.kind != WM_RUN || ev.status != WM_WAITING)
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
WEFT_SUSPENDS static int read_start(struct sv_exchange *x, const struct stored *it, struct sv_run_stream *s,
                                    struct upp_err *err)
{
    struct upp_str text;
    uint64_t       n;
    int            r = sv_run_stream_from(x, s, err);
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
    const struct stored *it = x->work;
    struct sv_run_stream s;
    struct upp_str       text;
    int                  r = sv_run_stream_read(x, NULL, &s, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("stream"), &text, err);
    bool streams = r > 0 && wb_str_eq(text, UPP_STR("true"));
    s.to_wait    = true;
    if (r >= 0 && streams)
        r = read_start(x, it, &s, err);
    if (r < 0)
        return r;
    if (streams)
        return sv_run_stream(x, it->run.id, &s, err);
    s.opts.responses.whole = true;
    s.skip                 = it->segment;
    s.now                  = true;
    r                      = sv_run_answer(x, it->run.id, &s, err);
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
    const struct stored *it = x->work;
    uint8_t              status;
    int                  r = sv_cancel(x, it->run.id, err);
    if (r >= 0)
        r = wr_wait(x->core->engine, &x->owner, it->run.id, &status, err);
    return r < 0 ? r : read_here(x, err);
}

WEFT_SUSPENDS int sv_response_cancel(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, cancel_here, err);
}

/* ---- Its input --------------------------------------------------------------------------------------------------- */

/* The thread to the end of the run's node, wherever its head is now. */
static struct wl_thread thread_of(const struct sv_exchange *x, const struct wm_run *run)
{
    struct wl_thread of = *x->thread;
    of.head             = run->node;
    of.at               = 0;
    return of;
}

/* The place of the first message of the response; index UINT32_MAX: it has none yet. */
WEFT_SUSPENDS static int find_output(struct sv_exchange *x, const struct stored *it, struct wm_id *ret,
                                     struct upp_err *err)
{
    static const struct wr_from start;
    struct wr_reader           *reader  = NULL;
    uint32_t                    segment = 0;
    struct wm_event             ev;
    bool                        found = false;
    int                         r     = wr_reader_open(x->core->engine, &x->owner, it->run.id, &start, &reader, err);
    *ret                              = (struct wm_id){.node = it->run.node, .index = UINT32_MAX};
    while (r >= 0 && !found && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        bool own = ev.from->depth == 0;
        segment += own && ev.kind == WM_RUN && ev.status == WM_WAITING;
        found = own && segment == it->segment && ev.kind == WM_MESSAGE && ev.entry &&
                ev.entry->message.role == UPP_ROLE_ASSISTANT && wm_id_parse(ev.id, ret);
    }
    wr_reader_close(reader);
    return r == -UPP_EBUSY ? 0 : r < 0 ? r : 0;
}

/* The whole context, as at OpenAI: all that is before the response's output. */
WEFT_SUSPENDS static int input_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct stored   *it = x->work;
    const struct wl_thread of = thread_of(x, &it->run);
    struct wm_id           at;
    struct wl_path         path;
    int                    r = find_output(x, it, &at, err);
    if (r >= 0)
        r = wl_thread_path(x->server->opts.store, &x->owner, &of, &x->arena, &path, err);
    if (r >= 0 && at.index != UINT32_MAX)
        r = wl_path_open(x->server->opts.store, &x->owner, at.node, at.index, &x->arena, &path, err);
    return r < 0 ? r : sv_items_list(x, &path, err);
}

WEFT_SUSPENDS int sv_response_input(struct sv_exchange *x, struct upp_err *err)
{
    return at_home(x, input_here, err);
}

/* ---- Deleting ---------------------------------------------------------------------------------------------------- */

/* Erases the run's messages, its question included. One that was deleted before is no failure. */
WEFT_SUSPENDS static int erase_messages(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    struct wl_store *s  = x->server->opts.store;
    struct wl_thread of = thread_of(x, run);
    struct wl_path   path;
    struct wl_line  *lines;
    size_t           n;
    int              r  = wl_thread_path(s, &x->owner, &of, &x->arena, &path, err);
    uint32_t         at = r >= 0 && path.n ? path.spans[path.n - 1].before + run->input : 0;
    for (uint32_t end; r >= 0 && at < path.length; at = end) {
        end = WB_MIN(path.length, at + BATCH);
        r   = wl_path_tail(s, &x->owner, &path, end, end - at, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && wb_uuid_eq(lines[i].run, run->id))
                r = wl_message_delete(s, &x->owner, &of, lines[i].id, UPP_STR("deleted"), err);
            r = r == -UPP_ENOTFOUND ? 0 : r;
        }
    }
    return r < 0 ? r : 0;
}

/* Is there another run on its thread, or a message that was not deleted? 1: yes. */
WEFT_SUSPENDS static int is_thread_used(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path   path;
    struct wl_line  *lines;
    struct wm_run   *runs;
    size_t           n;
    int              r = wl_list_runs(s, &x->owner, run->thread, false, 2, &x->arena, &runs, &n, err);
    if (r < 0 || n > 1)
        return r < 0 ? r : 1;
    r = wl_thread_path(s, &x->owner, x->thread, &x->arena, &path, err);
    for (uint32_t end = r >= 0 ? path.length : 0; r >= 0 && end; end -= WB_MIN(end, BATCH)) {
        r = wl_path_tail(s, &x->owner, &path, end, BATCH, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && !wm_is_erased(&lines[i].entry))
                return 1;
    }
    return r < 0 ? r : 0;
}

/* Nobody asked for a thread: it goes with the last response in it, unless somebody uses it now. Before the run, which
 * names it. */
WEFT_SUSPENDS static int drop_thread(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    int r = sv_made_thread(x, run) ? is_thread_used(x, run, err) : 1;
    if (r == 0)
        r = wl_thread_delete(x->server->opts.store, &x->owner, x->thread, err);
    return r == -UPP_EBUSY || r == -UPP_ENOTFOUND || r > 0 ? 0 : r;
}

/* The messages first: a request that broke off is sent again. */
WEFT_SUSPENDS static int delete_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct stored   *it   = x->work;
    struct wl_store       *s    = x->server->opts.store;
    const struct wl_change drop = {.kind = WL_DROP_RUN, .run = &it->run};
    struct wl_commit       c    = {.owner = x->owner, .changes = &drop, .n = 1};
    struct wj_writer       w;
    int                    r = sv_aitp_may_write(x, x->thread, err);
    if (r >= 0 && it->segment)
        r = upp_fail(err, UPP_EINVALID, "'%.*s' continues an earlier response: delete that one", UPP_FMT(x->params[0]));
    if (r >= 0 && !wm_status_ended(it->run.status))
        r = upp_fail(err, UPP_EBUSY, "the response is %s: cancel it first", wd_status_word(it->run.status));
    if (r >= 0)
        r = erase_messages(x, &it->run, err);
    if (r == -UPP_EBUSY && wm_status_ended(it->run.status))
        return sv_busy_error(x, x->thread, false, err);
    if (r >= 0)
        r = drop_thread(x, &it->run, err);
    if (r >= 0)
        r = s->ops->commit(s, &c, err);
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
