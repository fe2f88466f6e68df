/* server/doors/chat/stored.c — lists, reads, changes and deletes stored chat completions. */
#include "server/doors/chat/chat.h"

#include "base/defs.h"
#include "base/vec.h"
#include "dialects/chat/chat.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/options.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum {
    HANDFUL = 8,
    RUN_BYTES = 80 << 20 /* a run may have megabytes of options */,
    PAGE_BYTES = 64 << 20,
    ANSWERS_MAX = 4096,    /* of one run */
    READ_MAX = 10000,      /* rows of runs that one list reads, */
    READ_BYTES = 64 << 20, /* and bytes of their options: then its client continues */
    RUN_ROWS = 50          /* reading the events of a run costs as much as so many rows, about */
};
_Static_assert(READ_MAX > (SV_LIST_MAX + 2) * RUN_ROWS, "a page may be full");

static int not_found(const struct sv_exchange *x, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "no stored chat completion '%.*s'", UPP_FMT(x->params[0]));
}

/* The options of a run that a client has stored; NULL: it has not. */
static yyjson_val *stored_options(struct wb_arena *a, const struct wm_run *run)
{
    yyjson_val *v = NULL;
    if (run->swept || wb_str_find(run->options, UPP_STR("\"" SV_STORED "\""), 0) == SIZE_MAX)
        return NULL;
    bool is = wj_read(a, run->options, NULL, &v, NULL) >= 0 && yyjson_is_true(yyjson_obj_get(v, SV_STORED));
    return is ? v : NULL;
}

/* ---- The completions of a run ------------------------------------------------------------------------------------ */

/* All of one run, in one text. */
struct completions {
    struct wb_buf text;
    WB_VEC(size_t) ends;
};

static void completions_done(struct completions *c)
{
    wb_buf_done(&c->text);
    wb_vec_done(&c->ends);
}

static int take_frame(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame, struct upp_err *err)
{
    struct completions *c = arg;
    (void)ev;
    if (name) /* an error */
        return 0;
    wb_buf_add(&c->text, frame);
    int r = wb_buf_check(&c->text, err);
    if (r >= 0 && !wb_vec_push(&c->ends, c->text.n, ANSWERS_MAX))
        r = upp_fail(err, UPP_ELIMIT, "a run has at most %d answers here", ANSWERS_MAX);
    return r;
}

static struct upp_str completion_at(const struct completions *c, size_t i)
{
    size_t from = i ? c->ends.p[i - 1] : 0;
    return wb_str_sub(wb_buf_str(&c->text), from, c->ends.p[i] - from);
}

WEFT_SUSPENDS static int read_completions(struct sv_exchange *x, struct wb_uuid run, struct completions *ret,
                                          struct upp_err *err)
{
    struct sv_run_stream s = {
        .ops = &wd_stream_chat,
        .opts = {.size = sizeof s.opts, .own = &(struct wd_chat_opts){.whole = true, .metadata = true}},
        .to_wait = true,
        .now = true};
    *ret = (struct completions){.text = WB_BUF(PAGE_BYTES)};
    struct wb_uuid of = x->run;
    int r = sv_run_encode(x, run, &s, false, take_frame, ret, err);
    x->run = of;
    return r;
}

/* ---- One --------------------------------------------------------------------------------------------------------- */

int sv_chat_at_home(struct sv_exchange *x, sv_handler *handler, struct upp_err *err)
{
    struct sv_stored *it = wb_new(&x->arena, struct sv_stored);
    struct wb_uuid id;
    if (!it)
        return wb_arena_check(&x->arena, err);
    int r = sv_stored_id(x->params[0], "chatcmpl-", '-', &id, &it->segment) ? sv_stored_find(x, id, &it->run, err)
                                                                            : -UPP_ENOTFOUND;
    if (r == -UPP_ENOTFOUND || (r >= 0 && !stored_options(&x->arena, &it->run)))
        return not_found(x, err);
    if (r < 0)
        return r;
    x->work = it;
    x->run = it->run.id;
    return sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, handler, err);
}

WEFT_SUSPENDS static int get_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_stored *it = x->work;
    struct completions c;
    int r = read_completions(x, it->run.id, &c, err);
    bool found = r >= 0 && it->segment < c.ends.n;
    if (found)
        wb_buf_add(&x->reply.body, completion_at(&c, it->segment));
    completions_done(&c);
    x->reply.status = 200;
    return r < 0 ? r : found ? wb_buf_check(&x->reply.body, err) : not_found(x, err);
}

int sv_chat_get(struct sv_exchange *x, struct upp_err *err)
{
    return sv_chat_at_home(x, get_here, err);
}

/* Only its metadata changes: that of its run. */
WEFT_SUSPENDS static int update_here(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    const struct sv_stored *it = x->work;
    struct upp_str metadata = UPP_STR("{}");
    struct sv_body b;
    int r = sv_body_read(x, known, &b, err);
    if (r < 0)
        return r;
    if (!yyjson_obj_get(b.root, "metadata")) /* null removes it */
        return upp_fail(err, UPP_EINVALID, "'metadata' is missing");
    r = sv_metadata_read(&b, b.root, &x->arena, &metadata, err);
    if (r >= 0)
        r = sv_may_write(x, x->thread, err);
    if (r >= 0)
        r = wr_set_metadata(x->core->engine, &x->owner, it->run.id, metadata, err);
    return r < 0 ? r : get_here(x, err);
}

int sv_chat_update(struct sv_exchange *x, struct upp_err *err)
{
    return sv_chat_at_home(x, update_here, err);
}

WEFT_SUSPENDS static int delete_here(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    int r = sv_stored_delete(x, x->work, "the chat completion", err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("chat.completion.deleted"));
    wj_put_str(&w, "id", x->params[0]);
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

int sv_chat_delete(struct sv_exchange *x, struct upp_err *err)
{
    return sv_chat_at_home(x, delete_here, err);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct page {
    struct sv_exchange *x;
    uint64_t limit;
    bool ascending;
    struct upp_str model; /* empty: any */
    struct sv_pair metadata[SV_CHAT_METADATA];
    size_t n_metadata;
    struct wb_uuid after; /* the run that was read last; all zero: from the start */
    uint32_t segment;     /* of a run that the client has named: the segment that it has */

    struct wb_uuid *runs; /* limit + 1: candidates, in the order of the list */
    size_t n_runs;
    size_t rows, bytes;      /* read so far */
    bool end;                /* there are no more runs */
    size_t n;                /* completions written */
    struct wb_uuid last_run; /* of the last one */
    bool more;
    struct upp_str first, last; /* ids */
};

int sv_chat_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err)
{
    struct upp_str order;
    int r = sv_read_limit(x, limit, ascending, err);
    if (r >= 0 && sv_query(x, UPP_STR("order"), &order, err) == 0)
        *ascending = true;
    return r < 0 ? r : 0;
}

/* Is it stored, and what the list asks for? */
static bool fits(const struct page *p, struct wb_arena *a, const struct wm_run *run)
{
    bool over = run->status == WM_WAITING || wm_status_ended(run->status);
    yyjson_val *v = over ? stored_options(a, run) : NULL;
    yyjson_val *metadata = yyjson_obj_get(v, "metadata");
    struct upp_str asked = wj_text_at(v, SV_ASKED);
    if (!v || (p->model.n && !wb_str_eq(asked.n ? asked : run->agent, p->model)))
        return false;
    if (p->x->agent.n && !wb_str_eq(run->agent, p->x->agent))
        return false;
    for (size_t i = 0; i < p->n_metadata; i++)
        if (!wb_str_eq(wj_text_of(sv_member(metadata, p->metadata[i].key)), p->metadata[i].value))
            return false;
    return true;
}

/* `after`: a completion of this client. The list may not have it: `last_id` of a list that has read enough. */
WEFT_SUSPENDS static int read_cursor(struct page *p, struct upp_err *err)
{
    struct sv_exchange *x = p->x;
    struct upp_str after;
    struct wm_run run;
    int r = sv_query(x, UPP_STR("after"), &after, err);
    if (r <= 0)
        return r;
    r = sv_stored_id(after, "chatcmpl-", '-', &p->after, &p->segment) ? sv_stored_find(x, p->after, &run, err)
                                                                      : -UPP_ENOTFOUND;
    if (r == -UPP_ENOTFOUND)
        return upp_fail(err, UPP_EINVALID, "'after' names no chat completion: '%.*s'", UPP_FMT(after));
    if (r >= 0 && fits(p, &x->arena, &run))
        p->runs[p->n_runs++] = p->after; /* what the client does not have of it comes first */
    return r;
}

WEFT_SUSPENDS static int read_page(struct sv_exchange *x, struct page *p, struct upp_err *err)
{
    *p = (struct page){.x = x};
    int r = sv_chat_limit(x, &p->limit, &p->ascending, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("model"), &p->model, err);
    if (r >= 0)
        r = sv_query_object(x, "metadata[", p->metadata, SV_CHAT_METADATA, err);
    if (r < 0)
        return r;
    p->n_metadata = (size_t)r;
    p->runs = wb_new_n(&x->arena, struct wb_uuid, p->limit + 1);
    r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : read_cursor(p, err);
}

/* The row of a run outlives its thread until the sweep. */
WEFT_SUSPENDS static int has_thread(struct sv_exchange *x, const struct wm_run *run, struct wb_arena *a,
                                    struct upp_err *err)
{
    struct wl_thread t;
    int r = wl_get_thread(x->server->opts.store, &x->owner, run->thread, a, &t, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

static bool has_read_enough(const struct page *p)
{
    return p->rows >= READ_MAX || p->bytes >= READ_BYTES;
}

/* The next ones of the list, one more than fit. */
WEFT_SUSPENDS static int find_runs(struct page *p, struct upp_err *err)
{
    struct sv_exchange *x = p->x;
    const enum wl_what what = p->ascending ? WL_LIST_OWN_RUNS_UP : WL_LIST_OWN_RUNS;
    p->n_runs = 0;
    while (!p->end && p->n_runs <= p->limit && !has_read_enough(p)) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(HANDFUL * (size_t)RUN_BYTES);
        struct wm_run *runs;
        size_t n;
        int r = wl_list_runs_after(x->server->opts.store, what, &x->owner, WB_UUID_NIL, p->after, HANDFUL, &a, &runs,
                                   &n, err);
        for (size_t i = 0; r >= 0 && i < n && p->n_runs <= p->limit; i++) {
            p->rows++;
            p->bytes += runs[i].options.n;
            p->after = runs[i].id;
            r = fits(p, &a, &runs[i]) ? has_thread(x, &runs[i], &a, err) : 0;
            if (r > 0)
                p->runs[p->n_runs++] = p->after;
        }
        if (r < 0)
            return r;
        p->end = n < HANDFUL && p->n_runs <= p->limit;
    }
    return 0;
}

static struct upp_str id_of(struct page *p, struct wb_uuid run, size_t segment)
{
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(run, hex);
    return segment ? wb_arena_printf(&p->x->arena, "chatcmpl-%s-%zu", hex, segment + 1)
                   : wb_arena_printf(&p->x->arena, "chatcmpl-%s", hex);
}

/* The completions of a run; of the one that the client named, those behind it. */
WEFT_SUSPENDS static int write_run(struct page *p, struct wj_writer *w, struct wb_uuid run, bool named,
                                   struct upp_err *err)
{
    struct completions c;
    int r = read_completions(p->x, run, &c, err);
    for (size_t k = 0; r >= 0 && k < c.ends.n && !p->more; k++) {
        size_t i = p->ascending ? k : c.ends.n - 1 - k;
        if (named && (p->ascending ? i <= p->segment : i >= p->segment))
            continue;
        p->more = p->n == p->limit;
        if (p->more)
            break;
        struct upp_str text = completion_at(&c, i);
        wj_write_raw(w, text.p, text.n);
        p->last = id_of(p, run, i);
        p->last_run = run;
        if (!p->n++)
            p->first = p->last;
    }
    completions_done(&c);
    p->rows += RUN_ROWS;
    return r == -UPP_ENOTFOUND ? 0 /* deleted meanwhile */ : r;
}

/* Runs until the page is full: one that failed has no completion. */
WEFT_SUSPENDS static int write_runs(struct page *p, struct wj_writer *w, struct upp_err *err)
{
    bool named = p->n_runs > 0;
    for (;;) {
        for (size_t i = 0; i < p->n_runs && !p->more; i++) {
            int r = write_run(p, w, p->runs[i], named, err);
            if (r < 0)
                return r;
        }
        if (p->more || p->end)
            return 0;
        if (has_read_enough(p)) {
            p->more = true;
            if (!wb_uuid_eq(p->last_run, p->after))
                p->last = id_of(p, p->after, 0);
            return 0;
        }
        int r = find_runs(p, err);
        if (r < 0)
            return r;
        named = false;
    }
}

int sv_chat_list(struct sv_exchange *x, struct upp_err *err)
{
    struct page p;
    struct wj_writer w;
    int r = read_page(x, &p, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    r = write_runs(&p, &w, err);
    if (r >= 0)
        r = wb_arena_check(&x->arena, err);
    if (r < 0)
        return r;
    sv_list_end_text(&w, p.first, p.last, p.more);
    return sv_finish(x, &w);
}
