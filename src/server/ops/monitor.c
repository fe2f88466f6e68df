/* server/ops/monitor.c — counts requests, and logs one line for each, but for those without a valid API key: whoever
 * reaches the server could fill the disk with them (server/http/client.h).
 *
 *     time=... level=info msg=request method=GET route=/v1/threads/{t} status=200 bytes=312 ms=0.214 id=req_...
 * tenant=local client=127.0.0.1
 *
 * The route is the pattern, never the path: paths have ids, and a client chooses what an unknown path contains.
 */
#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "server/http/conn.h"
#include "server/ops/ops.h"

static void log_request(const struct sv_exchange *x, uint64_t ns)
{
    const struct sv_route *route = x->conn->match.route;
    char run[WB_UUID_HEX + 5] = "run_";
    struct wb_log_field fields[13] = {
        WB_LZ("method", sv_method_name(x->request->method)),
        WB_LZ("route", route ? route->pattern : "-"),
        WB_LI("status", x->reply.status),
        WB_LU("bytes", x->conn->sent),
        WB_LMS("ms", ns / 1000),
        WB_LZ("id", x->request_id),
        WB_LS("tenant", x->owner.tenant),
        WB_LZ("client", sv_conn_client(x->conn)),
    };
    size_t n = 8;
    if (x->owner.user.n)
        fields[n++] = (struct wb_log_field)WB_LS("user", x->owner.user);
    if (!wb_uuid_is_nil(x->run)) {
        (void)wb_uuid_hex(x->run, run + 4);
        fields[n++] = (struct wb_log_field)WB_LZ("run", run);
    }
    if (x->trace.id[0])
        fields[n++] = (struct wb_log_field)WB_LZ("trace", x->trace.id);
    if (x->reply.sent)
        fields[n++] = (struct wb_log_field)WB_LB("stream", true);
    fields[n] = (struct wb_log_field){.kind = WB_LOG_END};
    wb_log_line(WB_INFO, "request", fields);
}

void sv_ops_answered(void *arg, const struct sv_exchange *x)
{
    struct sv_ops *ops = arg;
    const struct sv_route *route = x->conn->match.route;
    uint64_t now = wb_mono_ns(), ns = now > x->conn->began_ns ? now - x->conn->began_ns : 0;
    unsigned code = (unsigned)x->reply.status % 1000;
    char text[3] = {(char)('0' + code / 100), (char)('0' + code / 10 % 10), (char)('0' + code % 10)};
    struct upp_str pattern = route ? wb_cstr(route->pattern) : UPP_STR("other");
    struct upp_str labels[] = {wb_cstr(sv_method_name(x->request->method)), pattern, wb_str(text, 3)};
    sv_metrics_add(ops->metrics, SV_HTTP_REQUESTS, labels, 1);
    sv_metrics_observe(ops->metrics, SV_HTTP_DURATION, &pattern, ns);
    sv_metrics_add(ops->metrics, SV_HTTP_BYTES, NULL, x->conn->sent);
    if (ops->opts.telemetry)
        sv_telemetry_request(ops->opts.telemetry, x);
    if (!ops->opts.no_access_log && !x->conn->auth.stranger && wb_log_on(WB_INFO))
        log_request(x, ns);
}

struct line {
    struct wb_log_field fields[16];
    size_t n;
};

static void put_field(struct line *l, struct wb_log_field f)
{
    l->fields[l->n++] = f;
}

#define PUT(line, field) put_field((line), (struct wb_log_field)field)

static void log_run(const struct wr_run_note *note)
{
    static const char *const messages[] = {[WR_RUN_QUEUED] = "run queued",
                                           [WR_RUN_STARTED] = "run started",
                                           [WR_RUN_RESUMED] = "run resumed",
                                           [WR_RUN_WAITS] = "run waits",
                                           [WR_RUN_ENDED] = "run ended"};
    const struct wm_run *row = note->row;
    char ids[3][WB_UUID_HEX + 8] = {"run_", "thread_", "run_"};
    struct line l = {.n = 0};
    (void)wb_uuid_hex(row->id, ids[0] + 4);
    (void)wb_uuid_hex(row->thread, ids[1] + 7);
    (void)wb_uuid_hex(row->parent, ids[2] + 4);
    PUT(&l, WB_LZ("run", ids[0]));
    PUT(&l, WB_LZ("thread", ids[1]));
    if (row->depth)
        PUT(&l, WB_LZ("parent", ids[2]));
    PUT(&l, WB_LS("agent", row->agent));
    PUT(&l, WB_LS("state", wr_status_name(row->status)));
    PUT(&l, WB_LS("tenant", note->owner->tenant));
    if (note->traceparent.n > 35)
        PUT(&l, WB_LS("trace", wb_str_sub(note->traceparent, 3, 32)));
    if (note->moment == WR_RUN_ENDED) {
        PUT(&l, WB_LU("input_tokens", row->usage.input));
        PUT(&l, WB_LU("output_tokens", row->usage.output));
        PUT(&l, WB_LI("ms", row->ended_ms - row->created_ms));
    }
    if (note->why) { /* what a provider says may repeat what a user said: not in this log */
        PUT(&l, WB_LZ("code", upp_code_name(note->why->code)));
        if (note->why->provider[0])
            PUT(&l, WB_LZ("provider", note->why->provider));
        if (note->why->http)
            PUT(&l, WB_LI("http", note->why->http));
    }
    PUT(&l, {.kind = WB_LOG_END});
    wb_log_line(note->why ? WB_WARN : WB_INFO, messages[note->moment], l.fields);
}

/* The name in the configuration. Clients make stored assistants, and delete them: they share one series. */
static struct upp_str agent_label(const struct sv_ops_engine *w, struct upp_str agent)
{
    const struct wr_agent_def *def = agent.n ? wr_agent(w->engine, agent) : NULL;
    return def && !def->base ? def->name : UPP_STR("other");
}

static void note_run(void *arg, const struct wr_run_note *note)
{
    const struct sv_ops_engine *w = arg;
    const struct wm_run *row = note->row;
    if (note->moment == WR_RUN_ENDED) {
        const struct upp_str labels[] = {agent_label(w, row->agent), wr_status_name(row->status)};
        int64_t ms = row->started_ms ? row->ended_ms - row->started_ms : 0;
        sv_metrics_add(w->metrics, SV_RUNS_TOTAL, labels, 1);
        sv_metrics_observe(w->metrics, SV_RUN_DURATION, labels, ms > 0 ? (uint64_t)ms * 1000000 : 0);
    }
    if (w->telemetry)
        sv_telemetry_run(w->telemetry, note);
    if (wb_log_on(note->why ? WB_WARN : WB_INFO))
        log_run(note);
}

static void note_model(void *arg, const struct wr_model_note *note)
{
    const struct sv_ops_engine *w = arg;
    struct upp_str labels[] = {note->model, note->usage ? UPP_STR("ok") : UPP_STR("error")};
    sv_metrics_add(w->metrics, SV_MODEL_REQUESTS, labels, 1);
    sv_metrics_observe(w->metrics, SV_MODEL_DURATION, labels, note->ns);
    if (w->telemetry)
        sv_telemetry_model(w->telemetry, note);
    if (!note->usage)
        return;
    const struct {
        struct upp_str kind;
        uint64_t n;
    } tokens[] = {{UPP_STR("input"), note->usage->input},
                  {UPP_STR("output"), note->usage->output},
                  {UPP_STR("cache_read"), note->usage->cache_read},
                  {UPP_STR("cache_write"), note->usage->cache_write},
                  {UPP_STR("reasoning"), note->usage->reasoning}};
    for (size_t i = 0; i < WB_LEN(tokens); i++) {
        labels[1] = tokens[i].kind;
        if (i < 2 || tokens[i].n)
            sv_metrics_add(w->metrics, SV_MODEL_TOKENS, labels, tokens[i].n);
    }
}

static void note_tool(void *arg, const struct wr_tool_note *note)
{
    static const struct upp_str outcomes[] = {
        [WM_DONE] = UPP_STR_INIT("ok"),         [WM_ERROR] = UPP_STR_INIT("error"),
        [WM_UNKNOWN] = UPP_STR_INIT("unknown"), [WM_DENIED] = UPP_STR_INIT("denied"),
        [WM_STOPPED] = UPP_STR_INIT("stopped"), [WM_INVALID] = UPP_STR_INIT("invalid"),
    };
    const struct sv_ops_engine *w = arg;
    bool known = note->outcome < WB_LEN(outcomes) && outcomes[note->outcome].p;
    struct upp_str labels[] = {note->tool, known ? outcomes[note->outcome] : UPP_STR("other")};
    sv_metrics_add(w->metrics, SV_TOOL_CALLS, labels, 1);
    sv_metrics_observe(w->metrics, SV_TOOL_DURATION, labels, note->ns);
    if (w->telemetry)
        sv_telemetry_tool(w->telemetry, note);
}

static void note_commit(void *arg, uint64_t ns)
{
    const struct sv_ops_engine *w = arg;
    sv_metrics_observe(w->metrics, SV_STORE_COMMIT_DURATION, NULL, ns);
}

int sv_ops_watch(struct sv_ops *ops, struct wr_engine *engine, struct upp_err *err)
{
    struct sv_ops_engine *w = &ops->engines[ops->n_engines];
    if (ops->n_engines == SV_CORES)
        return upp_fail(err, UPP_EINVALID, "at most %d engines are watched", SV_CORES);
    w->metrics = sv_metrics_new();
    if (!w->metrics)
        return upp_fail(err, UPP_ENOMEM, "no memory for metrics");
    w->engine = engine;
    w->telemetry = ops->opts.telemetry;
    w->monitor =
        (struct wr_monitor){.arg = w, .run = note_run, .model = note_model, .tool = note_tool, .commit = note_commit};
    ops->n_engines++;
    wr_engine_monitor(engine, &w->monitor);
    return 0;
}
