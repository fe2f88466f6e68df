/* dialects/pai/pai.h — converts between the parts that Pydantic AI and ThreadProtocol share and the model's parts.
 *
 * One table for all kinds of parts: the rules, not the shape, define which members a kind has, and old versions lack
 * many. What a part has in addition to its content (ids, signatures, outcomes ...) is in the metadata of the model's
 * part under "pydantic_ai", as Pydantic AI's own adapter for UI messages writes it. So it passes through every dialect
 * that has provider metadata.
 */
#pragma once

#include <upp/message.h>

#include "base/str.h"
#include "dialects/core/lift.h"

enum wd_pai_kind {
    WD_PAI_OTHER = 0, /* unknown, or not in the model: becomes residue */
    WD_PAI_USER_PROMPT,
    WD_PAI_TEXT,
    WD_PAI_THINKING,
    WD_PAI_TOOL_CALL,
    WD_PAI_TOOL_RETURN,
    WD_PAI_RETRY_PROMPT,
    WD_PAI_FILE,
    WD_PAI_SYSTEM_PROMPT,
};

struct wd_pai_part {
    struct wj_node node;
    struct upp_str part_kind;
    yyjson_val *content, *args, *metadata, *provider_details;
    struct upp_str id, thinking_id, signature, provider_name;
    struct upp_str tool_name, tool_call_id, tool_kind, status, outcome, timestamp;
};
WJ_SHAPE_EXTERN(wd_pai_part, struct wd_pai_part);

/* Its rows, in the order in which Pydantic AI writes those that a kind has. */
enum wd_pai_row {
    WD_PAI_TOOL_NAME,
    WD_PAI_ARGS,
    WD_PAI_CONTENT,
    WD_PAI_TOOL_CALL_ID,
    WD_PAI_TOOL_KIND,
    WD_PAI_STATUS,
    WD_PAI_METADATA,
    WD_PAI_TIMESTAMP,
    WD_PAI_OUTCOME,
    WD_PAI_ID,
    WD_PAI_THINKING_ID,
    WD_PAI_SIGNATURE,
    WD_PAI_PROVIDER_NAME,
    WD_PAI_PROVIDER_DETAILS,
    WD_PAI_PART_KIND,
};

/* A medium of a user prompt, or the content of a file. */
struct wd_pai_item {
    struct wj_node node;
    struct upp_str kind, url, data, media_type, identifier, content;
    yyjson_val *force_download, *vendor_metadata, *metadata;
};
WJ_SHAPE_EXTERN(wd_pai_item, struct wd_pai_item);

enum wd_pai_kind wd_pai_kind(struct upp_str part_kind);

/* Can a request, or a response, have a part of this kind? Anywhere else it is residue. */
static inline bool wd_pai_fits(enum wd_pai_kind kind, bool request)
{
    bool asks = kind == WD_PAI_USER_PROMPT || kind == WD_PAI_TOOL_RETURN || kind == WD_PAI_RETRY_PROMPT;
    return kind != WD_PAI_OTHER && kind != WD_PAI_SYSTEM_PROMPT && asks == request;
}

/* Lifts the part; a prompt may give several. 1: something was added. 0: the model cannot hold it. */
int wd_pai_lift(struct wd_lifting *l, const struct wd_pai_part *part, struct wd_parts *to,
                struct upp_err *err) UPP_MUST_CHECK;

/* The same for a provider-executed call and its result, which are in the same response. */
int wd_pai_lift_builtin(struct wd_lifting *l, const struct wd_pai_part *part, bool call, struct wd_parts *to,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Adds a member to metadata.pydantic_ai of a lifted part. `json` is its value. */
int wd_pai_sidecar_add(struct wb_arena *a, struct upp_str *metadata, const char *name, struct upp_str json,
                       struct upp_err *err) UPP_MUST_CHECK;

uint8_t wd_pai_stop(struct upp_str finish_reason); /* enum upp_stop; 0: unknown */

/* The kind of part that a medium of this kind ("image-url", "binary") and type is in the model. */
uint8_t wd_pai_medium(struct upp_str kind, struct upp_str mime);

/* Pydantic AI writes every member, if need be as null, and times of parts; ThreadProtocol only members with a value. */
enum wd_pai_style { WD_PAI_THREAD = 1, WD_PAI_PYDANTIC };

struct wd_pai_out {
    struct wd_lowering *l;
    enum wd_pai_style style;
    struct upp_str time;   /* of the message, written in its parts */
    struct upp_str prefix; /* before every text: "{agent:NAME}: "; empty: none */
};

/* Write the parts of a request (a user message is one user-prompt; each result and feedback is one part), and one part
 * of a response. `entry` is for reporting losses. */
void wd_pai_put_request(struct wd_pai_out *o, uint32_t entry, const struct upp_message *m);
void wd_pai_put_part(struct wd_pai_out *o, uint32_t entry, const struct upp_part *p);

/* Provider-executed calls and their results, which are in no request. */
bool wd_pai_is_builtin(struct wd_lowering *l, const struct upp_part *p);
void wd_pai_put_builtin(struct wd_pai_out *o, const struct upp_part *p);

/* The time of an entry: its text, or formatted by the dialect. */
struct upp_str wd_pai_time_made(struct wd_lowering *l, const struct upp_message *m);
static inline struct upp_str wd_pai_time_text(struct wd_lowering *l, const struct upp_message *m)
{
    return m->time_text.p ? m->time_text : wd_pai_time_made(l, m);
}

/* The same as Pydantic AI would dump it; an invalid time gives `otherwise`. */
struct upp_str wd_pai_time_dumped(struct wd_lowering *l, struct upp_str given, int64_t otherwise);

const char *wd_pai_finish(uint8_t stop); /* NULL: none */
const char *wd_pai_url_kind(uint8_t kind);

/* The metadata of a part for its writer: Pydantic AI's own, or that of the first provider; NULL: none. Parsed into
 * `scratch`, which is reset. */
yyjson_val *wd_pai_own(struct wd_lowering *l, struct upp_str metadata);

/* metadata.pydantic_ai.NAME; NULL: none. Also resets `scratch`. */
yyjson_val *wd_pai_own_at(struct wd_lowering *l, struct upp_str metadata, const char *name);

/* What Pydantic AI derives for a medium without an identifier or type (media.c). */

enum { WD_PAI_IDENTIFIER = sizeof "50173a" };

/* The identifier: the first six hex digits of SHA-1 over the URL, or over the bytes. NULL: invalid base64, or no memory
 * (see err). */
struct upp_str wd_pai_identifier(const struct upp_media *m, char out[WD_PAI_IDENTIFIER], struct upp_err *err);

/* The media type of a URL, by its file extension; never empty. `kind`: enum upp_part_kind. */
struct upp_str wd_pai_media_type(struct upp_str url, uint8_t kind);
