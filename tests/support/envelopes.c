/* support/envelopes.c — reads a configuration with the built-in adapters, and gives an exchange its ids and its
 * clock. */
#include "support/envelopes.h"

#include "base/err.h"
#include "support/test.h"

int envelopes_config(const char *yaml, struct wc_config **ret, struct upp_err *err)
{
    struct wc_report report = {0};
    int r = wc_config_parse("/t/weft.yaml", wb_cstr(yaml), UPP_OPTS(wc_opts, .makers = &wc_makers, .no_files = true),
                            &report, ret, err);
    wc_report_done(&report);
    return r;
}

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    struct envelopes_world *w = arg;
    const struct wc_agent *a = wc_config_agent(w->config, agent);
    return a ? wc_agent_model(a) : (struct upp_str){0};
}

static int new_id(void *arg, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct envelopes_world *w = arg;
    *ret = wb_arena_printf(a, "id-%u", ++w->ids);
    return wb_arena_check(a, err);
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return 1767323045678; /* 2026-01-02T03:04:05.678Z */
}

void envelopes_world(struct envelopes_world *w, struct wc_config *config)
{
    *w = (struct envelopes_world){.host = {.routes = &config->envelopes.routes,
                                           .model_of = model_of,
                                           .new_id = new_id,
                                           .now_ms = now_ms,
                                           .arg = w},
                                  .config = config};
}

const char *envelopes_text(struct wb_arena *a, const char *role, const char *intent, const char *more)
{
    return wb_arena_printf(a,
                           "{\"protocol\":\"multiagent-1.0\",\"role\":\"%s\",\"timestamp\":\"2026-01-02T03:04:05Z\","
                           "\"intent\":\"%s\",\"task\":\"Do it\",\"content\":{\"type\":\"text\",\"text\":\"Do it\"}%s}",
                           role, intent, more)
        .p;
}

int envelopes_read(struct wb_arena *a, const char *text, struct we_envelope *ret)
{
    struct upp_err err = {0};
    int r = text ? we_read(a, wb_cstr(text), NULL, ret, &err) : -UPP_ENOMEM;
    if (r < 0)
        test_note("%s: %s", err.where, err.msg);
    return r;
}
