/* fuzz/fuzz_config.c — a configuration is all right, or there is none and every mistake has a place and a sentence. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "runtime/config.h"
#include "runtime/config_read.h"

static const char *environment(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "KEY") == 0 ? "s3cret" : NULL;
}

/* libfyaml 0.7.12 loses a buffer when it puts a text of many pieces together. Nothing of ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so\n";
}

FUZZ(config)
{
    static const struct wc_opts opts = {.size = sizeof opts, .env = environment, .reaper = "/x", .no_files = true};
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    struct upp_err err = {0};
    int r = wc_config_parse("/etc/weft.yaml", in, &opts, &report, &c, &err);
    REQUIRE((r == 0) == (c != NULL) && (r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT));
    REQUIRE(r != 0 || report.errors == 0);
    REQUIRE(report.n <= WC_MAX_MISTAKES);
    for (size_t i = 0; i < report.n; i++) {
        const struct wc_mistake *m = &report.list[i];
        REQUIRE(m->line >= 1 && m->column >= 1 && m->text.n && wb_utf8_valid(m->text, NULL));
        REQUIRE(wb_str_find(m->text, UPP_STR("s3cret"), 0) == SIZE_MAX ||
                wb_str_find(in, UPP_STR("s3cret"), 0) != SIZE_MAX);
    }
    REQUIRE_SHOWN(err.msg);
    for (size_t i = 0; c && i < c->n_agents; i++) {
        const struct wr_agent_def *a = &c->agents[i].def;
        REQUIRE(a->name.n && a->title.n && (a->n_tools == 0 || a->tools));
        REQUIRE(a->n_handoffs <= a->n_tools && (a->n_handoffs == 0 || a->handoffs[0].agent.n));
        REQUIRE(a->strategy && (c->agents[i].n_middleware == 0 || c->agents[i].middleware));
        for (size_t j = 0; j < a->n_tools; j++)
            REQUIRE(a->tools[j].spec.name.n && a->tools[j].spec.parameters.n);
    }
}
