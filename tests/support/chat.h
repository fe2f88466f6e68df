/* support/chat.h — the shapes of a chat document that has a bit of everything: for tests, fuzzing and benchmarks. */
#ifndef CHAT_H
#define CHAT_H

#include "json/decode.h"
#include "json/encode.h"

enum role { ROLE_OTHER, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };
enum part_tag { PART_OTHER, PART_TEXT, PART_CALL, PART_RESULT };

struct text_part {
    struct wj_node node;
    struct upp_str text;
};

struct call_part {
    struct wj_node node;
    struct upp_str id, name;
    yyjson_val    *args;
};

struct result_part {
    struct wj_node node;
    struct upp_str id, text;
    WJ_ARR(struct upp_str) lines; /* or text */
    bool failed;
};

struct usage {
    struct wj_node node;
    int64_t        input, output;
    double         cost;
    struct upp_str exact;
};

struct message {
    struct wj_node node;
    struct upp_str id;
    enum role      role;
    struct upp_str text;         /* content: either a string */
    WJ_ARR(struct wj_var) parts; /* or parts */
    struct usage  *usage;
    struct wj_map  metadata;
    struct upp_str vendor_id;
    WJ_ARR(struct message) replies;
};

struct chat {
    struct wj_node node;
    struct upp_str id, title;
    uint64_t       version;
    WJ_ARR(struct message) messages;
    WJ_ARR(struct upp_str) tags;
    yyjson_val *state;
};

WJ_ENUM(roles, enum role, ROLE_OTHER, WJ_WORD("user", ROLE_USER), WJ_WORD("assistant", ROLE_ASSISTANT),
        WJ_WORD("tool", ROLE_TOOL));

static const struct wj_field text_part_rows[] = {
    F_CONST("type", "text", F_REQUIRED),
    F_STR(struct text_part, text, "text", F_REQUIRED),
};
WJ_SHAPE(text_part, struct text_part, text_part_rows);

static const struct wj_field call_part_rows[] = {
    F_CONST("type", "tool_call", F_REQUIRED),
    F_STR(struct call_part, id, "id", F_REQUIRED),
    F_STR(struct call_part, name, "name", F_REQUIRED),
    F_ANY(struct call_part, args, "args", 0),
};
WJ_SHAPE(call_part, struct call_part, call_part_rows);

static const struct wj_field result_part_rows[] = {
    F_CONST("type", "tool_result", F_REQUIRED),
    F_STR(struct result_part, id, "id", F_REQUIRED),
    F_STR(struct result_part, text, "content", F_OR | F_NULLABLE),
    F_STRS(struct result_part, lines, "content", F_NULL_ITEMS),
    F_BOOL(struct result_part, failed, "failed", F_NULLABLE),
};
WJ_SHAPE(result_part, struct result_part, result_part_rows);

WJ_VARIANTS(part_types, "type", PART_OTHER, WJ_VARIANT("text", PART_TEXT, text_part),
            WJ_VARIANT("tool_call", PART_CALL, call_part), WJ_VARIANT("tool_result", PART_RESULT, result_part));

static const struct wj_field usage_rows[] = {
    F_I64(struct usage, input, "input_tokens", F_REQUIRED),
    F_I64(struct usage, input, "request_tokens", F_ALIAS),
    F_I64(struct usage, output, "output_tokens", F_NULLABLE),
    F_F64(struct usage, cost, "cost", 0),
    F_NUM(struct usage, exact, "exact", 0),
};
WJ_SHAPE(usage, struct usage, usage_rows);

WJ_SHAPE_FORWARD(message, struct message);
static const struct wj_field message_rows[] = {
    F_STR(struct message, id, "id", F_REQUIRED),
    F_ENUM(struct message, role, "role", F_REQUIRED | F_OPEN, roles),
    F_STR(struct message, text, "content", F_OR | F_NULLABLE),
    F_VARS(struct message, parts, "content", 0, part_types),
    F_OBJ(struct message, usage, "usage", F_NULLABLE, usage),
    F_MAP(struct message, metadata, "metadata", F_NULLABLE),
    F_STR(struct message, vendor_id, "provider_response_id", F_NULLABLE),
    F_STR(struct message, vendor_id, "vendor_id", F_ALIAS | F_NULLABLE),
    F_LIST(struct message, replies, "replies", 0, message),
};
WJ_SHAPE_DEFINE(message, struct message, message_rows);

static const struct wj_field chat_rows[] = {
    F_STR(struct chat, id, "id", F_REQUIRED),      F_STR(struct chat, title, "title", F_NULLABLE),
    F_U64(struct chat, version, "version", 0),     F_LIST(struct chat, messages, "messages", F_REQUIRED, message),
    F_STRS(struct chat, tags, "tags", F_NULLABLE), F_ANY(struct chat, state, "state", 0),
};
WJ_SHAPE(chat, struct chat, chat_rows);

#endif
