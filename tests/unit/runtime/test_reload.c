/* A configuration that is read again while runs of the old one work. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/defs.h"
#include "runtime/runtime.h"
#include "support/fibers.h"
#include "support/rig.h"
#include "support/test.h"

struct world {
    char path[600];
    struct wc_config *config;
    struct wrt_runtime *rt;
};

static bool writes(struct world *w, const char *text)
{
    (void)snprintf(w->path, sizeof w->path, "%s/weft.yaml", test_folder());
    FILE *f = fopen(w->path, "w");
    bool good = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && good;
}

#define SLOW                                                                                                           \
    "models:\n"                                                                                                        \
    "  slow: {provider: scripted, script: slow.json}\n"                                                                \
    "  echo: {provider: scripted, echo: true}\n"

static bool writes_script(void)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/slow.json", test_folder());
    FILE *f = fopen(path, "w");
    bool good = f && fputs("{\"replies\":[{\"parts\":[{\"text\":\"one two three four five six\"}],\"delta_bytes\":4,"
                           "\"delay_ms\":40}],\"again\":true}",
                           f) >= 0;
    return f && fclose(f) == 0 && good;
}

static WEFT_SUSPENDS int start(struct world *w, const char *agent, struct wr_started *ret, struct upp_err *err)
{
    struct rig rig = {.engine = w->rt->engine};
    return rig_start(&rig, agent, "hello", NULL, ret, err);
}

static WEFT_SUSPENDS int reload(struct world *w, struct upp_err *err)
{
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    return wrt_reload(w->rt, &report, err);
}

static WEFT_SUSPENDS int finish(struct world *w, struct upp_err *err)
{
    while (wr_engine_counts(w->rt->engine).working)
        TRY(weft_sleep_ms(1, err));
    return 0;
}

static WEFT_SUSPENDS int status_of(struct world *w, const struct wr_started *run, uint8_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wr_run_info look;
    TRY(wr_get(w->rt->engine, &rig_owner, run->run, &a, &look, err));
    *ret = look.run.status;
    return 0;
}

static WEFT_SUSPENDS int replaces(struct world *w, struct upp_err *err)
{
    struct wr_started slow, new;
    struct upp_err why = {0};
    uint8_t status;
    TRY(start(w, "old", &slow, err));
    FAIL_UNLESS(w->rt->agents->runs == 1);

    /* Another agent; the variable is gone from the environment and still known. */
    FAIL_UNLESS(writes(w, SLOW "agents:\n  new: {model: echo, system: 'I know ${RELOAD_SECRET}'}\n"));
    TRY(reload(w, err));
    FAIL_UNLESS(wrt_agent(w->rt, UPP_STR("new")) && !wrt_agent(w->rt, UPP_STR("old")));
    FAIL_UNLESS(wb_str_eq(wrt_agent(w->rt, UPP_STR("new"))->system, UPP_STR("I know a long enough secret")));
    FAIL_UNLESS(w->rt->agents->older && w->rt->agents->older->runs == 1);
    FAIL_UNLESS(start(w, "old", &new, &why) == -UPP_ENOTFOUND);
    TRY(start(w, "new", &new, err));

    /* A mistake changes nothing. */
    FAIL_UNLESS(writes(w, SLOW "agents:\n  newer: {model: none}\n"));
    FAIL_UNLESS(reload(w, &why) == -UPP_EINVALID && wrt_agent(w->rt, UPP_STR("new")));
    FAIL_UNLESS(remove(w->path) == 0 && reload(w, &why) == -UPP_ENOTFOUND && wrt_agent(w->rt, UPP_STR("new")));

    /* What had begun ends with what it began with; then nobody needs the old agents. */
    TRY(finish(w, err));
    TRY(status_of(w, &slow, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    FAIL_UNLESS(wrt__drop_unused(w->rt, 0) == 0 && !w->rt->agents->older);
    return 0;
}

/* Old agents stay for a while, because a request may have looked one up; not more than 64 of them. */
static WEFT_SUSPENDS int replaces_often(struct world *w, struct upp_err *err)
{
    struct upp_err why = {0};
    FAIL_UNLESS(writes(w, SLOW "agents:\n  new: {model: echo}\n"));
    for (int i = 0; i < 64; i++)
        TRY(reload(w, err));
    FAIL_UNLESS(reload(w, &why) == -UPP_EBUSY && wrt_agent(w->rt, UPP_STR("new")));
    FAIL_UNLESS(wrt__drop_unused(w->rt, 0) == 0);
    return reload(w, err);
}

static WEFT_SUSPENDS int plays(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    struct wrt_location at;
    TRY(wrt_location_of(w->config, NULL, &at, err));
    TRY(wrt_runtime_open(weft_loop_current(), w->config, &at, &w->rt, err));
    int r = replaces(w, err);
    if (r >= 0)
        r = replaces_often(w, err);
    wrt_runtime_close(w->rt);
    return r;
}

TEST_WITH(reload_replaces_agents, .no_torture = "test_config.c tortures the reading, test_runtime.c the opening")
{
    struct world w = {0};
    struct upp_err err = {0};
    CHECK(setenv("RELOAD_SECRET", "a long enough secret", 1) == 0);
    CHECK(writes_script() && writes(&w, SLOW "agents:\n  old: {model: slow, system: '${RELOAD_SECRET}'}\n"));
    CHECK_INT(wc_config_load(w.path, UPP_OPTS(wc_opts, .makers = &wc_makers), NULL, &w.config, &err), 0);
    wc_config_wipe_environment(w.config);
    CHECK(!getenv("RELOAD_SECRET"));
    int r = test_on_loop(plays, &w, &err);
    if (r < 0)
        test_note("%s", err.msg);
    wc_config_free(w.config);
    CHECK_INT(r, 0);
}
