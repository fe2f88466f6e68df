/* server/doors/v1/routes.c — the routes of runs, and the table of all of /v1. */
#include "server/doors/v1/routes.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/defs.h"
#include "json/pointer.h"
#include "json/value.h"
#include "server/http/body.h"
#include "server/http/error.h"
#include "server/doors/v1/objects.h"
#include "server/http/server.h"
#include "server/http/sse_out.h"

enum { POLL_MS = 100, KEY_MAX = 255 };

int sv_run_id(struct upp_str text, struct wb_uuid *ret, struct upp_err *err)
{
    return wl_id_parse(text, UPP_STR("run_"), ret) ? 0 : upp_fail(err, UPP_ENOTFOUND, "no run '%.*s'", UPP_FMT(text));
}

WEFT_SUSPENDS int sv_answer_run(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    struct wj_writer   w;
    char               ms[16];
    int                r = wr_get(x->server->opts.engine, &x->owner, run, &x->arena, &look, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    r = sv_write_run(&w, &x->arena, &look, err);
    if (r < 0)
        return r;
    (void)snprintf(ms, sizeof ms, "%d", POLL_MS);
    sv_reply_header(&x->reply, "openai-poll-after-ms", wb_cstr(ms));
    return sv_finish(x, &w);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* UAP 16.5: a request may set the run's system prompt on loopback, unless the configuration forbids it; with keys,
 * none of which has a scope for it yet, it is refused. */
static int check_instructions(struct sv_exchange *x, const struct sv_body *b, struct upp_err *err)
{
    static const char *const names[] = {"instructions", "additional_instructions"};
    bool                     may     = !x->server->opts.no_instructions && !x->server->opts.owner;
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str text;
        int            r = sv_body_str(b, b->root, wb_cstr(names[i]), &text, err);
        if (r < 0)
            return r;
        if (r == 0 || may)
            continue;
        r = upp_fail(err, UPP_EREFUSED,
                     "'%s' of a run is not taken here: the system prompt is what the agent's definition says",
                     names[i]);
        wj_pointer_err(err, b->root, sv_member(b->root, wb_cstr(names[i])));
        if (err)
            (void)snprintf(err->cause, sizeof err->cause, "%s", SV_INSTRUCTIONS);
        return r;
    }
    return 0;
}

/* The options stored with the run: the members of the request that configure it. */
static int read_options(struct sv_exchange *x, const struct sv_body *b, struct upp_str *ret, struct upp_err *err)
{
    static const char *const stored[] = {
        "metadata",
        "model",
        "instructions",
        "additional_instructions",
        "tools",
        "temperature",
        "top_p",
        "max_prompt_tokens",
        "max_completion_tokens",
        "tool_choice",
        "response_format",
        "truncation_strategy",
        "parallel_tool_calls",
        "reasoning_effort",
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf out      = WB_BUF(SV_MAX_BODY + 4096);
    yyjson_val                           *metadata = NULL;
    struct wj_writer                      w;
    int                                   r   = sv_body_object(b, b->root, UPP_STR("metadata"), &metadata, err);
    bool                                  any = false;
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < WB_LEN(stored); i++) {
        yyjson_val *v = sv_member(b->root, wb_cstr(stored[i]));
        if (!v)
            continue;
        any = true;
        wj_put_value(&w, stored[i], v);
    }
    wj_write_close(&w, '}');
    r    = wj_writer_check(&w);
    *ret = any ? wb_arena_dup(&x->arena, wb_buf_str(&out)) : (struct upp_str){NULL, 0};
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

static int read_on_busy(const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    static const struct {
        struct upp_str word;
        uint8_t        busy;
    } words[] = {{UPP_STR_INIT("reject"), WR_REJECT},
                 {UPP_STR_INIT("enqueue"), WR_ENQUEUE},
                 {UPP_STR_INIT("interrupt"), WR_INTERRUPT},
                 {UPP_STR_INIT("rollback"), WR_ROLLBACK}};
    struct upp_str given;
    int            r = sv_body_str(b, b->root, UPP_STR("on_busy"), &given, err);
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

/* The Idempotency-Key, for this thread, and a hash of the request. */
static int read_key(struct sv_exchange *x, const struct wl_thread *t, struct wr_start *start, unsigned char hash[32],
                    struct upp_err *err)
{
    size_t         n;
    unsigned       len  = 32;
    struct upp_str body = wb_buf_str(&x->request->body);
    char           hex[WB_UUID_HEX + 1];
    start->key = sv_http_header(x->request, UPP_STR("idempotency-key"), &n);
    if (!n)
        return 0;
    if (n > 1 || !start->key.n || start->key.n > KEY_MAX)
        return upp_fail(err, UPP_EINVALID, "an Idempotency-Key has 1 to %d bytes, and there is one of them", KEY_MAX);
    if (EVP_Digest(body.p, body.n, hash, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    (void)wb_uuid_hex(t->id, hex);
    start->route = wb_arena_printf(&x->arena, "POST /v1/threads/%s/runs", hex);
    start->body  = hash;
    return wb_arena_check(&x->arena, err);
}

/* Has an earlier request with this key started the run? */
WEFT_SUSPENDS static bool key_is_used(struct sv_exchange *x, const struct wr_start *start)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_key    used;
    return start->key.n && wl_get_key(s, &x->owner, start->route, start->key, &used, NULL) >= 0;
}

/* The last additional message is the run's input, committed together with it. Those before it are appended first, or
 * all if the last is an assistant's, unless an earlier request with the same key did that. */
WEFT_SUSPENDS static int put_messages(struct sv_exchange *x, const struct wl_thread *t, const struct sv_entries *e,
                                      struct wr_start *start, struct upp_err *err)
{
    struct wl_store *s     = x->server->opts.store;
    size_t           first = e->n;
    struct wl_key    used;
    uint32_t         index;
    if (e->n && e->p[e->n - 1].message.role == UPP_ROLE_USER)
        start->input = &e->p[--first].message;
    if (!first)
        return 0;
    if (start->key.n) {
        int r = wl_get_key(s, &x->owner, start->route, start->key, &used, err);
        if (r != -UPP_ENOTFOUND)
            return r;
    }
    struct wl_thread to = *t;
    int              r  = wl_append(s, &x->owner, &to, e->p, first, &index, err);
    return r == -UPP_EBUSY ? sv_busy_error(x, t, false, err) : r;
}

WEFT_SUSPENDS static int create_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_start   start  = {.owner = x->owner, .on_busy = x->server->opts.on_busy};
    struct wr_started run    = {0};
    bool              stream = false;
    unsigned char     hash[32];
    struct sv_entries entries;
    struct sv_answers answers;
    struct sv_body    b;
    struct wl_thread  t;
    int               r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = sv_body_read(x, &b, err);
    if (r >= 0)
        r = sv_body_str(&b, b.root, UPP_STR("assistant_id"), &start.agent, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "assistant_id names the agent, and is missing");
    if (r >= 0)
        r = sv_body_bool(&b, b.root, UPP_STR("stream"), &stream, err);
    if (r >= 0 && stream)
        r = sv_stream_check(x, err);
    if (r >= 0)
        r = read_on_busy(&b, &start.on_busy, err);
    if (r >= 0)
        r = check_instructions(x, &b, err);
    if (r >= 0)
        r = read_options(x, &b, &start.options, err);
    if (r >= 0)
        r = sv_read_messages(x, &b, UPP_STR("additional_messages"), wr_agent(x->server->opts.engine, start.agent),
                             &entries, err);
    if (r >= 0)
        r = read_key(x, &t, &start, hash, err);
    if (r >= 0)
        r = sv_read_answers(x, &b, &answers, err);
    if (r >= 0 && answers.n && entries.n)
        r = upp_fail(err, UPP_EINVALID,
                     "a run begins with answers to open calls or with additional_messages, not both");
    if (r >= 0)
        r = put_messages(x, &t, &entries, &start, err);
    bool goes_on = false; /* the run waited and resumes */
    if (r >= 0 && answers.n && !key_is_used(x, &start)) {
        r       = sv_put_answers(x, &t, &answers, &start, &run.run, err);
        goes_on = r > 0;
    }
    if (r < 0)
        return r;
    start.thread = t.id;
    if (!goes_on)
        r = wr_start(x->server->opts.engine, &start, &run, err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, true, err);
    if (r < 0)
        return r;
    return stream ? sv_stream_events(x, run.run, &(struct wr_from){0}, true, err) : sv_answer_run(x, run.run, err);
}

/* ---- Looking, cancelling ----------------------------------------------------------------------------------------- */

/* The run that {t}/{r} names; it must belong to that thread. */
WEFT_SUSPENDS static int find_in_thread(struct sv_exchange *x, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_thread   t;
    struct wr_run_info look;
    int                r = sv_run_id(x->params[1], ret, err);
    if (r >= 0)
        r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = wr_get(x->server->opts.engine, &x->owner, *ret, &x->arena, &look, err);
    if (r >= 0 && !wb_uuid_eq(look.run.thread, t.id))
        r = upp_fail(err, UPP_ENOTFOUND, "no run '%.*s' on this thread", UPP_FMT(x->params[1]));
    return r;
}

WEFT_SUSPENDS static int get_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    int            r = find_in_thread(x, &run, err);
    return r < 0 ? r : sv_answer_run(x, run, err);
}

WEFT_SUSPENDS static int cancel(struct sv_exchange *x, struct wb_uuid run, struct upp_err *err)
{
    struct wr_run_info look;
    int                r = wr_cancel(x->server->opts.engine, &x->owner, run, err);
    if (r == -UPP_EREFUSED && wr_get(x->server->opts.engine, &x->owner, run, &x->arena, &look, NULL) >= 0)
        return upp_fail(err, UPP_EREFUSED, "Cannot cancel run with status '%s'.", sv_run_status(&look));
    return r < 0 ? r : sv_answer_run(x, run, err);
}

WEFT_SUSPENDS static int cancel_run(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    int            r = sv_run_id(x->params[0], &run, err);
    return r < 0 ? r : cancel(x, run, err);
}

WEFT_SUSPENDS static int cancel_in_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    int            r = find_in_thread(x, &run, err);
    return r < 0 ? r : cancel(x, run, err);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* Last-Event-ID: the last event received; ?from=N: the first one wanted, in the current epoch. */
static int read_from(struct sv_exchange *x, struct wr_from *ret, struct upp_err *err)
{
    size_t           n;
    struct sv_sse_id id;
    uint64_t         first;
    struct upp_str   text = sv_http_header(x->request, UPP_STR("last-event-id"), &n);
    *ret                  = (struct wr_from){0};
    if (n && text.n) {
        if (n > 1 || !sv_sse_id_parse(text, &id))
            return upp_fail(err, UPP_EINVALID, "a Last-Event-ID is EPOCH-NUMBER.PART or EPOCH-NUMBER");
        *ret = (struct wr_from){id.epoch, id.number, id.part};
        return 0;
    }
    int r = sv_query(x, UPP_STR("from"), &text, err);
    if (r <= 0)
        return r;
    if (!wb_str_u64(text, &first) || first == 0)
        return upp_fail(err, UPP_EINVALID, "from is the number of an event, from 1 on");
    ret->number = first - 1;
    return 0;
}

/* In ui and agentapi a request gets one segment of the stream; in uap a reader follows the run to its end. */
WEFT_SUSPENDS static int read_events(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_uuid run;
    struct wr_from from;
    struct upp_str as = UPP_STR("uap");
    int            r  = sv_run_id(x->params[0], &run, err);
    if (r >= 0)
        r = read_from(x, &from, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("as"), &as, err);
    return r < 0 ? r : sv_stream_events(x, run, &from, !wb_str_eq(as, UPP_STR("uap")), err);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const struct sv_route rows[] = {
    {SV_POST, "/v1/threads", sv_create_thread, 0, 0},
    {SV_GET, "/v1/threads", sv_list_threads, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}", sv_get_thread, 0, 0},
    {SV_DELETE, "/v1/threads/{t}", sv_delete_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/messages", sv_create_message, 0, 0},
    {SV_GET, "/v1/threads/{t}/messages", sv_list_messages, 0, SV_ROUTE_LARGE},
    {SV_DELETE, "/v1/threads/{t}/messages/{m}", sv_delete_message, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs", create_run, 0, 0},
    {SV_GET, "/v1/threads/{t}/runs/{r}", get_run, 0, 0},
    {SV_POST, "/v1/threads/{t}/runs/{r}/cancel", cancel_in_thread, 0, 0},
    {SV_GET, "/v1/runs/{r}/events", read_events, 0, 0},
    {SV_POST, "/v1/runs/{r}/cancel", cancel_run, 0, 0},
    {SV_POST, "/v1/runs/{r}/answers", sv_post_answers, 0, 0},
    {SV_GET, "/v1/search", sv_search, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/tree", sv_get_tree, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/threads/{t}/checkpoints", sv_list_checkpoints, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/{t}/fork", sv_fork_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/restore", sv_restore_thread, 0, 0},
    {SV_POST, "/v1/threads/{t}/checkout", sv_checkout_thread, 0, 0},
    {SV_GET, "/v1/threads/{t}/export", sv_export_thread, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/import", sv_import_thread, SV_IMPORT_BODY, SV_ROUTE_LARGE},
};
const struct sv_routes sv_routes_v1 = {rows, WB_LEN(rows)};
