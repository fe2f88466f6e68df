/* What runtime.h promises: stores by their names, agents with ids that stay, an engine that goes on. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "log/change.h"
#include "runtime/runtime.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/store.h"
#include "support/fibers.h"

static const struct upp_str yaml = UPP_STR_INIT("store: memory\n"
                                                "default_agent: b\n"
                                                "models: {echo: {provider: scripted, echo: true}}\n"
                                                "agents:\n"
                                                "  a: {model: echo, id: 5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11}\n"
                                                "  b: {model: echo}\n"
                                                "  c: {model: echo}\n");

static int parse(struct wc_config **ret, struct upp_err *err)
{
    return wc_config_parse("weft.yaml", yaml, UPP_OPTS(wc_opts, .makers = &wc_makers), NULL, ret, err);
}

/* ---- Places --------------------------------------------------------------------------------------------- */

TEST(runtime_place_is_what_the_url_says)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct wrt_location at;
    struct upp_err err = {0};
    char here[600], want[640];
    CHECK_INT(parse(&c, &err), 0);
    CHECK_INT(wrt_location_of(c, NULL, &at, &err), 0);
    CHECK(at.driver == &ws_memory_driver);
    CHECK_INT(wrt_location_of(c, "sqlite:/x/y.db", &at, &err), 0);
    CHECK(at.driver == &ws_sqlite_driver);
    CHECK_STR(wb_cstr(at.path), UPP_STR("/x/y.db"));
    CHECK_INT(wrt_location_of(c, "sqlite:y.db", &at, &err), 0);
    CHECK(getcwd(here, sizeof here));
    (void)snprintf(want, sizeof want, "%s/y.db", here);
    CHECK_STR(wb_cstr(at.path), wb_cstr(want));
    CHECK_INT(wrt_location_of(c, "memory:", &at, &err), 0);
    CHECK(at.driver == &ws_memory_driver);
}

TEST(runtime_place_that_is_none)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct wrt_location at;
    struct upp_err err = {0};
    char url[WRT_PATH_MAX + 8] = "sqlite:/"; /* the path: one byte too long */
    const char *const bad[] = {"", "memory", "sqlite:", "postgres://x", "/x/y.db", url};
    CHECK_INT(parse(&c, &err), 0);
    memset(url + 8, 'x', sizeof url - 9);
    url[sizeof url - 1] = 0;
    for (size_t i = 0; i < WB_LEN(bad); i++)
        CHECK_INT(wrt_location_of(c, bad[i], &at, &err), -UPP_EINVALID);
    url[sizeof url - 2] = 0; /* the longest that fits */
    CHECK_INT(wrt_location_of(c, url, &at, &err), 0);
    url[7] = 'x'; /* and with the current folder before it it does not */
    CHECK_INT(wrt_location_of(c, url, &at, &err), -UPP_EINVALID);
}

WEFT_SUSPENDS static int open_with_cache(void *arg, struct upp_err *err)
{
    struct wrt_location *at = arg;
    struct wc_config c = {.store_cache_mb = 3};
    struct wl_store *s;
    TRY(wrt_store_open(&c, at, &s, err));
    uint32_t kib = ws_sqlite(wrt_store_base(s))->opts.cache_kib;
    s->ops->close(s);
    FAIL_UNLESS(kib == 3072);
    return 0;
}

TEST(runtime_sets_the_page_cache_of_the_store)
{
    struct wrt_location at = {.driver = &ws_sqlite_driver};
    struct upp_err err = {0};
    (void)snprintf(at.path, sizeof at.path, "%s/weft.db", test_folder());
    CHECK_INT(test_on_loop(open_with_cache, &at, &err), 0);
}

/* ---- Agents ------------------------------------------------------------------------------------------------ */

struct life {
    struct wrt_location at;
    char b[WB_UUID_TEXT + 1], c[WB_UUID_TEXT + 1]; /* the ids that were made */
};

static int check_agents(const struct wrt_runtime *rt, struct life *l)
{
    const struct wr_agent_def *a = wrt_agent(rt, UPP_STR("a")), *b = wrt_agent(rt, UPP_STR("b")),
                              *c = wrt_agent(rt, UPP_STR("c"));
    FAIL_UNLESS(a && b && c && a != b && b != c);
    FAIL_UNLESS(wb_str_eq(a->id, UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11")));
    FAIL_UNLESS(b->id.n == WB_UUID_TEXT && c->id.n == WB_UUID_TEXT && !wb_str_eq(b->id, c->id));
    FAIL_UNLESS(wrt_agent(rt, UPP_STR("5F0C8C1E6A4E4F0E9D0C0B8F6F6A1C11")) == a);
    FAIL_UNLESS(wrt_agent(rt, UPP_STR("asst_5f0c8c1e6a4e4f0e9d0c0b8f6f6a1c11")) == a);
    FAIL_UNLESS(wrt_agent(rt, b->id) == b);
    FAIL_UNLESS(wrt_agent(rt, UPP_STR("")) == b); /* the default */
    FAIL_UNLESS(!wrt_agent(rt, UPP_STR("d")));
    FAIL_UNLESS(!wrt_agent(rt, UPP_STR("5f0c8c1e6a4e4f0e9d0c0b8f6f6a1c12")));
    FAIL_UNLESS(!l->b[0] || (wb_str_eq(b->id, wb_cstr(l->b)) && wb_str_eq(c->id, wb_cstr(l->c))));
    (void)snprintf(l->b, sizeof l->b, "%.*s", UPP_FMT(b->id));
    (void)snprintf(l->c, sizeof l->c, "%.*s", UPP_FMT(c->id));
    return 0;
}

/* Opens, looks, runs the echo, closes. */
WEFT_SUSPENDS static int live_once(void *arg, struct upp_err *err)
{
    struct life *l = arg;
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    UPP_CLEANUP(wrt_runtime_closep) struct wrt_runtime *rt = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = {.tenant = UPP_STR("local")}, .agent = UPP_STR("b"), .input = &input};
    struct wr_started run;
    size_t n;
    uint8_t status;
    TRY(parse(&c, err));
    TRY(wrt_runtime_open(weft_loop_current(), c, &l->at, &rt, err));
    TRY(check_agents(rt, l));
    FAIL_UNLESS((wrt_socket(rt)[0] != 0) == (l->at.driver == &ws_sqlite_driver));
    TRY(wrt_runtime_recover(rt, &n, err));
    FAIL_UNLESS(n == 0);
    TRY(wr_start(rt->engine, &what, &run, err));
    TRY(wr_wait(rt->engine, &what.owner, run.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(runtime_lives_in_memory)
{
    struct life l = {.at = {.driver = &ws_memory_driver}};
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(live_once, &l, &err), 0);
}

/* A round of the sweep over all tenants, by the configuration's days: 0 of them are the default. */
WEFT_SUSPENDS static int sweep_all(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    static const char *const who[] = {"a", "b", "c"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wc_config config = {.retention = {.tapes_days = 1, .deleted_days = 1}};
    struct wl_swept n;
    for (size_t i = 0; i < WB_LEN(who); i++) {
        struct wl_owner o = {.tenant = wb_cstr(who[i])};
        struct wl_thread t;
        char id[WB_UUID_TEXT + 1], tree[WB_UUID_TEXT + 1];
        TRY(wl_thread_new(s, &o, NULL, &a, &t, err));
        TRY(wl_thread_delete(s, &o, &t, err));
        struct wl_value note = {.space = UPP_STR(WL_DELETED), .name = wb_uuid_text(t.id, id)};
        note.bytes = wb_arena_printf(&a, "{\"tree\":\"%s\",\"head\":%llu,\"time\":%lld}", wb_uuid_text(t.tree, tree).p,
                                     (unsigned long long)t.head, (long long)(wb_wall_ms() - 2 * WL_DAY_MS));
        TRY(wb_arena_check(&a, err));
        struct wl_change put = {.kind = WL_PUT_VALUE, .value = &note};
        struct wl_commit c = {.owner = o, .changes = &put, .n = 1};
        TRY(wl_store_commit(s, &c, err));
    }
    TRY(wrt_sweep(s, NULL, &n, err));
    FAIL_UNLESS(n.threads == 0);
    TRY(wrt_sweep(s, &config, &n, err));
    FAIL_UNLESS(n.threads == 3 && n.nodes == 3);
    return 0;
}

TEST(runtime_sweeps_every_tenant)
{
    struct wl_store *s = NULL;
    struct upp_err err = {0};
    CHECK(ws_memory_open(&s, &err) == 0);
    int r = test_on_loop(sweep_all, s, &err);
    s->ops->close(s);
    CHECK_INT(r, 0);
}

/* A run with a row that cannot be read. */
WEFT_SUSPENDS static int sweep_damage(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    const struct wl_owner o = {.tenant = UPP_STR("a")};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread t;
    struct wl_swept n;
    TRY(wl_thread_new(s, &o, NULL, &a, &t, err));
    struct wm_run run = {.id = wb_uuid_v4(1, 2),
                         .root = wb_uuid_v4(1, 2),
                         .thread = t.id,
                         .node = t.head,
                         .version = 1,
                         .status = WM_FAILED,
                         .started_ms = 1,
                         .ended_ms = 2};
    struct wl_row row = {
        .node = t.head, .run = run.id, .n_entries = 1, .format = WM_FORMAT, .body = UPP_STR("{\"?\":1}")};
    const struct wl_change list[] = {{.kind = WL_ADD_RUN, .run = &run}, {.kind = WL_ADD_ROW, .row = &row}};
    struct wl_commit c = {.owner = o, .changes = list, .n = WB_LEN(list)};
    TRY(wl_store_commit(s, &c, err));
    TRY(wrt_sweep(s, NULL, &n, err));
    FAIL_UNLESS(n.damaged == 1);
    TRY(wrt_sweep(s, NULL, &n, err));
    FAIL_UNLESS(n.damaged == 0); /* it was passed over */
    return 0;
}

TEST(runtime_sweep_counts_what_it_passes_over)
{
    struct wl_store *s = NULL;
    struct upp_err err = {0};
    CHECK(ws_memory_open(&s, &err) == 0);
    int r = test_on_loop(sweep_damage, s, &err);
    s->ops->close(s);
    CHECK_INT(r, 0);
}

/* As stores of before have it, for each name. */
WEFT_SUSPENDS static int record_agent(struct wl_store *s, struct upp_str name, struct upp_err *err)
{
    struct wl_alias alias = {.kind = WL_ALIAS_AGENT, .text = name, .object = wb_uuid_v4(1, 2)};
    struct wl_change add = {.kind = WL_ADD_ALIAS, .alias = &alias};
    struct wl_commit c = {.owner = {.tenant = UPP_STR(WRT_TENANT)}, .changes = &add, .n = 1};
    return wl_store_commit(s, &c, err);
}

WEFT_SUSPENDS static int name_agents(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    const struct wl_owner owner = {.tenant = UPP_STR(WRT_TENANT)};
    const struct upp_str a = UPP_STR("a"), b = UPP_STR("b"), old = UPP_STR("old");
    struct wb_uuid first, again, other;
    struct upp_err why = {0};
    FAIL_UNLESS(wrt_agent_id(s, a, false, &first, &why) != 0);
    TRY(wrt_agent_id(s, a, true, &first, err));
    TRY(wrt_agent_id(s, b, true, &other, err));
    TRY(wrt_agent_id(s, a, false, &again, err));
    FAIL_UNLESS(wb_uuid_eq(first, again) && !wb_uuid_eq(first, other) && wb_uuid_version(first) == 4);
    FAIL_UNLESS(wl_get_alias(s, &owner, WL_ALIAS_AGENT, a, &again, &why) != 0);
    FAIL_UNLESS(wl_get_alias(s, &owner, WL_ALIAS_AGENT, b, &again, &why) != 0);
    TRY(record_agent(s, old, err));
    TRY(wrt_agent_id(s, old, true, &again, err));
    FAIL_UNLESS(wb_uuid_eq(again, wb_uuid_v4(1, 2)));
    return 0;
}

TEST(runtime_records_nothing_for_the_name_of_an_agent)
{
    struct wl_store *s = NULL;
    struct upp_err err = {0};
    CHECK(ws_memory_open(&s, &err) == 0);
    int r = test_on_loop(name_agents, s, &err);
    s->ops->close(s);
    CHECK_INT(r, 0);
}

TEST(runtime_keeps_the_ids_of_agents)
{
    struct life l = {.at = {.driver = &ws_sqlite_driver}};
    struct upp_err err = {0};
    (void)snprintf(l.at.path, sizeof l.at.path, "%s/weft.db", test_folder());
    CHECK_INT(test_on_loop(live_once, &l, &err), 0);
    CHECK_INT(test_on_loop(live_once, &l, &err), 0); /* check_agents compares */
}

/* covers: UAP-16.2/1 */
TEST(runtime_lives_in_an_encrypted_file)
{
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const char other[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefe";
    struct life l = {.at = {.driver = &ws_sqlite_driver, .key = key}};
    struct upp_err err = {0};
    (void)snprintf(l.at.path, sizeof l.at.path, "%s/weft.db", test_folder());
    CHECK_INT(test_on_loop(live_once, &l, &err), 0);
    CHECK_INT(test_on_loop(live_once, &l, &err), 0);
    l.at.key = other;
    CHECK_INT(test_on_loop(live_once, &l, &err), -UPP_EREFUSED);
    l.at.key = "no key";
    CHECK_INT(test_on_loop(live_once, &l, &err), -UPP_EINVALID);
    l.at.key = NULL;
    CHECK_INT(test_on_loop(live_once, &l, &err), -UPP_EREFUSED);
    l.at.key = key;
    CHECK_INT(test_on_loop(live_once, &l, &err), 0);
}

WEFT_SUSPENDS static int live_twice(void *arg, struct upp_err *err)
{
    struct life *l = arg;
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    UPP_CLEANUP(wrt_runtime_closep) struct wrt_runtime *rt = NULL, *second = NULL;
    TRY(parse(&c, err));
    TRY(wrt_runtime_open(weft_loop_current(), c, &l->at, &rt, err));
    FAIL_UNLESS(wrt_runtime_open(weft_loop_current(), c, &l->at, &second, err) == -UPP_EBUSY);
    return 0;
}

TEST(runtime_has_one_owner)
{
    struct life l = {.at = {.driver = &ws_sqlite_driver}};
    struct upp_err err = {0};
    (void)snprintf(l.at.path, sizeof l.at.path, "%s/weft.db", test_folder());
    CHECK_INT(test_on_loop(live_twice, &l, &err), 0);
}
