#include "runtime/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/provider.h>

#include "agent/tool/command.h"
#include "base/file.h"
#include "model/run.h"
#include "run/engine.h"
#include "stores/driver.h"
#include "support/faults.h"
#include "support/fibers.h"
#include "support/paths.h"

static const char *no_variables(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "KEY") == 0 ? "s3cret" : strcmp(name, "PORT") == 0 ? "4711" : NULL;
}

static struct weft_strategy loop(const struct weft_strategy_loop_opts *opts)
{
    return (struct weft_strategy){.name = "loop", .opts = opts};
}

static const struct wc_makers makers = {.loop = loop};

static const struct wc_opts opts = {.size = sizeof opts, .env = no_variables, .makers = &makers, .reaper = test_reaper};

static int parse(const char *text, struct wc_config **ret, struct upp_err *err)
{
    return wc_config_parse("/etc/weft/weft.yaml", wb_cstr(text), &opts, NULL, ret, err);
}

UPP_PRINTF(1, 2)
static struct upp_str written(const char *fmt, ...)
{
    static char text[1000];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return wb_str(text, (size_t)n);
}

static const char whole[] =
    "server:\n"
    "  {listen: '[::1]:${PORT}', instructions: false, ai_sdk: 7, metrics: open, tls: {certificate: /dev/zero, key: "
    "/dev/null},\n"
    "   hosts: [weft.example.org], origins: ['https://a.example', 'http://b:3000'], trusted_proxies: [10.0.0.0/8]}\n"
    "store: sqlite:data/weft.db\n"
    "store_cache_mb: 64\n"
    "search: off\n"
    "durability: group\n"
    "on_busy: enqueue\n"
    "retention: {tapes_days: 3, deleted_days: 1, every_seconds: 5}\n"
    "log: {level: debug, format: json, access: false}\n"
    "telemetry: {otlp: 'https://c.example/otlp/', content: false, headers: {x-key: '${PORT}', y: z}}\n"
    "default_agent: two\n"
    "models:\n"
    "  e: {provider: scripted, echo: true, params: {temperature: 0.5, n: 10, x: '1', y: [~, true]},\n"
    "      retry: {strategy: exponential, max_attempts: 5, base_delay_ms: 250}}\n"
    "tools:\n"
    "  sum:\n"
    "    description: &text Adds\n"
    "    parameters: {type: object, properties: {a: {type: integer}}}\n"
    "    command: [/bin/cat, '', \"a b\", '${KEY}']\n"
    "    delivery: idempotent\n"
    "    approval: always\n"
    "    limits: {seconds: 7, memory_mb: 64, output_kb: 8}\n"
    "    env: {TOKEN: 'Bearer ${KEY}', PLAIN: '$${KEY}'}\n"
    "  pick_date:\n"
    "    parameters: {type: object}\n"
    "  bare:\n"
    "agents:\n"
    "  one: {id: 5F0C8C1E-6a4e-4f0e-9d0c-0b8f6f6a1c11, model: e, system: *text, tools: [sum, two]}\n"
    "  two: {model: e, strategy: {loop: {max_iterations: 3}}, tools: [pick_date, bare]}\n";

/* Each strategy with its numbers, and with those that it has where the file says none. */
TEST(config_retry_has_all_numbers)
{
    static const struct {
        const char *retry;
        uint64_t said, first, second; /* what the server says; the delays, 0: it is not tried again */
    } cases[] = {
        {"{strategy: linear}", 0, 1000, 2000},
        {"{strategy: linear, base_delay_ms: 20, max_attempts: 1}", 0, 20, 0},
        {"{strategy: linear, retry_after_max_ms: 7000}", 9000, 7000, 7000},
        {"{strategy: retry_after}", 0, 5000, 5000},
        {"{strategy: retry_after, base_delay_ms: 30}", 0, 30, 30},
        {"{strategy: retry_after}", 9000000, 3600000, 3600000},
        {"{strategy: retry_after, retry_after_max_ms: 86400000}", 9000000, 9000000, 9000000},
        {"{strategy: token_bucket}", 0, 2000, 2000},
        {"{strategy: token_bucket, refill_per_second: 0.5}", 0, 4000, 4000},
        {"{strategy: none}", 0, 0, 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err, limited = {.code = UPP_ERATE, .retry_after_ms = cases[i].said};
        uint64_t first = 0, second = 0;
        char text[300];
        (void)snprintf(text, sizeof text,
                       "models: {e: {provider: scripted, echo: true, retry: %s}}\nagents: {a: {model: e}}\n",
                       cases[i].retry);
        int r = parse(text, &c, &err);
        test_note("%s: %s", cases[i].retry, r < 0 ? err.msg : "");
        CHECK_INT(r, 0);
        struct upp_retry *retry = c->models[0].model->retry;
        CHECK_INT(upp_retry_failed(retry, &limited, 1, &first), cases[i].first != 0);
        CHECK_INT(upp_retry_failed(retry, &limited, 2, &second), cases[i].second != 0);
        CHECK(first == cases[i].first && second == cases[i].second);
    }
}

TEST(config_bucket_has_its_tokens)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    int r = parse("models: {e: {provider: scripted, echo: true, retry: {strategy: token_bucket, max_tokens: 2,\n"
                  "  refill_per_second: 0.001}}}\nagents: {a: {model: e}}\n",
                  &c, &err);
    CHECK_INT(r, 0);
    struct upp_retry *retry = c->models[0].model->retry;
    CHECK(upp_retry_before(retry) == 0 && upp_retry_before(retry) == 0);
    uint64_t ms = upp_retry_before(retry);
    CHECK(ms > 0 && ms <= 1000000);
}

/* A model of a vendor cuts what its answers say to the same. */
TEST(config_retry_after_max_reaches_the_provider)
{
    static const struct faults_step slow[] = {
        {.act = FAULTS_SEND,
         .bytes = UPP_STR_INIT("HTTP/1.1 429 Slow\r\nRetry-After: 7200\r\nContent-Length: 0\r\n\r\n")}};
    FAULTS_SERVER(s, FAULTS_REPLY(slow));
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hello")};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    const struct upp_request q = {.messages = list, .n_messages = 1, .attempt = 1};
    struct upp_err err = {0};
    char text[300];
    (void)snprintf(text, sizeof text,
                   "models: {e: {provider: ollama, model: m, base_url: '%s', retry: {retry_after_max_ms: 86400000}}}\n"
                   "agents: {a: {model: e}}\n",
                   faults_url(s, ""));
    CHECK_INT(parse(text, &c, &err), 0);
    CHECK_INT(upp_step_open(c->models[0].model, &q, NULL, &step, &err), -UPP_ERATE);
    CHECK_INT(err.retry_after_ms, 7200000);
}

TEST(config_has_what_the_file_says)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    int r = parse(whole, &c, &err);
    ALWAYS((r == 0) == (c != NULL));
    test_note("%s: %s", r < 0 ? err.where : "", r < 0 ? err.msg : "");
    CHECK_INT(r, 0);
    CHECK_STR(c->folder, UPP_STR("/etc/weft"));
    CHECK_STR(c->host, UPP_STR("::1"));
    CHECK(c->port == 4711 && c->store == &ws_sqlite_driver && c->durability == WM_GROUP && c->on_busy == WR_ENQUEUE);
    CHECK(c->no_instructions && c->ai_sdk == 7 && c->open_metrics && c->no_access_log);
    CHECK(strcmp(c->server.key, "/dev/null") == 0 && strcmp(c->server.certificate, "/dev/zero") == 0);
    CHECK(strcmp(c->server.hosts[0], "weft.example.org") == 0 && !c->server.hosts[1]);
    CHECK(strcmp(c->server.origins[1], "http://b:3000") == 0 && !c->server.origins[2]);
    CHECK(c->server.n_proxies == 1 && c->server.proxies[0].bits == 96 + 8);
    CHECK_STR(c->telemetry.otlp, UPP_STR("https://c.example/otlp"));
    CHECK_INT(c->telemetry.n_headers, 2);
    CHECK_STR(c->telemetry.headers[0].name, UPP_STR("x-key"));
    CHECK_STR(c->telemetry.headers[0].value, UPP_STR("4711"));
    CHECK_STR(c->telemetry.headers[1].value, UPP_STR("z"));
    CHECK_INT(c->index, WL_INDEX_OFF);
    CHECK_INT(c->store_cache_mb, 64);
    CHECK(c->retention.tapes_days == 3 && c->retention.deleted_days == 1 && c->retention.every_seconds == 5);
    CHECK_STR(c->store_path, UPP_STR("/etc/weft/data/weft.db"));
    CHECK(c->log_level == WB_DEBUG && c->log_format == WB_LOG_JSON && c->has_log_level);
    CHECK(c->n_models == 1 && c->n_tools == 3 && c->n_agents == 2 && c->default_agent == &c->agents[1]);
    struct upp_err limited = {.code = UPP_ERATE};
    uint64_t ms = 0;
    CHECK(c->models[0].model && upp_retry_failed(c->models[0].model->retry, &limited, 5, &ms) == 1 && ms >= 2000);
    CHECK_INT(upp_retry_failed(c->models[0].model->retry, &limited, 6, &ms), 0);
    CHECK_STR(c->models[0].params, UPP_STR("{\"temperature\":0.5,\"n\":10,\"x\":\"1\",\"y\":[null,true]}"));

    const struct wr_tool *sum = &c->tools[0].tool;
    CHECK(sum->kind == WR_TOOL_FUNCTION && sum->delivery == WEFT_IDEMPOTENT && sum->approval);
    CHECK(sum->base.run == wa_command_call && sum->base.arg == c->tools[0].command && sum->timeout_ms == 27000);
    CHECK_STR(sum->spec.parameters, UPP_STR("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}"));
    CHECK(c->tools[1].tool.kind == WR_TOOL_CLIENT && c->tools[2].tool.kind == WR_TOOL_CLIENT);
    CHECK_STR(c->tools[2].tool.spec.parameters, UPP_STR("{\"type\":\"object\",\"properties\":{}}"));

    const struct wr_agent_def *one = &c->agents[0].def, *two = &c->agents[1].def;
    CHECK_STR(one->id, UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"));
    CHECK_STR(one->system, UPP_STR("Adds"));
    CHECK(one->n_tools == 2 && one->tools[0].base.run == wa_command_call && one->tools[1].kind == WR_TOOL_AGENT);
    CHECK_STR(one->tools[1].agent, UPP_STR("two"));
    CHECK(one->model == c->models[0].model && one->params.n);
    CHECK(!two->id.p && two->n_tools == 2 && two->strategy->opts == &c->agents[1].loop);
    CHECK(c->agents[1].loop.max_iterations == 3 && c->agents[0].loop.max_iterations == 0);
    CHECK(wc_config_agent(c, UPP_STR("one")) == &c->agents[0] && wc_config_agent(c, UPP_STR("")) == &c->agents[1]);
    CHECK(!wc_config_agent(c, UPP_STR("three")) && c->n_secrets == 3);
}

TEST(config_has_defaults)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse("models: {e: {provider: scripted, echo: true}}\nagents: {a: {model: e}}\n", &c, &err), 0);
    CHECK_STR(c->host, UPP_STR("127.0.0.1"));
    CHECK(c->port == 8787 && c->store == &ws_sqlite_driver && c->durability == WM_SYNC && c->on_busy == WR_REJECT);
    CHECK(wb_str_ends(c->store_path, UPP_STR("/weft.db")));
    CHECK(!c->no_instructions && !c->ai_sdk && !c->open_metrics && !c->no_access_log && !c->waits.tool_ms &&
          !c->waits.approval_ms);
    CHECK(!c->telemetry.otlp.n && !c->telemetry.n_headers);
    CHECK(!c->server.certificate && !c->server.hosts && !c->server.origins && !c->server.n_proxies);
    CHECK(c->log_level == WB_INFO && c->log_format == WB_LOG_TEXT && !c->has_log_level);
    CHECK(c->default_agent == &c->agents[0] && c->agents[0].def.n_tools == 0);
}

TEST_WITH(config_waits_are_durations, .no_torture = "config_has_what_the_file_says is tortured")
{
    static const struct {
        const char *text;
        uint64_t ms;
    } rows[] = {{"1s", 1000}, {"90s", 90000}, {"30m", 1800000}, {"24h", 86400000}, {"7d", 604800000}};
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err;
        struct upp_str text =
            written("models: {e: {provider: scripted, echo: true}}\nagents: {a: {model: e}}\nwaits: {approval: %s}\n",
                    rows[i].text);
        test_note("%s", rows[i].text);
        CHECK_INT(wc_config_parse("x.yaml", text, &opts, NULL, &c, &err), 0);
        CHECK(c->waits.approval_ms == rows[i].ms && !c->waits.tool_ms);
    }
}

TEST_WITH(config_may_be_json, .no_torture = "config_has_what_the_file_says is tortured")
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse("{\n\t\"models\": {\"e\": {\"provider\": \"scripted\", \"echo\": true}},\n"
                    "\t\"agents\": {\"a\": {\"model\": \"e\", \"system\": \"caf\\u00e9\\n\\\"x\\\"\"}}\n}\n",
                    &c, &err),
              0);
    CHECK_STR(c->agents[0].def.system, UPP_STR("caf\xc3\xa9\n\"x\""));
}

TEST_WITH(config_store_is_written_in_several_ways, .no_torture = "config_has_what_the_file_says is tortured")
{
    static const char *const stores[] = {"'memory:'", "memory", "\"memory:\""};
    for (size_t i = 0; i < WB_LEN(stores); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err;
        struct upp_str text =
            written("models: {e: {provider: scripted, echo: true}}\nagents: {a: {model: e}}\nstore: %s\n", stores[i]);
        test_note("%s", stores[i]);
        CHECK_INT(wc_config_parse("x.yaml", text, &opts, NULL, &c, &err), 0);
        CHECK(c->store == &ws_memory_driver && !c->store_path.n);
    }
}

/* Where the file lies decides about paths; the demo is one. */
TEST(config_of_the_demo_is_right)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wc_report_done) struct wc_report report = {0};
    struct upp_err err;
    char path[1000];
    struct wc_opts all = opts;
    all.makers = &wc_makers;
    (void)snprintf(path, sizeof path, "%s", test_source("../demo/weft.yaml"));
    CHECK_INT(wc_config_load(path, &all, &report, &c, &err), 0);
    CHECK_INT(report.n, 0);
    CHECK_STR(c->default_agent->def.name, UPP_STR("weather"));
    CHECK(c->default_agent->def.model && c->default_agent->def.tools[0].base.arg);
}

/* Outside of the store's sections, mistakes are warnings, and there are no agents; inside they are mistakes. */
TEST(config_for_the_store_alone)
{
    static const char rest[] = "server: {listen: nowhere}\n"
                               "webhooks: {on_end: {url: 'https://x', secret: '${UNSET}'}}\n"
                               "models: {e: {provider: scripted, echo: true, api_key: '${UNSET}'}}\n"
                               "agents: {one: {model: e}, two: {model: none}}\n";
    static const struct {
        const char *text;
        int r;
        size_t agents;
    } cases[] = {
        {"store: sqlite:x.db\nsearch: words\n", 0, 0},
        {"store: sqlite:x.db\n%s", 0, 0},
        {"store: sqlite:x.db\nmodels: {e: {provider: scripted, echo: true}}\nagents: {one: {model: e}}\n", 0, 1},
        {"store: sqlite:${UNSET}\n%s", -UPP_EINVALID, 0},
        {"store: sqlite:x.db\nsearch: maybe\n%s", -UPP_EINVALID, 0},
        {"store: sqlite:x.db\nencryption: {key_file: '${UNSET}'}\n%s", -UPP_EINVALID, 0},
        {"store: sqlite:x.db\nstore: memory\n%s", -UPP_EINVALID, 0},
        {"stroe: sqlite:x.db\n%s", -UPP_EINVALID, 0},
        {"store: sqlite:x.db\n: : [\n", -UPP_EINVALID, 0},
    };
    struct wc_opts only = opts;
    only.no_files = only.only_store = true;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        WB_CLEANUP(wc_report_done) struct wc_report report = {0};
        struct upp_err err = {0};
        char text[800];
        const char *at = strstr(cases[i].text, "%s");
        (void)snprintf(text, sizeof text, "%.*s%s", (int)(at ? at - cases[i].text : (long)strlen(cases[i].text)),
                       cases[i].text, at ? rest : "");
        int r = wc_config_parse("weft.yaml", wb_cstr(text), &only, &report, &c, &err);
        CHECK_INT(r, cases[i].r);
        if (r >= 0) {
            CHECK_INT(report.errors, 0);
            CHECK_INT(c->n_agents, cases[i].agents);
            CHECK(!c->default_agent == !cases[i].agents);
        }
    }
}

TEST(config_files_of_tls_are_there)
{
    static const struct {
        const char *tls, *mistake; /* NULL: none */
    } cases[] = {
        {"{certificate: /dev/zero, key: /dev/null}", NULL},
        {"{certificate: c.pem, key: /dev/null}", "there is no file '/etc/weft/c.pem'"},
        {"{certificate: /dev/zero, key: '/etc/${KEY}'}", "there is no file '/etc/${KEY}'"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err = {0};
        struct upp_str text =
            written("models: {e: {provider: scripted, echo: true}}\nagents: {one: {model: e}}\nserver: {tls: %s}\n",
                    cases[i].tls);
        CHECK_INT(parse(text.p, &c, &err), cases[i].mistake ? -UPP_EINVALID : 0);
        if (cases[i].mistake)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].mistake));
    }
}

TEST(config_that_is_not_there)
{
    struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(wc_config_load("/nonexistent/weft.yaml", &opts, NULL, &c, &err), -UPP_ENOTFOUND);
    CHECK(!c && strstr(err.where, "/nonexistent/weft.yaml"));
}

/* ---- What a tool of the file really gets ---- */

struct call {
    const struct wa_command *command;
    struct wa_command_end end;
};

WEFT_SUSPENDS static int run_tool(void *arg, struct upp_err *err)
{
    struct call *c = arg;
    return wa_command_run(c->command, UPP_STR("{}"), UPP_STR("k"), &c->end, err);
}

TEST_WITH(config_tools_run_with_what_it_says, .no_torture = "the command tests are tortured")
{
    static const char text[] = "models: {e: {provider: scripted, echo: true}}\n"
                               "agents: {a: {model: e}}\n"
                               "tools:\n"
                               "  map: {command: [env], env: {A: 'x ${KEY}', B: '$${KEY}', LANG: C, E: ''}}\n"
                               "  list: {command: [env], env: [KEY]}\n"
                               "  words: {command: [sh, -c, 'pwd; echo \"$1\"', '', 'a ${KEY}']}\n"
                               "  here: {command: [./passwd]}\n";
    static const char *const want[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin\nA=x s3cret\nB=${KEY}\nLANG=C\nE=\nWEFT_CALL_KEY=k\n",
        "PATH=/usr/local/bin:/usr/bin:/bin\nKEY=s3cret\nWEFT_CALL_KEY=k\n",
        "/etc\na s3cret\n",
        "",
    };
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(wc_config_parse("/etc/weft.yaml", wb_cstr(text), &opts, NULL, &c, &err), 0);
    for (size_t i = 0; i < WB_LEN(want); i++) {
        WB_CLEANUP(wa_command_end_done) struct wa_command_end end = {0};
        struct call call = {.command = c->tools[i].command};
        CHECK_INT(test_on_loop(run_tool, &call, &err), 0);
        end = call.end;
        CHECK_STR(wb_buf_str(&end.out), wb_cstr(want[i]));
        CHECK(i < 3 || wb_str_find(wb_buf_str(&end.error), UPP_STR("'/etc/passwd'"), 0) != SIZE_MAX);
    }
}
