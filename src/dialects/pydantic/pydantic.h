/* dialects/pydantic/pydantic.h — Pydantic AI's ModelMessages: their objects, for the code that checks, reads and writes
 * them.
 *
 * Read: everything written since 0.0.14. Only `kind`, `parts`, `part_kind`, `content` and `tool_name` have always
 * existed. Written: what the current version dumps, every member in its order.
 */
#pragma once

#include "dialects/pai/pai.h"

struct wd_pai_usage {
    struct wj_node node;
    struct upp_str input, cache_write, cache_read, output, input_audio, cache_audio_read, output_audio; /* numbers */
    yyjson_val *details, *cost;
};
WJ_SHAPE_EXTERN(wd_pai_usage, struct wd_pai_usage);

struct wd_pai_message {
    struct wj_node node;
    WJ_ARR(struct wd_pai_part) parts;
    struct wd_pai_usage *usage;
    yyjson_val *instructions, *provider_url, *provider_details, *conversation_id, *metadata, *state;
    struct upp_str model_name, timestamp, kind, provider_name, provider_response_id, finish_reason, run_id;
};
WJ_SHAPE_EXTERN(wd_pai_message, struct wd_pai_message);

/* Rows of the tables, in the order in which they are written; some have had other names. */
enum {
    WD_PAI_INPUT,
    WD_PAI_INPUT_OLD, /* before 0.7 */
    WD_PAI_CACHE_WRITE,
    WD_PAI_CACHE_READ,
    WD_PAI_OUTPUT,
    WD_PAI_OUTPUT_OLD,
    WD_PAI_INPUT_AUDIO,
    WD_PAI_CACHE_AUDIO_READ,
    WD_PAI_OUTPUT_AUDIO,
    WD_PAI_DETAILS,
    WD_PAI_COST,
};
enum {
    WD_PAI_PARTS,
    WD_PAI_USAGE,
    WD_PAI_MODEL_NAME,
    WD_PAI_TIME,
    WD_PAI_INSTRUCTIONS,
    WD_PAI_KIND,
    WD_PAI_PROVIDER,
    WD_PAI_URL,
    WD_PAI_MESSAGE_DETAILS,
    WD_PAI_RESPONSE,
    WD_PAI_RESPONSE_OLDEST, /* 0.2 to 0.6 */
    WD_PAI_RESPONSE_OLD,    /* 0.7 */
    WD_PAI_FINISH,
    WD_PAI_RUN,
    WD_PAI_CONVERSATION,
    WD_PAI_SIDECAR,
    WD_PAI_STATE,
};

/* Is the message exactly what we would write for the one entry (the last) that it became? False: perhaps. */
bool wd_pai_is_canonical_message(const struct wd_pai_message *m, const struct wm_doc *doc);

int wd_pydantic_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_pydantic_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_pydantic_lower(struct wd_lowering *l, struct upp_err *err);
