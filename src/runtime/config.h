/* runtime/config.h — weft.yaml, read and checked whole.
 *
 *     struct wc_report report = {0};
 *     r = wc_config_load("weft.yaml", NULL, &report, &config, &err);
 *     for (size_t i = 0; i < report.n; i++)
 *         ...                                          // every mistake and warning, with its line
 *     wc_report_done(&report);
 *
 * A configuration with a mistake is rejected as a whole. It is immutable data; its agents and tools have the engine's
 * types (weft/execution.h). `${NAME}` in a scalar is replaced by an environment variable after parsing; messages never
 * contain such a value.
 *
 * It blocks (it reads files): call it on a worker thread, not on a loop.
 */
#pragma once

#include <upp/http.h>
#include <upp/schema.h>
#include <weft/middleware.h>

#include "agent/provider.h"
#include "envelope/exchange.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/ip.h"
#include "base/log.h"
#include "base/secret.h"

enum {
    WC_MAX_LOOPS = 64,
    WC_MAX_NAMED = 1024, /* models, tools, agents: of each */
    WC_MAX_MISTAKES = 100,
    WC_MAX_CHAIN = 8,       /* length of a chain of sub-agents */
    WC_MAX_AFTER = 64,      /* tools in `after` of one tool */
    WC_MAX_MIDDLEWARE = 64, /* middleware of an agent, and rules of a guardrail */
    WC_MAX_ALLOWED = 256,   /* hosts, origins, trusted proxies: of each */
};

struct wc_mistake {
    uint32_t line, column; /* from 1 */
    bool warning;          /* the configuration can still be used */
    struct upp_str text;
};

/* In the order of the file. Begins all zero. */
struct wc_report {
    struct wb_arena arena;
    struct wc_mistake *list;
    size_t n, errors; /* errors: all that are not warnings, also those left out */
    size_t left_out;  /* beyond WC_MAX_MISTAKES */
};
void wc_report_done(struct wc_report *r);

struct wc_model {
    struct upp_str name, provider;
    struct upp_str script;   /* path; empty: it echoes */
    struct upp_str params;   /* JSON object; empty: none */
    struct upp_model *model; /* with its retry strategy. NULL if it is scripted and opts.no_files */
};

/* Another name of an agent, for clients. */
struct wc_alias {
    struct upp_str name; /* with '*' for any text */
    struct upp_str agent;
};

struct wc_tool {
    struct wa_provider provider; /* of this one tool */
    struct wr_tool tool;
    struct wa_command *command; /* NULL: the client runs it */
    struct upp_schema *schema;  /* of its arguments; NULL: none in the file */

    const struct wc_node *after_at; /* while the file is read */
};

enum wc_strategy { WC_LOOP = 0, WC_REACT, WC_PLAN };

enum wc_middleware_kind { WC_LOGGING = 0, WC_GUARDRAILS, WC_MEMORY, WC_BUDGET };

struct wc_middleware {
    uint8_t kind; /* enum wc_middleware_kind */
    union {
        struct weft_logging_opts logging;
        struct weft_guardrails_opts guardrails;
        struct weft_memory_opts memory;
        struct weft_budget budget;
    };
};

struct wc_agent {
    struct wr_agent_def def; /* .id is empty if the file has none */
    struct wr_card card;     /* def.card */
    uint8_t kind;            /* enum wc_strategy: selects the options */
    struct weft_strategy_loop_opts loop;
    struct weft_strategy_react_opts react;
    struct weft_strategy_plan_opts plan;
    struct weft_strategy strategy; /* def.strategy; execute is NULL without opts.makers */
    struct weft_rights rights;     /* def.rights points here if the file sets any */
    struct wr_handoff *handoffs;   /* those of def ... */
    struct wr_tool *handing_tools; /* ... and the tool of each, among def.tools */
    struct wc_middleware *middleware;
    size_t n_middleware;
    const struct wr_middleware *chain; /* made of them: def.middleware */
    const struct wc_model *model;      /* NULL: the caller's */
    bool wrong_model;                  /* the file names an unknown one */
    struct wc_model remote;            /* of an agent behind another server: `model` points here */
    struct wa_provider **providers;    /* of the program: their tools come when they are listed */
    size_t n_providers;
    uint32_t line;
};

struct wc_makers;

/* An environment variable that the file names, or that has the key of a provider. */
struct wc_value {
    struct upp_str name;
    struct wb_hidden *hidden; /* NULL: too short to be a secret */
    struct wb_secret *value;  /* for the next configuration: the variable itself is gone; NULL: it has no name */
    bool from_file;           /* of .env, which the next configuration reads again */
};

/* What browsers, proxies and TLS need of the server (section `server`). */
struct wc_server {
    const char *certificate, *key; /* of tls: PEM files; NULL: plain HTTP */
    const char **hosts, **origins; /* each ends with NULL; NULL: none */
    struct wb_network *proxies;    /* trusted_proxies */
    size_t n_proxies;
};

/* Envelopes between agents (sections `routes`, `envelopes`, `adapters`). */
struct wc_envelopes {
    struct we_routes routes; /* those of the file, or the default ones; they may be none */
    struct we_limits limits;
    struct we_adapters adapters; /* those of the file, then the built-in ones that it does not replace */
    struct wc_score {
        struct upp_str agent;
        double score;
    } * scores; /* of agents whose model states none */
    size_t n_scores;
    uint64_t announced_tokens; /* max_tokens of the handshake */
    struct weft_budget budget; /* of an exchange */
};

struct wc_config {
    struct wb_arena arena;
    struct upp_str file, folder;   /* as given; where its paths begin */
    struct upp_str host;           /* of server.listen: an address or a name, without brackets */
    uint16_t port;                 /* 0: a free one */
    uint32_t loops;                /* of the server; 0: by the processors (runtime.h) */
    uint32_t ai_sdk;               /* major version of its clients; 0: the default of the dialect ui */
    const struct ws_driver *store; /* the kind of store */
    struct upp_str store_path;     /* its file, if it has one */
    uint32_t store_cache_mb;       /* SQLite: MiB of its page cache; 0: the default of the store */
    struct upp_str key_file;       /* of encryption: the file with the master key; empty: none */
    uint8_t index;                 /* enum wl_index: of `search` */
    uint8_t durability;            /* enum wm_durability */
    uint8_t on_busy;               /* enum wr_busy */
    bool no_instructions;          /* requests may not set a run's system prompt */
    bool heartbeats;               /* silent streams get messages of their dialect instead of comments, if it has any */
    uint64_t ping_ms;              /* how long a stream may be silent; 0: the server's default */
    struct wc_server server;
    struct wc_retention {
        uint32_t tapes_days;    /* how long tapes and journals outlive their run; 0: 30 */
        uint32_t audit_days;    /* how long the audit has its rows, and says that a thread was deleted; 0: 365 */
        uint32_t usage_days;    /* how long the usage of a day is known; 0: 400 */
        uint32_t deleted_days;  /* before deleted data is erased; 0: 7 */
        uint32_t every_seconds; /* between sweeps; 0: 600 */
    } retention;
    struct wc_waits {
        uint64_t tool_ms, approval_ms; /* how long a call may wait for its answer; 0: the engine's defaults */
        uint64_t provider_ms;          /* and a queued run for a model that cannot be reached */
    } waits;
    struct wc_webhook {
        struct upp_str url;    /* empty: none */
        struct upp_str secret; /* as in the file: wc_webhook_key */
    } on_end, on_wait;
    struct wc_telemetry {
        struct upp_str otlp; /* base URL of the collector, without a slash at its end; empty: none */
        struct upp_header *headers;
        size_t n_headers;
    } telemetry;
    enum wb_log_level log_level;
    enum wb_log_format log_format;
    bool has_log_level; /* the file has a log level */
    bool no_access_log;
    bool open_metrics; /* /metrics needs no key */
    struct wc_agent *default_agent;
    struct wc_alias *aliases;
    size_t n_aliases;

    struct wc_model *models;
    struct wc_tool *tools;
    struct wc_agent *agents;
    size_t n_models, n_tools, n_agents;
    struct wb_secret **secrets;
    size_t n_secrets;
    struct wc_value *values; /* of variables: masked as long as the configuration lives (base/mask.h) */
    size_t n_values;

    struct wc_envelopes envelopes;

    struct upp_schema *handing;     /* of the arguments of handoffs; NULL: none */
    const struct wc_makers *makers; /* those of the options */
    struct wa_provider *const *providers;
    size_t n_providers;
};

/* The key of a webhook's signatures: the bytes of its secret, or what follows "whsec_" in base64. */
#define WC_WEBHOOK_PREFIX "whsec_"
int wc_webhook_key(struct upp_str secret, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Constructors of what a file names. To name a strategy or middleware without a function here is a mistake. */
struct wc_makers {
    struct weft_strategy (*loop)(const struct weft_strategy_loop_opts *opts);
    struct weft_strategy (*react)(const struct weft_strategy_react_opts *opts);
    struct weft_strategy (*plan)(const struct weft_strategy_plan_opts *opts);

    struct weft_middleware (*logging)(const struct weft_logging_opts *opts);
    struct weft_middleware (*guardrails)(const struct weft_guardrails_opts *opts);
    struct weft_middleware (*memory)(const struct weft_memory_opts *opts);
    struct weft_middleware (*budget)(const struct weft_budget *limits);

    /* An agent's list of middleware as the engine takes it. */
    int (*middleware)(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                      const struct wr_middleware **ret, struct upp_err *err);
    void (*middleware_free)(const struct wr_middleware *middleware);
};

/* All that is built: runtime/config_middleware.c. */
extern const struct wc_makers wc_makers;

struct wc_opts {
    uint32_t size;

    /* Reads an environment variable; NULL: getenv. The result must stay valid during the call. */
    const char *(*env)(void *arg, const char *name);
    void *arg;

    /* NULL: strategies and middleware are only checked. */
    const struct wc_makers *makers;

    /* The configuration that this one is to replace: variables that it has read are taken from it. NULL: none. */
    const struct wc_config *previous;

    /* Tool providers of the program, by whose names agents may have their tools. They must outlive the configuration,
     * and the runtime that follows them. */
    struct wa_provider *const *providers;
    size_t n_providers;

    bool no_files; /* only checks the text: creates no models, looks for no programs */

    /* For a program that needs the store and runs no agents: mistakes in other sections, such as a variable that is not
     * set, are warnings. If there is one, the configuration has no agents. */
    bool only_store;

    const char *reaper; /* of command tools (agent/tool/command.h) */
};

/* 0; -UPP_EINVALID: there are mistakes, err has the first with "FILE:LINE:COLUMN" in where; -UPP_ENOTFOUND ...: the
 * file cannot be read. report and opts may be NULL. A file .env in the same folder stands in for variables that the
 * environment lacks; a mistake in it is an error without a report. */
int wc_config_load(const char *path, const struct wc_opts *opts, struct wc_report *report, struct wc_config **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* The JSON Schema of the file, appended to out. */
int wc_config_schema(struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a text that stands in for the file; no .env is read. */
int wc_config_parse(const char *path, struct upp_str text, const struct wc_opts *opts, struct wc_report *report,
                    struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A configuration of nothing but the built-in adapters, for programs without a file. */
int wc_config_bare(struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

void wc_config_free(struct wc_config *c); /* accepts NULL; nothing of it may be in use */
WB_DEFINE_CLEANUP(struct wc_config, wc_config_free)

/* Removes the variables of the configuration from this process's environment and overwrites them, so that neither child
 * processes nor /proc have them. Keeps those that the system and its libraries need (PATH, HOME, proxies ...). For a
 * program that owns its environment, before it starts a thread. */
void wc_config_wipe_environment(const struct wc_config *c);

/* By name; NULL: none. Empty: the default agent. */
struct wc_agent *wc_config_agent(const struct wc_config *c, struct upp_str name);

/* The name of an agent's model for adapters and reflections: the vendor's; of a scripted model and of an agent behind
 * another server, that of the configuration. NULL text: it has no model of its own. */
struct upp_str wc_agent_model(const struct wc_agent *a);

/* The score of an agent whose model states none. */
double wc_agent_score(const struct wc_config *c, struct upp_str agent);
