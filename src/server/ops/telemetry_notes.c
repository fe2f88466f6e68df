/* server/ops/telemetry_notes.c — makes spans of requests, runs, model calls and tool calls.
 *
 *     POST /v1/threads/{t}/runs          SERVER: the request that started the run
 *       invoke_agent AGENT               the run
 *         chat MODEL                     CLIENT: each attempt
 *         execute_tool TOOL
 *           invoke_agent SUB-AGENT       if the tool is an agent
 *
 * Names of attributes: the semantic conventions of OpenTelemetry for HTTP and for generative AI (gen_ai.*).
 */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hooks.h"
#include "server/http/conn.h"
#include "server/ops/telemetry.h"
#include "server/ops/telemetry_span.h"

enum { BUCKETS = 512, WAYS = 8, AGENT_MAX = 64 /* bytes of an agent's name in weft.yaml */ };

/* ---- Recent runs ------------------------------------------------------------------------------------------------- */

/* For requests, which know only the id of their run. A bucket has the last eight runs whose ids fall into it: the span
 * of a request that reads an older one is without conversation and agent. */
struct known {
    struct wb_uuid run, thread;
    char trace[33];
    bool unsampled;
    uint8_t n_agent;
    char agent[AGENT_MAX];
};

struct bucket {
    struct known runs[WAYS];
    uint8_t next; /* is replaced */
};

struct sv_telemetry_runs {
    pthread_mutex_t lock; /* runs work on every loop */
    struct bucket buckets[BUCKETS];
};

struct sv_telemetry_runs *sv_telemetry_runs_new(void)
{
    struct sv_telemetry_runs *runs = wb_calloc(1, sizeof *runs);
    if (runs)
        (void)pthread_mutex_init(&runs->lock, NULL);
    return runs;
}

void sv_telemetry_runs_free(struct sv_telemetry_runs *runs)
{
    if (!runs)
        return;
    (void)pthread_mutex_destroy(&runs->lock);
    wb_free(runs);
}

static struct bucket *bucket_of(struct sv_telemetry_runs *runs, struct wb_uuid run)
{
    return &runs->buckets[sv_span_of_run(run) % BUCKETS];
}

static struct known *find_in(struct bucket *b, struct wb_uuid run)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (wb_uuid_eq(b->runs[i].run, run))
            return &b->runs[i];
    }
    return NULL;
}

static bool find_run(struct sv_telemetry *t, struct wb_uuid run, struct known *ret)
{
    struct sv_telemetry_runs *runs = sv_telemetry_runs_of(t);
    (void)pthread_mutex_lock(&runs->lock);
    const struct known *k = find_in(bucket_of(runs, run), run);
    if (k)
        *ret = *k;
    (void)pthread_mutex_unlock(&runs->lock);
    return k != NULL;
}

/* ---- Traces ------------------------------------------------------------------------------------------------------ */

/* 00-TRACE-SPAN-FLAGS; it was checked when it was taken from a request (server/http/trace.h). */
enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, TRACEPARENT = 55 };

/* Does the caller not want this trace to be recorded? */
static bool is_unsampled(struct upp_str traceparent)
{
    return traceparent.n >= TRACEPARENT && traceparent.p[FLAGS_AT + 1] == '0';
}

static void set_trace(struct sv_span *s, struct wb_uuid root, struct upp_str traceparent)
{
    if (traceparent.n >= TRACEPARENT)
        memcpy(s->trace, traceparent.p + TRACE_AT, 32);
    else
        (void)wb_uuid_hex(root, s->trace);
}

static uint64_t parent_of(const struct wr_run_note *note)
{
    const struct wm_run *row = note->row;
    if (row->depth)
        return note->branch ? sv_span_of_run(row->parent) : sv_span_of_call(row->parent, row->call);
    if (note->traceparent.n >= TRACEPARENT)
        return sv_span_parse(wb_str_sub(note->traceparent, SPAN_AT, 16));
    return sv_span_of_request(row->id);
}

/* ---- Common parts ------------------------------------------------------------------------------------------------ */

struct ids {
    char run[WB_UUID_HEX + 5], thread[WB_UUID_HEX + 8];
};

static uint64_t now_ns(void)
{
    int64_t ns = WB_CALL(wall_ns)();
    return ns > 0 ? (uint64_t)ns : 0;
}

/* It ends now. */
static void set_times(struct sv_span *s, uint64_t ns)
{
    s->end_ns = now_ns();
    s->start_ns = s->end_ns > ns ? s->end_ns - ns : 0;
}

static void put_conversation(struct sv_span *s, struct wb_uuid run, struct wb_uuid thread, struct ids *ids)
{
    *ids = (struct ids){"run_", "thread_"};
    (void)wb_uuid_hex(run, ids->run + 4);
    (void)wb_uuid_hex(thread, ids->thread + 7);
    sv_span_text(s, "gen_ai.conversation.id", wb_cstr(ids->thread));
    sv_span_text(s, "weft.run.id", wb_cstr(ids->run));
}

static void put_error(struct sv_span *s, const struct upp_err *why)
{
    s->failed = true;
    sv_span_text(s, "error.type", why && why->code ? wb_cstr(upp_code_name(why->code)) : UPP_STR("_OTHER"));
}

static void put_usage(struct sv_span *s, const struct upp_usage *u)
{
    sv_span_number(s, "gen_ai.usage.input_tokens", u->input);
    sv_span_number(s, "gen_ai.usage.output_tokens", u->output);
}

/* Of what happens inside of a run. */
static void begin_inside(struct sv_span *s, const struct wr_note_of *of, struct ids *ids)
{
    set_trace(s, of->row->root, of->traceparent);
    s->parent = sv_span_of_run(of->row->id);
    sv_span_text(s, "gen_ai.operation.name", s->operation);
    put_conversation(s, of->row->id, of->row->thread, ids);
    sv_span_text(s, "gen_ai.agent.name", of->agent);
    sv_span_text(s, "gen_ai.agent.id", of->agent_id);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void remember(struct sv_telemetry *t, const struct wr_run_note *note)
{
    struct sv_telemetry_runs *runs = sv_telemetry_runs_of(t);
    const struct wm_run *row = note->row;
    struct upp_str agent = wb_str_sub(row->agent, 0, AGENT_MAX);
    struct sv_span s = {.trace = ""};
    set_trace(&s, row->root, note->traceparent);
    struct known k = {.run = row->id,
                      .thread = row->thread,
                      .unsampled = is_unsampled(note->traceparent),
                      .n_agent = (uint8_t)agent.n};
    memcpy(k.trace, s.trace, sizeof k.trace);
    if (agent.n)
        memcpy(k.agent, agent.p, agent.n);
    (void)pthread_mutex_lock(&runs->lock);
    struct bucket *b = bucket_of(runs, row->id);
    struct known *old = find_in(b, row->id);
    *(old ? old : &b->runs[b->next++ % WAYS]) = k;
    (void)pthread_mutex_unlock(&runs->lock);
}

void sv_telemetry_run(struct sv_telemetry *t, const struct wr_run_note *note)
{
    const struct wm_run *row = note->row;
    struct ids ids;
    remember(t, note);
    if (note->moment != WR_RUN_ENDED || is_unsampled(note->traceparent))
        return;
    struct sv_span s = {.kind = SV_SPAN_INTERNAL,
                        .operation = UPP_STR("invoke_agent"),
                        .subject = row->agent,
                        .id = sv_span_of_run(row->id),
                        .parent = parent_of(note)};
    int64_t from_ms = row->started_ms ? row->started_ms : row->created_ms;
    set_times(&s, 0);
    if (from_ms > 0 && (uint64_t)from_ms * 1000000 < s.end_ns) /* waits and restarts included */
        s.start_ns = (uint64_t)from_ms * 1000000;
    set_trace(&s, row->root, note->traceparent);
    sv_span_text(&s, "gen_ai.operation.name", s.operation);
    put_conversation(&s, row->id, row->thread, &ids);
    sv_span_text(&s, "gen_ai.agent.name", row->agent);
    sv_span_text(&s, "gen_ai.agent.id", note->agent_id);
    put_usage(&s, &row->usage);
    sv_span_text(&s, "weft.run.status", wr_status_name(row->status));
    if (note->why)
        put_error(&s, note->why);
    sv_telemetry_add(t, &s);
}

/* ---- Models and tools -------------------------------------------------------------------------------------------- */

/* As gen_ai.provider.name spells it. */
static struct upp_str provider_name(struct upp_str ours)
{
    if (wb_str_eq(ours, UPP_STR("xai")))
        return UPP_STR("x_ai");
    return wb_str_eq(ours, UPP_STR("google")) ? UPP_STR("gcp.gemini") : ours;
}

void sv_telemetry_model(struct sv_telemetry *t, const struct wr_model_note *note)
{
    static const struct upp_str reasons[] = {
        [UPP_STOP_END] = UPP_STR_INIT("stop"),        [UPP_STOP_LENGTH] = UPP_STR_INIT("length"),
        [UPP_STOP_TOOLS] = UPP_STR_INIT("tool_call"), [UPP_STOP_FILTER] = UPP_STR_INIT("content_filter"),
        [UPP_STOP_ERROR] = UPP_STR_INIT("error"),
    };
    struct ids ids;
    struct sv_span s = {
        .kind = SV_SPAN_CLIENT, .operation = UPP_STR("chat"), .subject = note->model, .id = sv_span_random()};
    if (is_unsampled(note->of.traceparent))
        return;
    set_times(&s, note->ns);
    begin_inside(&s, &note->of, &ids);
    sv_span_text(&s, "gen_ai.provider.name", provider_name(note->provider));
    sv_span_text(&s, "gen_ai.request.model", note->model);
    if (note->usage) {
        put_usage(&s, note->usage);
        if (note->stop < WB_LEN(reasons))
            sv_span_list(&s, "gen_ai.response.finish_reasons", reasons[note->stop]);
    } else {
        put_error(&s, note->why);
    }
    sv_telemetry_add(t, &s);
}

void sv_telemetry_tool(struct sv_telemetry *t, const struct wr_tool_note *note)
{
    static const struct upp_str errors[] = {
        [WM_ERROR] = UPP_STR_INIT("tool_error"), [WM_UNKNOWN] = UPP_STR_INIT("unknown"),
        [WM_DENIED] = UPP_STR_INIT("denied"),    [WM_STOPPED] = UPP_STR_INIT("stopped"),
        [WM_INVALID] = UPP_STR_INIT("invalid"),
    };
    struct ids ids;
    struct sv_span s = {.kind = SV_SPAN_INTERNAL,
                        .operation = UPP_STR("execute_tool"),
                        .subject = note->tool,
                        .id = sv_span_of_call(note->of.row->id, note->call)};
    if (is_unsampled(note->of.traceparent))
        return;
    set_times(&s, note->ns);
    begin_inside(&s, &note->of, &ids);
    sv_span_text(&s, "gen_ai.tool.name", note->tool);
    sv_span_text(&s, "gen_ai.tool.call.id", note->call);
    sv_span_text(&s, "gen_ai.tool.type", UPP_STR("function"));
    if (note->outcome < WB_LEN(errors) && errors[note->outcome].n) {
        s.failed = true;
        sv_span_text(&s, "error.type", errors[note->outcome]);
    }
    sv_telemetry_add(t, &s);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* A request with a traceparent is a span of that trace. One without belongs to the trace of its run: above it if it
 * started the run, below it if it joined it. False: it has no span. */
static bool place(const struct sv_exchange *x, const struct known *k, struct sv_span *s)
{
    struct upp_str ours = wb_cstr(x->trace.parent);
    if (x->trace.id[0]) {
        memcpy(s->trace, x->trace.id, 32);
        s->id = sv_span_parse(wb_str_sub(ours, SPAN_AT, 16));
        s->parent = sv_span_parse(wb_cstr(x->trace.caller));
        if (k && !x->started) {
            memcpy(s->link, k->trace, sizeof s->link);
            s->linked = sv_span_of_run(x->run);
        }
        return !is_unsampled(ours);
    }
    if (k)
        memcpy(s->trace, k->trace, sizeof s->trace);
    else
        (void)wb_uuid_hex(x->run, s->trace);
    s->id = x->started ? sv_span_of_request(x->run) : sv_span_random();
    s->parent = x->started ? 0 : sv_span_of_run(x->run);
    return !k || !k->unsampled;
}

void sv_telemetry_request(struct sv_telemetry *t, const struct sv_exchange *x)
{
    const struct sv_route *route = x->conn->match.route;
    struct known found;
    const struct known *k = find_run(t, x->run, &found) ? &found : NULL;
    const char *type = sv_method_name(x->request->method);
    struct sv_span s = {.kind = SV_SPAN_SERVER, .operation = wb_cstr(type)};
    struct ids ids;
    char status[12];
    bool polls = !x->started && x->request->method == SV_GET && !x->reply.sent;
    if (wb_uuid_is_nil(x->run) || !route || polls || !place(x, k, &s))
        return;
    uint64_t now = wb_mono_ns();
    set_times(&s, now > x->conn->began_ns ? now - x->conn->began_ns : 0);
    s.subject = wb_cstr(route->pattern);
    sv_span_text(&s, "http.request.method", wb_cstr(type));
    sv_span_text(&s, "http.route", s.subject);
    sv_span_number(&s, "http.response.status_code", (uint64_t)x->reply.status);
    if (k) {
        put_conversation(&s, k->run, k->thread, &ids);
        sv_span_text(&s, "gen_ai.agent.name", wb_str(k->agent, k->n_agent));
    }
    if (x->reply.status >= 500) {
        int n = snprintf(status, sizeof status, "%d", x->reply.status);
        s.failed = true;
        sv_span_text(&s, "error.type", wb_str(status, (size_t)n));
    }
    sv_telemetry_add(t, &s);
}
