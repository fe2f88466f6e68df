/* dialects/ui/doc.h — lists of UI messages of the AI SDK (5, 6, 7): the wire format, shared by check, lift and lower.
 *
 * One table covers all kinds of parts; which members a kind has is checked by rules (check.c). What the model knows
 * about a message and UI messages have no member for is in its metadata, next to what the live stream writes there:
 *
 *     "metadata": {"pydantic_ai": {"timestamp"}, "weft": {"agent", "name", "model", "provider", "ended", "run",
 * "partial"}, "usage": {...}, "weft_events": {ID: {"sourceAgent", "targetAgents", "timestamp"}}}
 */
#pragma once

#include "dialects/core/document.h"
#include "dialects/core/retained.h"

enum { WD_UI_TARGET = 6 }; /* the version that is written by default */

/* Of a stream. */
struct wd_ui_opts {
    unsigned target; /* the AI SDK's major version: 5, 6 or 7; 0: WD_UI_TARGET */
};
int wd_ui_set_target(void *own, struct upp_str value, struct upp_err *err) UPP_MUST_CHECK;

struct wd_ui_part {
    struct wj_node node;
    struct upp_str type, text, state, id;
    struct upp_str media_type, filename, url;
    struct upp_str tool_name, tool_call_id, error_text;
    yyjson_val *provider_metadata, *call_metadata, *result_metadata;
    yyjson_val *input, *raw_input, *output, *data, *approval, *provider_executed;
};
WJ_SHAPE_EXTERN(wd_ui_part, struct wd_ui_part);

enum wd_ui_part_row {
    WD_UI_TYPE,
    WD_UI_PART_ID,
    WD_UI_TEXT,
    WD_UI_STATE,
    WD_UI_MEDIA_TYPE,
    WD_UI_FILENAME,
    WD_UI_URL,
    WD_UI_TOOL_NAME,
    WD_UI_TOOL_CALL_ID,
    WD_UI_INPUT,
    WD_UI_RAW_INPUT,
    WD_UI_OUTPUT,
    WD_UI_ERROR_TEXT,
    WD_UI_DATA,
    WD_UI_APPROVAL,
    WD_UI_PROVIDER_EXECUTED,
    WD_UI_PROVIDER_METADATA,
    WD_UI_CALL_METADATA,
    WD_UI_RESULT_METADATA,
};

struct wd_ui_message {
    struct wj_node node;
    struct upp_str id, role;
    yyjson_val *metadata;
    WJ_ARR(struct wd_ui_part) parts;
};
WJ_SHAPE_EXTERN(wd_ui_message, struct wd_ui_message);

enum wd_ui_message_row {
    WD_UI_ID,
    WD_UI_ROLE,
    WD_UI_METADATA,
    WD_UI_PARTS,
};

/* What a message's metadata contains; absent texts have a NULL `.p`. */
struct wd_ui_about {
    struct upp_str time, agent, name, model, provider, ended, run;
    bool partial;       /* its run has not ended */
    yyjson_val *events; /* metadata.weft_events */
    bool has_usage;
    struct upp_usage usage;
    bool canonical; /* exactly what lower would write, judging by the metadata alone */
};
void wd_ui_about(yyjson_val *metadata, struct wd_ui_about *to);

/* True if the message is exactly what lower would write for what it became; false if that is not certain. agent
 * NULL: a message of the user. */
bool wd_ui_is_canonical(const struct wd_ui_message *m, const struct wd_ui_about *about,
                        const struct wm_doc_agent *agent);

#define WD_UI_DENIED "The tool call was denied."

/* The tool of a tool part; empty: a part of another kind. */
struct upp_str wd_ui_tool(const struct wd_ui_part *p);

int wd_ui_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_ui_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_ui_lower(struct wd_lowering *l, struct upp_err *err);

/* System prompts of Pydantic AI as system messages: the model has none. They are in the residue of a request, or of the
 * list if a request has nothing else (core/retained.h). */

struct wd_ui_prompts {
    struct wd_lowering *l;
    struct wd_retained_items list;
    yyjson_val *whole; /* the next request of the list that is residue as a whole; NULL: no more */
    size_t written;    /* messages of Pydantic AI before `entry` */
    uint32_t entry;
};

struct wd_ui_prompts wd_ui_prompts(struct wd_lowering *l);

/* Writes all prompts that come before entry `end`, each request's as a message. */
void wd_ui_put_systems(struct wd_ui_prompts *p, uint32_t end);
