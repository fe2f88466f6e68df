/* server/doors/envelopes/routes.c — takes an envelope in, and answers with the reply or with the whole exchange. */
#include "server/doors/envelopes/routes.h"

#include "base/clock.h"
#include "base/defs.h"
#include "dialects/core/convert.h"
#include "dialects/envelope/envelope.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/start.h"
#include "server/doors/conversation/conversation.h"
#include "server/doors/run_stream.h"
#include "server/doors/start.h"
#include "server/http/error.h"
#include "server/http/server.h"

#define HANDSHAKE "handshake" /* a route, so no id */

enum { PARENTS = 8 /* that are looked for */, TRIES = 4 };

/* The router of the configuration. */
static const struct we_router *router_of(const struct sv_exchange *x)
{
    const struct wr_agent_def *def = wr_agent(x->core->engine, UPP_STR(WE_ROUTER_AGENT));
    return def ? def->model->state : NULL;
}

int sv_envelope_read(struct sv_exchange *x, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
                     struct upp_err *err)
{
    const struct we_router *router = router_of(x);
    return router ? we_read_ingress(&x->arena, text, router->opts.limits, problems, ret, err)
                  : we_read(&x->arena, text, problems, ret, err);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static struct upp_str new_id(struct wb_arena *a)
{
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    return wb_uuid_new(&id, NULL) < 0 ? UPP_STR("error") : wb_arena_dup(a, wb_uuid_text(id, text));
}

/* The form of the door's errors: an envelope. */
static void write_error(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_str ret = {0};
    struct we_error error = {.code = e->code ? e->code : e->type,
                             .text = e->message,
                             .retryable = e->status == 429 || e->status >= 500,
                             .id = new_id(&a),
                             .now_ms = wb_wall_ms()};
    (void)x;
    if (we_write_error(&a, &error, &ret, NULL) >= 0)
        wb_buf_add(out, ret);
}

/* 400, and an envelope that names every problem. */
static int refuse(struct sv_exchange *x, const struct we_envelope *request, const char *code, struct upp_str text,
                  const struct wd_problems *problems, struct upp_err *err)
{
    const struct we_router *router = router_of(x);
    struct we_error error = {.request = request,
                             .code = code,
                             .text = text,
                             .problems = problems,
                             .direct = router && router->opts.limits->direct_parents,
                             .id = new_id(&x->arena),
                             .now_ms = wb_wall_ms()};
    struct upp_str body;
    int r = we_write_error(&x->arena, &error, &body, err);
    if (r < 0)
        return r;
    x->reply.status = 400;
    wb_buf_add(&x->reply.body, body);
    return wb_buf_check(&x->reply.body, err);
}

/* ---- Handshakes ------------------------------------------------------------------------------ */

static int answer_handshake(struct sv_exchange *x, const struct we_envelope *request, struct upp_err *err)
{
    const struct we_router *router = router_of(x);
    struct we_announcement h = {.max_tokens = router ? router->opts.announce : 0, .now_ms = wb_wall_ms()};
    struct upp_str body;
    int r = 0;
    h.trace.id = new_id(&x->arena);
    if (request && request->id.n)
        r = we_chain(&x->arena, request, router && router->opts.limits->direct_parents, &h.trace.parents,
                     &h.trace.n_parents, err);
    if (r >= 0)
        r = we_write_handshake(&x->arena, &h, &body, err);
    if (r < 0)
        return r;
    x->reply.status = 200;
    wb_buf_add(&x->reply.body, body);
    return wb_buf_check(&x->reply.body, err);
}

WEFT_SUSPENDS static int get_handshake(struct sv_exchange *x, struct upp_err *err)
{
    return answer_handshake(x, NULL, err);
}

WEFT_SUSPENDS static int take_handshake(struct sv_exchange *x, const struct we_envelope *e, struct upp_err *err)
{
    struct we_peer peer;
    if (!we_peer_read(e, &peer))
        return refuse(x, e, "invalid_handshake", UPP_STR("supports is a list of content types, max_tokens a number"),
                      NULL, err);
    int r = sv_peer_set(x, &peer, err);
    return r < 0 ? r : answer_handshake(x, e, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct request {
    struct we_envelope envelope;
    struct upp_str text; /* of the envelope, with an id */
    struct upp_str digest;
    struct sv_start start;
    struct wm_entry entry;
    struct upp_part part;
    struct sv_run_stream stream;
    struct wb_uuid run;
    unsigned char hash[32]; /* of the body, with an Idempotency-Key */
    bool streams;
    bool other; /* an earlier envelope with this id had other bytes */
    bool taken; /* somebody else was first */
};

static bool accepts_stream(const struct sv_exchange *x)
{
    struct upp_str accept = sv_http_header(x->request, UPP_STR("accept"), NULL);
    return accept.n && wb_str_has_nocase(accept, UPP_STR("text/event-stream"));
}

WEFT_SUSPENDS static int read_stream(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct we_peer peer;
    struct upp_str text;
    int r = sv_run_stream_read(x, NULL, &q->stream, err);
    if (r >= 0)
        r = sv_run_stream_from(x, &q->stream, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("stream"), &text, err);
    q->streams = r > 0 ? wb_str_eq(text, UPP_STR("true")) || wb_str_eq(text, UPP_STR("1")) : accepts_stream(x);
    if (r >= 0)
        r = sv_peer_get(x, &peer, err);
    if (r < 0)
        return r;
    q->stream.to_wait = true;
    struct wd_envelope_opts *own = sv_run_stream_own(&q->stream, &wd_stream_envelope);
    if (own)
        *own = (struct wd_envelope_opts){.whole = !q->streams, .types = peer.types, .max_tokens = peer.max_tokens};
    if (!q->streams)
        q->stream.from = (struct wr_from){0};
    return 0;
}

/* The thread that the envelope continues: that of the nearest parent that is known here. */
WEFT_SUSPENDS static int find_thread(struct sv_exchange *x, const struct we_envelope *e, struct wl_thread *ret,
                                     struct upp_err *err)
{
    size_t n = yyjson_arr_size(e->parents);
    *ret = (struct wl_thread){0};
    for (size_t i = n, tries = 0; i-- > 0 && tries < PARENTS; tries++) {
        int r = sv_envelope_thread(x, wj_text_of(yyjson_arr_get(e->parents, i)), tries == 0, ret, err);
        if (r != -UPP_ENOTFOUND)
            return r;
        *ret = (struct wl_thread){0};
    }
    return 0;
}

/* Gives the envelope an id, if it has none. */
static int set_id(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct we_envelope *e = &q->envelope;
    q->text = e->json;
    if (e->id.n > WE_MAX_ID)
        return upp_fail(err, UPP_EINVALID, "trace.id has %zu bytes, at most %d are allowed", e->id.n, WE_MAX_ID);
    if (e->id.n)
        return 0;
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    int r = wb_uuid_new(&id, err);
    if (r >= 0)
        r = we_retrace(&x->arena, e, wb_uuid_text(id, text), NULL, 0, NULL, 0, &q->text, err);
    return r < 0 ? r : we_read_any(&x->arena, q->text, NULL, e, err);
}

WEFT_SUSPENDS static int read_request(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct wr_start *run = &q->start.run;
    int r = read_stream(x, q, err);
    if (r >= 0)
        r = set_id(x, q, err);
    if (r >= 0)
        r = find_thread(x, &q->envelope, &q->start.thread, err);
    *run = (struct wr_start){.owner = x->owner, .agent = UPP_STR(WE_ROUTER_AGENT), .on_busy = WR_ENQUEUE};
    if (r >= 0)
        r = sv_envelope_name(x, "envelope", q->envelope.id, &run->alias, err);
    if (r >= 0)
        r = sv_envelope_digest(x, q->text, &q->digest, err);
    if (r < 0)
        return r;
    run->options = wb_arena_printf(&x->arena, "{\"" SV_ENVELOPE_DIGEST "\":\"%.*s\"}", UPP_FMT(q->digest));
    q->part = (struct upp_part){.kind = UPP_PART_TEXT, .text = q->text};
    q->entry = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                 .message = {.role = UPP_ROLE_USER, .parts = &q->part, .n_parts = 1}};
    q->start.messages = (struct sv_entries){.p = &q->entry, .n = 1};
    return wb_arena_check(&x->arena, err);
}

/* ---- Answering ------------------------------------------------------------------------------- */

/* Whether an envelope of the server has this id: a request or a reply of an exchange. */
WEFT_SUSPENDS static int is_ours(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct wl_thread thread;
    int r = sv_envelope_thread(x, q->envelope.id, true, &thread, err);
    q->other = r >= 0;
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

/* The run that an envelope with this id has begun. 1: q->run, or it is another envelope. -UPP_ENOTFOUND. */
WEFT_SUSPENDS static int find_run(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wm_run run;
    struct upp_str options;
    yyjson_val *v = NULL;
    int r = wl_get_alias(s, &x->owner, WL_ALIAS_RUN, q->start.run.alias, &q->run, err);
    if (r >= 0)
        r = wl_get_run(s, &x->owner, q->run, &x->arena, &run, err);
    if (r >= 0)
        r = wr_queued_options(&x->arena, &run, &options, err);
    if (r >= 0)
        r = options.n ? wj_read(&x->arena, options, NULL, &v, err) : 0;
    if (r < 0)
        return r;
    q->other = !wb_str_eq(wj_text_at(v, SV_ENVELOPE_DIGEST), q->digest);
    return 1;
}

/* Whether there is something with this id: 1: q->run, or it is another envelope; 0: there is nothing. */
WEFT_SUSPENDS static int find_earlier(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    int r = find_run(x, q, err);
    if (r != -UPP_ENOTFOUND)
        return r;
    r = is_ours(x, q, err);
    if (r <= 0)
        return r;
    r = find_run(x, q, err); /* the same envelope may have begun its run between the two looks */
    return r == -UPP_ENOTFOUND ? 1 : r;
}

WEFT_SUSPENDS static int send(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    int r = q->streams ? sv_run_stream(x, q->run, &q->stream, err) : sv_run_answer(x, q->run, &q->stream, err);
    return r < 0 ? r : 0;
}

/* What was recorded. The answer of a run that has waited is not its wait. */
WEFT_SUSPENDS static int answer_again(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    uint8_t status = 0;
    int r = q->streams ? 0 : wr_wait(x->core->engine, &x->owner, q->run, &status, err);
    struct wd_envelope_opts *own = sv_run_stream_own(&q->stream, &wd_stream_envelope);
    if (own)
        own->over = wm_status_ended(status);
    return r < 0 ? r : send(x, q, err);
}

WEFT_SUSPENDS static int answer(struct sv_exchange *x, struct upp_err *err)
{
    struct request *q = x->work;
    struct upp_err why = {0};
    int r = sv_start_run(x, &q->start, &q->run, &why);
    q->taken = r == -UPP_EREFUSED && !strcmp(why.cause, WR_ALIAS_TAKEN);
    if (q->taken)
        return 0;
    if (r < 0 && err)
        *err = why;
    if (r >= 0 && q->start.joined) /* the same request was first */
        return sv_run_at_home(x, q->run, answer_again, err);
    return r < 0 ? r : send(x, q, err);
}

static uint32_t home_of(const struct sv_exchange *x, const struct request *q)
{
    const struct wl_thread *t = &q->start.thread;
    return wb_uuid_is_nil(t->id) ? (uint32_t)(wb_str_hash(q->start.run.alias) % x->server->n_cores)
                                 : wr_home(t->tree, x->server->n_cores);
}

/* Starts a run, unless there is one; responds. */
WEFT_SUSPENDS static int route(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct sv_core *cores = x->server->cores;
    uint32_t home;
    x->work = q;
    for (unsigned tries = 0; tries < TRIES; tries++) { /* somebody else may be first with the same envelope */
        int r = find_earlier(x, q, err);
        if (r < 0)
            return r;
        if (r > 0 && q->other)
            return refuse(x, &q->envelope, "id_taken", UPP_STR("another envelope has this id"), NULL, err);
        if (r > 0) {
            r = wr_home_of_run(x->server->opts.store, &x->owner, q->run, x->server->n_cores, &home, err);
            return r < 0 ? r : sv_core_run(&cores[home], x, answer_again, err);
        }
        r = sv_core_run(&cores[home_of(x, q)], x, answer, err);
        if (r < 0 || !q->taken)
            return r;
    }
    return upp_fail(err, UPP_EBUSY, "the envelope was sent several times, and deleted each time");
}

/* 1: the body is not an envelope, and this was answered. */
WEFT_SUSPENDS static int read_envelope(struct sv_exchange *x, struct request *q, struct upp_err *err)
{
    struct wd_problems problems = {0};
    struct upp_err why = {0};
    struct upp_str text = wb_str_trim(wb_buf_str(&x->request->body));
    int r = sv_envelope_read(x, text, &problems, &q->envelope, &why);
    if (r == -UPP_ENOMEM)
        r = upp_fail(err, UPP_ENOMEM, "no memory for an envelope");
    else if (r < 0) {
        r = refuse(x, NULL, "invalid_envelope", wb_cstr(why.msg), &problems, err);
        r = r < 0 ? r : 1;
    }
    wd_problems_done(&problems);
    return r;
}

WEFT_SUSPENDS static int post(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_joining joining;
    struct request *q = wb_new(&x->arena, struct request);
    int r = q ? read_envelope(x, q, err) : wb_arena_check(&x->arena, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (we_is_handshake(&q->envelope))
        return take_handshake(x, &q->envelope, err);
    if (wb_str_eq(q->envelope.id, UPP_STR(HANDSHAKE))) /* GET /v1/envelopes/handshake is something else */
        return refuse(x, NULL, "invalid_envelope",
                      UPP_STR("an envelope's id cannot be '" HANDSHAKE "': choose another"), NULL, err);
    r = read_request(x, q, err);
    if (r >= 0)
        r = sv_start_key(x, sv_key_route(x, "POST /v1/envelopes"), &q->start.run, q->hash, err);
    if (r >= 0)
        r = sv_join_key(x, &q->start.run, &joining, err);
    if (r > 0) {
        q->run = joining.run.id;
        x->work = q;
        return sv_run_at_home(x, q->run, answer_again, err);
    }
    return r < 0 ? r : route(x, q, err);
}

/* ---- Looking --------------------------------------------------------------------------------- */

struct looking {
    struct sv_exchange *x;
    struct upp_str id; /* NULL: all of them */
    bool found;
};

static int put_one(void *arg, yyjson_val *envelope, struct upp_err *err)
{
    struct looking *k = arg;
    struct wj_writer w;
    if (k->id.p && !wb_str_eq(wd_envelope_id(envelope), k->id))
        return 0;
    wj_writer_init(&w, &k->x->reply.body, err);
    wj_write_value(&w, envelope);
    k->found = true;
    if (!k->id.p)
        wb_buf_addc(&k->x->reply.body, '\n');
    int r = wj_writer_check(&w);
    return r < 0 ? r : k->id.p != NULL;
}

WEFT_SUSPENDS static int get_one(struct sv_exchange *x, struct upp_err *err)
{
    struct looking k = {x, x->params[0], false};
    struct wl_thread t;
    int r = sv_envelope_thread(x, k.id, true, &t, err);
    if (r >= 0)
        r = sv_envelopes_each(x, &t, put_one, &k, err);
    if (r >= 0 && !k.found) /* its exchange has not come to it yet, or it was deleted */
        r = upp_fail(err, UPP_ENOTFOUND, "there is no envelope '%.*s'", UPP_FMT(k.id));
    x->reply.status = 200;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int get_exchange(struct sv_exchange *x, struct upp_err *err)
{
    struct looking k = {.x = x};
    struct wl_thread t;
    int r = sv_envelope_thread(x, x->params[0], true, &t, err);
    if (r >= 0)
        r = sv_envelopes_each(x, &t, put_one, &k, err);
    x->reply.status = 200;
    x->reply.type = "application/x-ndjson";
    return r < 0 ? r : 0;
}

static const struct sv_route rows[] = {
    {SV_POST, "/v1/envelopes", post, WE_MAX_BYTES, 0},
    {SV_GET, "/v1/envelopes/" HANDSHAKE, get_handshake, 0, 0},
    {SV_GET, "/v1/envelopes/{e}", get_one, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/envelopes/{e}/exchange", get_exchange, 0, SV_ROUTE_LARGE},
    {SV_GET, "/v1/envelopes/{e}/lineage", sv_get_lineage, 0, SV_ROUTE_LARGE},
};
const struct sv_door sv_door_envelopes = {.name = "envelopes",
                                          .prefix = "/v1/envelopes",
                                          .routes = rows,
                                          .n_routes = WB_LEN(rows),
                                          .error = write_error,
                                          .stream = "envelope"};
