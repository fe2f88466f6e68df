/* runtime/config.h — weft.yaml, read and checked whole.
 *
 *     struct wc_report report = {0};
 *     r = wc_config_load("weft.yaml", NULL, &report, &config, &err);
 *     for (size_t i = 0; i < report.n; i++)
 *         ...                                          // every mistake and warning, with its line
 *     wc_report_done(&report);
 *
 * A configuration with a mistake is not used: either all of it is right, or there is none. It is plain data, never
 * changed once made; agents and tools are what the engine takes (weft/execution.h). `${NAME}` in a scalar is the value
 * of an environment variable, put in after parsing; such a value is in no message.
 *
 * Blocks (it reads files): on a loop it belongs on a worker thread.
 */
#ifndef WC_CONFIG_H
#define WC_CONFIG_H

#include <upp/schema.h>
#include <weft/middleware.h>

#include "run/def.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/secret.h"

enum {
    WC_MAX_NAMED    = 1024, /* models, tools, agents: of each */
    WC_MAX_MISTAKES = 100,
    WC_MAX_CHAIN    = 8,  /* agents below each other */
    WC_MAX_AFTER    = 64, /* tools that come before one */
    WC_MAX_AROUND   = 64, /* middleware of an agent, and rules of a guardrail */
};

/* ---- Mistakes --------------------------------------------------------------------------------------------- */

struct wc_mistake {
    uint32_t       line, column; /* from 1 */
    bool           warning;      /* the configuration can be used all the same */
    struct upp_str text;
};

/* In the order of the file as far as they were found. Begins all zero. */
struct wc_report {
    struct wb_arena    arena;
    struct wc_mistake *list;
    size_t             n, errors; /* errors: those that are no warnings, and those for which there was no room */
    size_t             left_out;  /* beyond WC_MAX_MISTAKES */
};
void wc_report_done(struct wc_report *r);

/* ---- The configuration ------------------------------------------------------------------------------------- */

enum wc_store { WC_STORE_MEMORY = 1, WC_STORE_SQLITE };

struct wc_model {
    struct upp_str    name, provider;
    struct upp_str    script; /* path; no text: it echoes */
    struct upp_str    params; /* JSON object; no text: none */
    struct upp_model *model;  /* with its way of trying again. NULL where it is scripted and opts.no_files */
};

struct wc_tool {
    struct wr_tool     tool;
    struct wa_command *command; /* NULL: the client runs it */
    struct upp_schema *schema;  /* of its arguments; NULL: the file has none */

    const struct wc_node *after_at; /* while the file is read */
};

enum wc_strategy { WC_LOOP = 0, WC_REACT, WC_PLAN };

enum wc_middleware_kind { WC_LOGGING = 0, WC_GUARDRAILS, WC_MEMORY, WC_BUDGET };

struct wc_middleware {
    uint8_t kind; /* enum wc_middleware_kind */
    union {
        struct weft_logging_opts    logging;
        struct weft_guardrails_opts guardrails;
        struct weft_memory_opts     memory;
        struct weft_budget          budget;
    };
};

struct wc_agent {
    struct wr_agent_def             def; /* .id is no text where the file has none */
    struct upp_str                  description;
    uint8_t                         kind; /* enum wc_strategy: whose options count */
    struct weft_strategy_loop_opts  loop;
    struct weft_strategy_react_opts react;
    struct weft_strategy_plan_opts  plan;
    struct weft_strategy            strategy;      /* def.strategy points here; execute is NULL without opts.makers */
    struct weft_rights              rights;        /* def.rights points here where the file says something */
    struct wr_handoff              *handoffs;      /* those of def ... */
    struct wr_tool                 *handing_tools; /* ... and the tool of each, among def.tools */
    struct wc_middleware           *middleware;
    size_t                          n_middleware;
    const struct wr_around         *around;      /* made of them: that of def */
    const struct wc_model          *model;       /* NULL: that of whoever asks it */
    bool                            wrong_model; /* the file names one that is not there */
    uint32_t                        line;
};

struct wc_makers;

/* A variable of the environment that the file names, or that a provider takes its key from. */
struct wc_value {
    struct upp_str    name;
    struct wb_hidden *hidden; /* NULL: too short to be a secret */
};

struct wc_config {
    struct wb_arena arena;
    struct upp_str  file, folder; /* as given; where its paths begin */
    struct upp_str  host;         /* of server.listen: an address or a name, without brackets */
    uint16_t        port;         /* 0: a free one */
    uint8_t         store;        /* enum wc_store */
    struct upp_str  store_path;   /* SQLite: the file */
    struct upp_str  key_file;     /* of encryption: the file with the master key; no text: none */
    uint8_t         index;        /* enum wl_index: of `search` */
    uint8_t         durability;   /* enum wm_durability */
    uint8_t         on_busy;      /* enum wr_busy */
    bool            no_instructions; /* requests may not say what a run's system prompt is */
    struct wc_retention {
        uint32_t tapes_days;    /* tapes and journals outlive their run; 0: 30 */
        uint32_t deleted_days;  /* what was deleted waits; 0: 7 */
        uint32_t every_seconds; /* a sweep; 0: 600 */
    } retention;
    enum wb_log_level  log_level;
    enum wb_log_format log_format;
    bool               log_said; /* the file has a log level */
    struct wc_agent   *default_agent;

    struct wc_model   *models;
    struct wc_tool    *tools;
    struct wc_agent   *agents;
    size_t             n_models, n_tools, n_agents;
    struct wb_secret **secrets;
    size_t             n_secrets;
    struct wc_value   *values; /* of variables: hidden as long as the configuration lives (base/mask.h) */
    size_t             n_values;

    struct upp_schema      *handing; /* of the arguments of handoffs; NULL: there are none */
    const struct wc_makers *makers;  /* those of the options */
};

/* How what a file names is made. A strategy or a middleware that has no function here is not built: to name it is a
 * mistake. */
struct wc_makers {
    struct weft_strategy (*loop)(const struct weft_strategy_loop_opts *opts);
    struct weft_strategy (*react)(const struct weft_strategy_react_opts *opts);
    struct weft_strategy (*plan)(const struct weft_strategy_plan_opts *opts);

    struct weft_middleware (*logging)(const struct weft_logging_opts *opts);
    struct weft_middleware (*guardrails)(const struct weft_guardrails_opts *opts);
    struct weft_middleware (*memory)(const struct weft_memory_opts *opts);
    struct weft_middleware (*budget)(const struct weft_budget *limits);

    /* An agent's list of middleware as the engine takes it. */
    int (*around)(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                  const struct wr_around **ret, struct upp_err *err);
    void (*around_free)(const struct wr_around *around);
};

/* All that is built: runtime/config_makers.c. */
extern const struct wc_makers wc_makers;

struct wc_opts {
    uint32_t size;

    /* A variable of the environment; NULL: getenv. What it returns must stay until the call is over. */
    const char *(*env)(void *arg, const char *name);
    void *arg;

    /* NULL: strategies and middleware are read and checked, and nothing is made of them. */
    const struct wc_makers *makers;

    bool no_files; /* nothing but the text is looked at: models are not made, programs not looked for */

    const char *reaper; /* of command tools (agent/tool/command.h) */
};

/* 0; -UPP_EINVALID: there are mistakes, err has the first with "FILE:LINE:COLUMN" in where; -UPP_ENOTFOUND ...: the
 * file cannot be read. report and opts may be NULL. */
int wc_config_load(const char *path, const struct wc_opts *opts, struct wc_report *report, struct wc_config **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* The same for a text that stands in for the file. */
int wc_config_parse(const char *path, struct upp_str text, const struct wc_opts *opts, struct wc_report *report,
                    struct wc_config **ret, struct upp_err *err) UPP_MUST_CHECK;

void wc_config_free(struct wc_config *c); /* NULL is fine; nothing of it is in use */
WB_DEFINE_CLEANUP(struct wc_config, wc_config_free)

/* The variables that the configuration was made of leave this process's environment: their bytes are overwritten, so
 * that neither a program it starts nor /proc has them. Not those that the system and its libraries want (PATH, HOME,
 * proxies ...). For a program that owns its environment, before it starts a thread. */
void wc_config_wipe_environment(const struct wc_config *c);

/* By name; NULL: there is none. No text: the default agent. */
struct wc_agent *wc_config_agent(const struct wc_config *c, struct upp_str name);

#endif
