/* server/doors/v1/steps.c — GET /v1/threads/{t}/runs/{r}/steps and .../steps/{s}: what the stream says of the run's
 * steps, read from its events. */
#include "base/defs.h"
#include "dialects/assistants/steps.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { TURN = 1024 }; /* events that are read before others may work */

/* The one thing that can be included concerns file_search, whose results no step of ours leaves out. */
static int read_include(struct sv_exchange *x, struct upp_err *err)
{
    static const struct upp_str only = UPP_STR_INIT("step_details.tool_calls[*].file_search.results[*].content");
    static const char *const names[] = {"include[]", "include"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str text;
        int r = sv_query(x, wb_cstr(names[i]), &text, err);
        if (r > 0 && !wb_str_eq(text, only))
            return upp_fail(err, UPP_EINVALID, "include is %.*s", UPP_FMT(only));
        if (r < 0)
            return r;
    }
    return 0;
}

/* No step has an id of zeros, which means none to those who are asked. */
static bool parse_id(struct upp_str text, struct wb_uuid *ret)
{
    return wl_id_parse(text, UPP_STR("step_"), ret) && !wb_uuid_is_nil(*ret);
}

static int read_cursor(struct sv_exchange *x, const char *name, struct wb_uuid *ret, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(x, wb_cstr(name), &text, err);
    if (r > 0 && !parse_id(text, ret))
        return upp_fail(err, UPP_EINVALID, "'%s' names no step of this run: '%.*s'", name, UPP_FMT(text));
    return r;
}

/* The page, in the order in which the run made the steps. *ascending: the order in which they are listed. */
static int read_page(struct sv_exchange *x, struct asst_steps_page *ret, bool *ascending, struct upp_err *err)
{
    uint64_t limit;
    struct wb_uuid after = {{0}}, before = {{0}};
    *ret = (struct asst_steps_page){0};
    int r = sv_read_limit(x, &limit, ascending, err);
    if (r >= 0)
        r = read_include(x, err);
    if (r < 0)
        return r;
    int has_after = read_cursor(x, "after", &after, err);
    int has_before = has_after < 0 ? 0 : read_cursor(x, "before", &before, err);
    if (has_after < 0 || has_before < 0)
        return has_after < 0 ? has_after : has_before;
    bool nearest = has_before > 0 && has_after == 0; /* to `before`: from the other end */
    ret->after = *ascending ? after : before;
    ret->before = *ascending ? before : after;
    ret->newest = *ascending == nearest;
    ret->limit = (size_t)limit;
    return 0;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* All events that there are now. */
WEFT_SUSPENDS static int read_events(struct wr_reader *reader, struct asst_steps *s, struct upp_err *err)
{
    struct wm_event ev;
    for (unsigned n = 1;; n++) {
        int r = wr_reader_try(reader, true, &ev, nothing, NULL, err);
        if (r <= 0)
            return r == -UPP_EBUSY ? 0 : r;
        r = asst_steps_event(s, &ev, err);
        if (r == 0 && n % TURN == 0)
            r = weft_yield(err);
        if (r != 0)
            return r;
    }
}

WEFT_SUSPENDS static int read_steps(struct sv_exchange *x, const struct asst_steps_page *want, struct asst_steps *s,
                                    struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *reader = NULL;
    struct wr_run_info look;
    int r = sv_find_in_thread(x, &look, err);
    if (r < 0)
        return r;
    const struct wd_stream_opts opts = {
        .size = sizeof opts, .thread = look.run.thread, .created_ms = look.run.created_ms, .options = look.run.options};
    r = asst_steps_begin(s, want, &opts, err);
    if (r >= 0)
        r = wr_reader_open(x->core->engine, &x->owner, look.run.id, NULL, &reader, err);
    if (r >= 0)
        r = read_events(reader, s, err);
    return r < 0 ? r : asst_steps_end(s, err);
}

static int write_page(struct sv_exchange *x, const struct asst_steps *s, bool ascending, struct upp_err *err)
{
    struct wj_writer w;
    bool more = s->list.n > s->want.limit;
    size_t n = more ? s->want.limit : s->list.n;
    size_t first = more && s->want.newest; /* the one too many is the oldest, or the newest */
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        struct upp_str json = wb_buf_str(&s->list.p[first + (ascending ? i : n - 1 - i)].json);
        wj_write_raw(&w, json.p, json.n);
    }
    struct wb_uuid low = n ? s->list.p[first].id : WB_UUID_NIL, high = n ? s->list.p[first + n - 1].id : WB_UUID_NIL;
    sv_list_end(&w, "step_", ascending ? low : high, ascending ? high : low, more);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_list_steps(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want;
    bool ascending;
    int r = read_page(x, &want, &ascending, err);
    if (r >= 0)
        r = read_steps(x, &want, &s, err);
    return r < 0 ? r : write_page(x, &s, ascending, err);
}

WEFT_SUSPENDS int sv_get_step(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want = {.limit = 1};
    struct wj_writer w;
    bool known = parse_id(x->params[2], &want.only);
    int r = read_include(x, err);
    if (r >= 0 && known)
        r = read_steps(x, &want, &s, err);
    if (r >= 0 && !s.list.n)
        r = upp_fail(err, UPP_ENOTFOUND, "no step '%.*s' of this run", UPP_FMT(x->params[2]));
    if (r < 0)
        return r;
    struct upp_str json = wb_buf_str(&s.list.p[0].json);
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_raw(&w, json.p, json.n);
    return sv_finish(x, &w);
}
