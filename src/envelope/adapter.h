/* envelope/adapter.h — a model family: how its raw input and output become envelopes, and how envelopes become prompts.
 *
 * Adapters are data (share/adapters/NAME.yaml, and `adapters` in weft.yaml), read by runtime/config_adapters.c. A
 * prompt is a template:
 *
 *     {{intent}} {{task}} {{context}}    members; context is "" if there is none
 *     {{context:n/a}}                    with another default
 *     {{content}}                        content.text, or content.data (default {}) as JSON
 *     {{data}} {{data|2}}                content.data (default {}) as JSON; indented by 2
 *     {{task|json}} {{context|json}}     as a JSON string; a missing one is null
 *     {{content|json}}                   content.data as JSON, or content.text as a JSON string
 *     {{resources}} {{resources|json}}   one line "- TYPE ID (HINT)" each; the list as JSON
 *     {{?content}}...{{/}}               only if the content says more than the task; {{?resources}}, {{?context}},
 *                                        {{?data}}: only if there are any. In strict mode ?content and ?resources are
 *                                        left out
 *
 * JSON is as JSON.stringify of JavaScript writes it: numbers, order of integer-like members, escapes.
 */
#pragma once

#include <yyjson.h>

#include "envelope/envelope.h"
#include "base/arena.h"
#include "base/buf.h"

enum { WE_MAX_ADAPTERS = 64, WE_MAX_MATCH = 16, WE_MAX_TEMPLATE = 16 << 10, WE_MAX_PROMPT = 8 << 20 };

enum we_input {
    WE_INPUT_USER,   /* to_envelope takes a text; task: its beginning, content: text */
    WE_INPUT_SYSTEM, /* ... a system prompt too: inputs.context */
    WE_INPUT_DATA,   /* a goal and data: the goal is the task, content: json */
};

struct we_adapter {
    struct upp_str name;
    struct upp_str *match; /* globs on the model's name, without regard to case; none: it fits every model */
    size_t n_match;
    struct upp_str agent_id, agent_name, model; /* of to_envelope; model empty: the model's own name */
    int intent;                                 /* enum we_intent: of to_envelope */
    uint8_t input;                              /* enum we_input */
    struct upp_str system, user;                /* templates; system empty: none */
    bool json;                                  /* the prompt asks for JSON */
    struct upp_str confidence, text; /* members of a JSON reply that is not an envelope: the model's score and
                                      * its text; empty: none are asked for */
    uint32_t intents;                /* of the default routes: bits 1 << enum we_intent */
};

struct we_adapters {
    const struct we_adapter *list; /* the first that fits a model is taken */
    size_t n;
};

/* '*' is any text, '?' one character; A to Z are folded. */
bool we_glob(struct upp_str pattern, struct upp_str text);

/* NULL: none fits. */
const struct we_adapter *we_adapter_for(const struct we_adapters *set, struct upp_str model);
const struct we_adapter *we_adapter_named(const struct we_adapters *set, struct upp_str name);

/* Is it a template without mistakes? err has the sentence. */
int we_template_check(struct upp_str template, struct upp_err *err) UPP_MUST_CHECK;

/* from_envelope: the prompt for a model. system is empty if the adapter has none. */
struct we_prompt {
    struct upp_str system, user;
};
int we_prompt(struct wb_arena *a, const struct we_adapter *adapter, const struct we_envelope *e, bool strict,
              struct we_prompt *ret, struct upp_err *err) UPP_MUST_CHECK;

/* to_envelope: raw input of a model as an envelope. What the adapter does not take is ignored. */
struct we_raw {
    struct upp_str model; /* for an adapter without one */
    struct upp_str system, user;
    yyjson_val *data;
    struct we_trace trace; /* all zero: no member trace, as in the seed */
    int64_t now_ms;
    bool strict; /* exactly the seed's members: no confidence, no text beside data */
};
int we_to_envelope(struct wb_arena *a, const struct we_adapter *adapter, const struct we_raw *raw, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A model's reply to a request, as an envelope (ENV-3, 6, 14, 16): a text that is an envelope itself is taken as one,
 * any other is wrapped. */
struct we_replied {
    const struct we_envelope *request;
    struct upp_str text;                        /* what the model wrote */
    struct upp_str agent_id, agent_name, model; /* who answered */
    const struct upp_err *failure;              /* instead of a text: an error envelope; NULL: none */
    uint64_t input_tokens, output_tokens;       /* of the run; used where the reply has no cost of its own */
    bool has_cost;
    double default_score;        /* of the agent; 0: WE_DEFAULT_SCORE */
    const struct upp_str *risks; /* added to confidence.risks: parameters that could not be honoured */
    size_t n_risks;
    bool foreign;      /* another service answered: its envelope says which agent of it */
    bool direct;       /* parents: the request alone */
    size_t above;      /* of struct we_trace */
    struct upp_str id; /* of the reply */
    int64_t now_ms;
};
int we_take_reply(struct wb_arena *a, const struct we_adapter *adapter, const struct we_replied *r, struct upp_str *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Inside envelope/: prompts from templates (adapter.h has their language). */

/* JSON as JSON.stringify of JavaScript writes what JSON.parse has read: prompts of the seed have
 * it.
 *
 * It differs from the text that was read: numbers are doubles in JavaScript's spelling (1e21 is 1e+21, -0 is 0, what is
 * too large is null), and members whose names are array indices come first, in ascending order.
 */

enum { WE_JS_NUMBER = 32 };

/* indent: blanks per level; 0: compact. The value is nested at most WE_MAX_DEPTH deep. */
int we_stringify(yyjson_val *v, unsigned indent, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* A JSON number as JavaScript writes it, into `to`; its length. */
size_t we_js_number(struct upp_str number, char to[WE_JS_NUMBER]);
