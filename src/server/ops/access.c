/* server/ops/access.c — counts requests, and logs one line for each, but for those without a valid API key: whoever
 * reaches the server could fill the disk with them (server/http/strangers.h).
 *
 *     time=... level=info msg=request method=GET route=/v1/threads/{t} status=200 bytes=312 ms=0.214 id=req_...
 * tenant=local client=127.0.0.1
 *
 * The route is the pattern, never the path: paths have ids, and a client chooses what an unknown path contains.
 */
#include "base/clock.h"
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
