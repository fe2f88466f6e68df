/* server/doors/options.h — what a request may change for one run, whatever door it came through.
 *
 * The options of a run are one JSON object with the names of OpenAI's Assistants API (docs/runs.md): read and checked
 * here by one table, stored with the run, honoured by the engine (run/settings/settings.h), shown by the run object. A
 * member that is not honoured is not stored, so that no client takes it for effective.
 */
#pragma once

#include "server/http/body.h"

/* The names of all options, for the list of members that a route reads (sv_body_read). */
#define SV_OPTIONS                                                                                                     \
    "metadata", "model", "instructions", "additional_instructions", "temperature", "top_p", "max_prompt_tokens",       \
        "max_completion_tokens", "truncation_strategy", "response_format", "tool_choice", "parallel_tool_calls",       \
        "reasoning_effort", "tools", "stop", "seed", "frequency_penalty", "presence_penalty"

/* Another name that a door has for an option. It is read if the option's own name is not there. */
struct sv_alias {
    const char *option, *name; /* name NULL: the door does not have this option */
};

/* Reads the options among the members of `from`, an object in the body, for a run of `agent` (empty: no agent yet), and
 * writes them; *ret is empty if there are none. `aliases`: NULL: none; ends with a row of NULLs. An error points to the
 * member. -UPP_EREFUSED: this client may not set it. Whether the model can do what is asked is checked when the run
 * starts (sv_start_run). */
int sv_options_read(struct sv_exchange *x, const struct sv_body *b, yyjson_val *from, struct upp_str agent,
                    const struct sv_alias *aliases, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* `store` of the doors that have it. *unstored: it is false. */
int sv_options_stored(const struct sv_body *b, bool *unstored, struct upp_err *err) UPP_MUST_CHECK;

/* The member `metadata` of an object as text in the arena: 1; 0: absent, *ret is unchanged. Within
 * OpenAI's limits. */
int sv_metadata_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The member `tool_resources` likewise: an object of objects. It is stored and shown; no tool of the server reads it.
 */
enum { SV_RESOURCES_MAX = 64 << 10 };
int sv_resources_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;
