/* dialects/thread/thread.h — ThreadProtocol 2.0: its objects, for the code that checks, reads and writes them.
 *
 * One table per kind of object. `x_weft` is ours: what a turn has in addition ({"partial": true} while it is running,
 * {"run": ID} ...), the prompt of an agent, the residue of other dialects, and what the model has beyond the members of
 * messages and parts (dialects/thread/extension.h). So a document of another dialect comes back whole through a thread.
 */
#pragma once

#include "dialects/pai/pai.h"

#define WD_THREAD_VERSION "2.0.0"

struct wd_tp_usage {
    struct wj_node node;
    struct upp_str input, output, thinking, total, cache_read,
        cache_write; /* numbers; the last two are Pydantic AI's */
};
WJ_SHAPE_EXTERN(wd_tp_usage, struct wd_tp_usage);

struct wd_tp_message {
    struct wj_node node;
    struct upp_str message_type, timestamp, agent_id;
    WJ_ARR(struct wd_pai_part) parts;
    struct upp_str model_name, provider_name, provider_response_id, finish_reason;
    struct wd_tp_usage *usage;
    struct upp_str event_type, source_agent;
    yyjson_val *event_data;
    WJ_ARR(struct upp_str) target_agents;
    yyjson_val *x_weft;
};
WJ_SHAPE_EXTERN(wd_tp_message, struct wd_tp_message);

struct wd_tp_turn {
    struct wj_node node;
    struct upp_str turn_type, submitted_at, agent_id, started_at, completed_at;
    WJ_ARR(struct wd_pai_part) parts;
    WJ_ARR(struct wd_tp_message) messages;
    struct wd_tp_usage *total_usage;
    yyjson_val *x_weft;
};
WJ_SHAPE_EXTERN(wd_tp_turn, struct wd_tp_turn);

struct wd_tp_agent {
    struct wj_node node;
    struct upp_str agent_id, agent_name, model_name, provider_name, created_at, config_ref;
    yyjson_val *x_weft;
};
WJ_SHAPE_EXTERN(wd_tp_agent, struct wd_tp_agent);

struct wd_tp_thread {
    struct wj_node node;
    struct upp_str version, thread_id, created_at, updated_at, title, parent_thread_id, branch_point;
    yyjson_val *metadata, *x_weft;
    struct wj_map agents;
    WJ_ARR(struct wd_tp_turn) turns;
};
WJ_SHAPE_EXTERN(wd_tp_thread, struct wd_tp_thread);

/* Rows of the tables, in the order in which they are written. */
enum { WD_TP_INPUT, WD_TP_OUTPUT, WD_TP_THINKING, WD_TP_TOTAL, WD_TP_CACHE_READ, WD_TP_CACHE_WRITE };
enum {
    WD_TP_MESSAGE_TYPE,
    WD_TP_TIMESTAMP,
    WD_TP_AGENT_ID,
    WD_TP_MODEL_NAME,
    WD_TP_PROVIDER_NAME,
    WD_TP_RESPONSE_ID,
    WD_TP_USAGE,
    WD_TP_FINISH_REASON,
    WD_TP_PARTS,
    WD_TP_EVENT_TYPE,
    WD_TP_EVENT_DATA,
    WD_TP_SOURCE_AGENT,
    WD_TP_TARGET_AGENTS,
    WD_TP_X_WEFT,
};
enum {
    WD_TP_TURN_TYPE,
    WD_TP_SUBMITTED_AT,
    WD_TP_TURN_AGENT,
    WD_TP_STARTED_AT,
    WD_TP_COMPLETED_AT,
    WD_TP_PROMPTS,
    WD_TP_MESSAGES,
    WD_TP_TOTAL_USAGE,
    WD_TP_TURN_X_WEFT,
};

/* Is the message, or the user turn, exactly what we would write for the one entry that it became? False: perhaps. */
bool wd_tp_is_canonical_message(const struct wd_tp_message *m, const struct wm_doc *doc);
bool wd_tp_is_canonical_prompt(const struct wd_tp_turn *turn);

/* < 0: the version cannot be read. 0: it can. 1: with a warning: older, or newer within this major. */
int wd_tp_version(struct upp_str version);

int wd_tp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_tp_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_tp_lower(struct wd_lowering *l, struct upp_err *err);

/* Writes usage under this name, and reads it. */
void wd_tp_put_usage(struct wd_lowering *l, const char *name, const struct upp_usage *u);
void wd_tp_lift_usage(const struct wd_tp_usage *u, bool *has, struct upp_usage *to);
