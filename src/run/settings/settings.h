/* run/settings/settings.h — what the request that began a run has changed for this run: the options stored with it.
 *
 * Their names are those of OpenAI's Assistants API (docs/runs.md). They apply to the agent that the request named, not
 * to one to which the thread is handed over, and not to child runs, which have options of their own if the adapter of
 * their tool gives them some; sub-agents without a model of their own have that of the run. The server decides who may
 * set them. Everything here is derived from the run's row, so a recovered run has the same.
 */
#pragma once

#include <yyjson.h>

#include "run/def.h"
#include "upp/providers/settings.h"

struct wr_engine;
struct wr_run;

enum { WR_CLIENT_TOOLS = 128 }; /* of a request */

/* Options that no client sets by name. They hold for the whole subtree of the run, like rights (run/rights.c). */
#define WR_ONLY_TOOLS "weft_only_tools" /* the names of the tools that may be called */
#define WR_READONLY   "weft_readonly"   /* true: only tools that are declared pure */

struct wr_settings {
    struct wr_agent_def def;       /* the agent with them */
    const struct upp_model *model; /* NULL: none */
    struct upp_str params;         /* of the model, without them */
    struct upp_str system;
    struct upp__settings common; /* what models are told */
    uint64_t max_prompt;         /* tokens of the requests of all model calls, estimated; 0: no limit */
    uint64_t max_completion;     /* tokens of all responses; 0: no limit */
    uint64_t last_messages;      /* of the thread, the newest one included; 0: all */
    struct wr_tool *tools;       /* a copy of the agent's, and the client's */
    size_t n_own;                /* how many of those at the end are the client's: they own their schemas */
};

/* The settings of a run of `agent`, whose definition is `def`, in the arena. -UPP_EINVALID: one of them cannot be
 * honoured; err.where points to it. -UPP_ENOMODEL: its model is not defined. -UPP_ENOTFOUND: the agent is a base for
 * stored ones, and this is none: it has no model. */
int wr_settings_make(const struct wr_engine *e, const struct wr_agent_def *def, struct upp_str agent,
                     yyjson_val *options, struct wb_arena *a, struct wr_settings **ret,
                     struct upp_err *err) UPP_MUST_CHECK;
void wr_settings_done(struct wr_settings *s); /* frees the schemas; accepts NULL */

/* The options without those that a run of `agent` cannot honour; in the arena. *ret may be what came in. */
int wr_settings_trim(const struct wr_engine *e, struct upp_str agent, struct upp_str options, struct wb_arena *a,
                     struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Is it the name of a function: 1 to 64 letters, digits, _ and -? */
bool wr_is_function_name(struct upp_str s);

/* Stored options as a value; *ret NULL: there are none. */
int wr_options_read(struct wb_arena *a, struct upp_str json, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A number among them; 0: there is none. */
uint64_t wr_option_number(yyjson_val *options, const char *name);

/* The number of messages between agents, for a root whose agent has no such right of its own. */
#define WR_AGENT_MESSAGES "weft_agent_messages"

/* true: each call of the run's tree has an id that says where it is in the log (wm_id), instead of the vendor's.
 * Clients that send conversations without an id of a thread are answered by it: two conversations never have the same.
 */
#define WR_CALL_IDS "weft_call_ids"

/* Puts the settings into a request that is otherwise complete. `plain`: its response is not structured in another way.
 * *capped: the response may have as many tokens as are left to the run. 1: the run has reached max_prompt_tokens. */
int wr_settings_request(struct wr_run *run, bool plain, struct upp_request *q, bool *capped,
                        struct upp_err *err) UPP_MUST_CHECK;

/* May the model call no tools? */
bool wr_settings_no_calls(const struct wr_run *run);

/* The limit that the run has reached: a reason for its being incomplete; NULL: none. */
const char *wr_settings_limit(const struct wr_run *run);
