#include "server/ops/metrics.h"

#include <stdio.h>

#include "base/defs.h"
#include "support/test.h"

#define LABELS(...)                                                                                                    \
    (const struct upp_str[])                                                                                           \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void text_of(const struct sv_metrics *m, struct wb_buf *out)
{
    wb_buf_clear(out);
    sv_metrics_write(m, out);
    wb_buf_addc(out, 0);
}

TEST(metrics_are_written)
{
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *m = sv_metrics_new();
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    CHECK(m);
    sv_metrics_add(m, SV_RUNS_TOTAL, LABELS(UPP_STR("b"), UPP_STR("failed")), 2);
    sv_metrics_add(m, SV_RUNS_TOTAL, LABELS(UPP_STR("a\\\"\n"), UPP_STR("completed")), 1);
    sv_metrics_add(m, SV_RUNS_TOTAL, LABELS(UPP_STR("b"), UPP_STR("failed")), 3);
    sv_metrics_set(m, SV_HTTP_STREAMS, NULL, 7);
    sv_metrics_set(m, SV_HTTP_STREAMS, NULL, 4);
    sv_metrics_set(m, SV_PROCESS_CPU, NULL, 1500000000);
    text_of(m, &out);
    if (out.failed)
        return; /* no memory, in a torture run */
    CHECK_STR(wb_cstr(out.p), UPP_STR("# HELP weft_http_streams Open event streams.\n"
                                      "# TYPE weft_http_streams gauge\n"
                                      "weft_http_streams 4\n"
                                      "# HELP weft_runs_total Runs that have ended, child runs included.\n"
                                      "# TYPE weft_runs_total counter\n"
                                      "weft_runs_total{agent=\"a\\\\\\\"\\n\",outcome=\"completed\"} 1\n"
                                      "weft_runs_total{agent=\"b\",outcome=\"failed\"} 5\n"
                                      "# HELP process_cpu_seconds_total User and system CPU time.\n"
                                      "# TYPE process_cpu_seconds_total counter\n"
                                      "process_cpu_seconds_total 1.500000000\n"));
}

/* A bucket has everything up to its limit, which belongs to it. */
TEST(metrics_have_histograms)
{
    static const uint64_t seen[] = {0, 500000, 500001, 1000000000, 300000000000, 300000000001};
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *m = sv_metrics_new();
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    CHECK(m);
    for (size_t i = 0; i < WB_LEN(seen); i++)
        sv_metrics_observe(m, SV_TOOL_DURATION, LABELS(UPP_STR("t")), seen[i]);
    text_of(m, &out);
    if (out.failed)
        return;
    static const char *const lines[] = {
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"0.0005\"} 2\n",
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"0.001\"} 3\n",
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"0.5\"} 3\n",
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"1\"} 4\n",
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"300\"} 5\n",
        "weft_tool_duration_seconds_bucket{tool=\"t\",le=\"+Inf\"} 6\n",
        "weft_tool_duration_seconds_sum{tool=\"t\"} 601.001000002\n",
        "weft_tool_duration_seconds_count{tool=\"t\"} 6\n",
    };
    for (size_t i = 0; i < WB_LEN(lines); i++) {
        test_note("%s", lines[i]);
        CHECK(strstr(out.p, lines[i]));
    }
}

/* The page of a server with several loops is their sum. */
TEST(metrics_of_loops_are_summed)
{
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *a = sv_metrics_new();
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *b = sv_metrics_new();
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *all = sv_metrics_new();
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    CHECK(a && b && all);
    sv_metrics_add(a, SV_MODEL_TOKENS, LABELS(UPP_STR("m"), UPP_STR("input")), 10);
    sv_metrics_add(b, SV_MODEL_TOKENS, LABELS(UPP_STR("m"), UPP_STR("input")), 5);
    sv_metrics_add(b, SV_MODEL_TOKENS, LABELS(UPP_STR("n"), UPP_STR("input")), 1);
    sv_metrics_observe(a, SV_STORE_COMMIT_DURATION, NULL, 1000);
    sv_metrics_observe(b, SV_STORE_COMMIT_DURATION, NULL, 2000000);
    sv_metrics_merge(all, a);
    sv_metrics_merge(all, b);
    text_of(all, &out);
    if (out.failed || all->dropped)
        return;
    CHECK(strstr(out.p, "weft_model_tokens_total{model=\"m\",kind=\"input\"} 15\n"));
    CHECK(strstr(out.p, "weft_model_tokens_total{model=\"n\",kind=\"input\"} 1\n"));
    CHECK(strstr(out.p, "weft_store_commit_duration_seconds_bucket{le=\"0.0005\"} 1\n"));
    CHECK(strstr(out.p, "weft_store_commit_duration_seconds_bucket{le=\"0.0025\"} 2\n"));
    CHECK(strstr(out.p, "weft_store_commit_duration_seconds_sum 0.002001000\n"));
}

/* Whatever the labels are, there are at most so many series. */
TEST(metrics_are_bounded)
{
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *m = sv_metrics_new();
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    char name[16];
    CHECK(m);
    for (unsigned i = 0; i < 3 * SV_SERIES_EACH; i++) {
        (void)snprintf(name, sizeof name, "t%u", i);
        sv_metrics_add(m, SV_TOOL_CALLS, LABELS(wb_cstr(name), UPP_STR("ok")), 1);
    }
    text_of(m, &out);
    if (out.failed || m->dropped)
        return;
    CHECK_INT(m->each[SV_TOOL_CALLS], SV_SERIES_EACH);
    CHECK(strstr(out.p, "{tool=\"t510\",outcome=\"ok\"} 1\n") && !strstr(out.p, "{tool=\"t511\""));
    CHECK(strstr(out.p, "{tool=\"other\",outcome=\"other\"} 1025\n"));
}

/* ... and of all families together: what does not fit is not counted, and that is counted. */
TEST(metrics_count_what_they_drop)
{
    static const enum sv_metric two[] = {SV_TOOL_CALLS, SV_MODEL_REQUESTS, SV_MODEL_TOKENS, SV_RUNS_TOTAL,
                                         SV_HTTP_REQUESTS};
    WB_CLEANUP(sv_metrics_freep) struct sv_metrics *m = sv_metrics_new();
    char name[16];
    CHECK(m);
    for (unsigned i = 0; i < SV_SERIES_EACH; i++)
        for (size_t k = 0; k < WB_LEN(two); k++) {
            (void)snprintf(name, sizeof name, "t%u", i);
            sv_metrics_add(m, two[k], LABELS(wb_cstr(name), UPP_STR("x"), UPP_STR("y")), 1);
        }
    CHECK(m->n <= SV_SERIES);
    CHECK(m->dropped >= WB_LEN(two) * SV_SERIES_EACH - SV_SERIES);
}
