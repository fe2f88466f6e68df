/* support/chat.h — the shapes of a chat document that has a bit of everything: for tests, fuzzing and benchmarks. */
#pragma once

#include "json/decode.h"

enum role { ROLE_NONE, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };

struct part {
    struct wj_node node;
    struct upp_str type, id, name;
    yyjson_val *args;
    struct upp_str text;
    WJ_ARR(struct upp_str) lines; /* content: either text or these */
    bool failed;
};

struct usage {
    struct wj_node node;
    uint64_t input, output;
    struct upp_str cost;
};

struct message {
    struct wj_node node;
    struct upp_str id;
    enum role role;
    struct upp_str text;       /* content: either a string */
    WJ_ARR(struct part) parts; /* or parts */
    struct usage *usage;
    struct wj_map metadata;
    struct upp_str vendor_id;
    WJ_ARR(struct message) replies;
};

struct chat {
    struct wj_node node;
    struct upp_str id, title;
    uint64_t version;
    WJ_ARR(struct message) messages;
    WJ_ARR(struct upp_str) tags;
    yyjson_val *state;
};

WJ_ENUM(roles, enum role, WJ_WORD("user", ROLE_USER), WJ_WORD("assistant", ROLE_ASSISTANT), WJ_WORD("tool", ROLE_TOOL));

static const struct wj_field part_rows[] = {
    F_STR(struct part, type, "type", F_REQUIRED),
    F_STR(struct part, id, "id", 0),
    F_STR(struct part, name, "name", 0),
    F_ANY(struct part, args, "args", 0),
    F_STR(struct part, text, "content", F_OR | F_NULLABLE),
    F_STRS(struct part, lines, "content", 0),
    F_BOOL(struct part, failed, "failed", F_NULLABLE),
};
WJ_SHAPE(part, struct part, part_rows);

static const struct wj_field usage_rows[] = {
    F_U64(struct usage, input, "input_tokens", F_REQUIRED),
    F_U64(struct usage, input, "request_tokens", F_ALIAS),
    F_U64(struct usage, output, "output_tokens", F_NULLABLE),
    F_NUM(struct usage, cost, "cost", 0),
};
WJ_SHAPE(usage, struct usage, usage_rows);

WJ_SHAPE_FORWARD(message, struct message);
static const struct wj_field message_rows[] = {
    F_STR(struct message, id, "id", F_REQUIRED),
    F_ENUM(struct message, role, "role", F_REQUIRED, roles),
    F_STR(struct message, text, "content", F_OR | F_NULLABLE),
    F_LIST(struct message, parts, "content", 0, part),
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
