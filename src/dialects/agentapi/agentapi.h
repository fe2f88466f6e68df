/* dialects/agentapi/agentapi.h — messages of the Agent API Protocol: the wire format, shared by check, lift and lower.
 *
 * A document is a list of messages, or one of the three objects that contain such a list: a session, a request, a
 * response. One message of the model is several consecutive messages here: the reasoning, the text, and each call.
 * What the model knows about them and the protocol has no member for is in their metadata:
 *
 *     "metadata": {"weft": {"agent", "name", "joins", "time", "model", "provider", "response", "stop",
 *                           "metadata", "parts"}}
 */
#pragma once

#include "dialects/core/usage.h"

#define WD_AAP_EVENT "weft_event" /* type of a message that is an event of the log */

/* Of a stream. */
struct wd_agentapi_opts {
    bool uncreated; /* omit the "created" event of messages */
};

struct wd_aap_content {
    struct wj_node node;
    struct upp_str type, status, text, refusal;
    struct upp_str image_url, video_url, format;
    struct upp_str file_url, file_id, filename, file_data;
    yyjson_val *data; /* of an audio content: a string */
};
WJ_SHAPE_EXTERN(wd_aap_content, struct wd_aap_content);

struct wd_aap_message {
    struct wj_node node;
    struct upp_str id, type, status, role;
    yyjson_val *usage, *metadata;
    WJ_ARR(struct wd_aap_content) content;
};
WJ_SHAPE_EXTERN(wd_aap_message, struct wd_aap_message);

enum wd_aap_status {
    WD_AAP_UNKNOWN, /* also any other status */
    WD_AAP_CREATED,
    WD_AAP_QUEUED,
    WD_AAP_IN_PROGRESS,
    WD_AAP_COMPLETED, /* this status and the following ones are final */
    WD_AAP_INCOMPLETE,
    WD_AAP_CANCELED,
    WD_AAP_FAILED,
    WD_AAP_REJECTED,
    WD_AAP_STATUSES,
};

enum wd_aap_status wd_aap_status(struct upp_str word);
const char *wd_aap_status_word(enum wd_aap_status s);
bool wd_aap_may_follow(enum wd_aap_status from, enum wd_aap_status to); /* from UNKNOWN: any may follow */

/* The message was stopped before its end. */
static inline bool wd_aap_unfinished(struct upp_str word)
{
    enum wd_aap_status s = wd_aap_status(word);
    return s == WD_AAP_IN_PROGRESS || s == WD_AAP_INCOMPLETE || s == WD_AAP_CANCELED || s == WD_AAP_FAILED;
}

/* What a message contains, by its type; in the order in which the messages of one reply follow each other. */
enum wd_aap_kind {
    WD_AAP_OTHER, /* in streams: mcp_approval_request */
    WD_AAP_REASONING,
    WD_AAP_MESSAGE,
    WD_AAP_CALL,
    WD_AAP_OUTPUT,
    WD_AAP_IS_EVENT,
    WD_AAP_TOOLS, /* mcp_list_tools, only in streams */
};

enum wd_aap_kind wd_aap_kind(struct upp_str type); /* empty: a message */
bool wd_aap_knows(struct upp_str type);

/* The type of a message; of a call or its output by the source of the tool (enum wm_tool_source). */
const char *wd_aap_type(enum wd_aap_kind kind, uint8_t source);

/* Metadata of a call whose arguments are a text that is not canonical JSON (compact, an object); the function tells
 * whether a text is. */
#define WD_AAP_RAW "{\"pydantic_ai\":{\"raw_args\":true}}"
int wd_aap_is_canonical(struct upp_str text, bool *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The objects that contain a list of messages. */
enum wd_aap_form { WD_AAP_NONE, WD_AAP_LIST, WD_AAP_SESSION, WD_AAP_REQUEST, WD_AAP_RESPONSE };

/* *list: the array of messages. */
enum wd_aap_form wd_aap_form(yyjson_val *root, yyjson_val **list);
const char *wd_aap_slot(enum wd_aap_form form);   /* also the form's name */
const char *wd_aap_member(enum wd_aap_form form); /* that holds the list; NULL: the root is the list */

/* The entry that the last messages belong to. */
struct wd_aap_flow {
    uint8_t role;          /* enum upp_role; 0: none */
    enum wd_aap_kind kind; /* of the last message */
    uint32_t agent;
    bool ended; /* the last message had a usage or no content: no other can join */
};

/* Whether a message may belong to the same entry; whether it does unless metadata.weft.joins says otherwise. */
bool wd_aap_may_join(const struct wd_aap_flow *f, enum wd_aap_kind kind, uint8_t role, uint32_t agent);
bool wd_aap_joins(const struct wd_aap_flow *f, enum wd_aap_kind kind, uint8_t role, uint32_t agent);

/* Writers of objects (write.c). `number`: the object's sequence_number; NULL: null, in documents and inside of others.
 */

/* Opens the object and writes what is before `error`. */
void wd_aap_write_open(struct wj_writer *w, const uint64_t *number, const char *object, enum wd_aap_status status);

/* A content, by the kind of its message. */
struct wd_aap_payload {
    enum wd_aap_kind kind;
    enum wd_aap_status status;
    size_t index;
    struct upp_str message;       /* its id */
    struct upp_str text;          /* also arguments, output, or JSON */
    struct upp_str call, name;    /* of calls and outputs */
    struct upp_str server;        /* of calls: the tool's; NULL: none */
    const struct upp_part *media; /* instead of a text; NULL: none */
    bool nulls;                   /* of media: with all members, null if empty */
};
void wd_aap_write_content(struct wj_writer *w, const uint64_t *number, const struct wd_aap_payload *c);

/* Opens a message and writes what is before `content`. */
void wd_aap_write_message(struct wj_writer *w, const uint64_t *number, enum wd_aap_status status, struct upp_str id,
                          const char *type, const char *role);

extern const struct wd_usage_member wd_aap_usage[];

int wd_aap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_aap_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_aap_lower(struct wd_lowering *l, struct upp_err *err);
