/* upp/providers/body.h — shared by the request writers of all adapters: the body, and content blocks in results.
 *
 * Failures are sticky: adapters write freely and call upp__body_check once. */
#pragma once

#include "upp/providers/adapter.h"

struct upp__body {
    const struct upp__vendor *vendor;
    const struct upp_request *req;
    struct wb_arena *arena;
    struct upp_err *err;
    yyjson_val *params; /* NULL: none */
    struct wj_writer w;
    size_t message, part; /* being written, for errors and losses */
    const char *role;     /* of the open message on the wire, for adapters that join messages; NULL: none */
};

WB_EXPORT_BEGIN

/* -UPP_EINVALID: params is not an object, contains `messages` ("contents", "input"), which come from the request, or
 * its "tools" is not an array. */
int upp__body_init(struct upp__body *b, const struct upp__vendor *v, const struct upp_request *req,
                   struct upp__outgoing *out, const char *messages, struct upp_err *err) UPP_MUST_CHECK;

/* 0, or the first failure. */
int upp__body_check(struct upp__body *b) UPP_MUST_CHECK;

void upp__put(struct upp__body *b, const char *name, struct upp_str text);
void upp__put_typed(struct upp__body *b, const char *type); /* opens an object that begins with its type */

/* Copies members of an object (NULL: none): all, all but those in `taken`, or those in `names`. The lists end with
 * NULL. */
void upp__put_all(struct upp__body *b, yyjson_val *object);
void upp__put_rest(struct upp__body *b, yyjson_val *object, const char *const *taken);
void upp__put_some(struct upp__body *b, yyjson_val *object, const char *const *names);

/* "tools": the request's, each by `put`, then the vendor's own tools in params. Omitted if there are none. */
void upp__put_tools(struct upp__body *b, void (*put)(struct upp__body *b, const struct upp_tool_spec *t));

/* Members of a tool: name, description (if any), and the JSON Schema of its parameters as the member `schema`; `empty`
 * if it has none. */
void upp__put_tool(struct upp__body *b, const struct upp_tool_spec *t, const char *schema, struct upp_str empty);
#define UPP__NO_PARAMETERS UPP_STR("{\"type\":\"object\",\"properties\":{}}")

/* Reads JSON of the request; NULL if it is not JSON. */
yyjson_val *upp__look(struct upp__body *b, struct upp_str json);

/* metadata.PROVIDER; NULL if there is none. */
yyjson_val *upp__look_own(struct upp__body *b, struct upp_str metadata);

/* Is this call of the message b->message sent? A truncated call is not, unless it has a result: vendors refuse calls
 * without results. upp__lose_call reports that it is not sent. */
bool upp__is_said_call(const struct upp__body *b, const struct upp_part *call);
void upp__lose_call(struct upp__body *b);

/* This part cannot be sent to the vendor: -UPP_EINVALID, which names message and part. */
void upp__refuse(struct upp__body *b, const char *sentence);
void upp__lose(struct upp__body *b, const char *what, const char *why);

/* "image" for UPP_PART_IMAGE ... */
const char *upp__kind_name(uint8_t kind);

/* The MIME type as vendors spell it ("image/jpg" becomes "image/jpeg"), and the data as base64, from base64 or a data
 * URL. False: it is an address, or the type is unknown. */
bool upp__media_bytes(const struct upp_media *m, struct upp_str *mime, struct upp_str *base64);

/* A content block in UPP's JSON (or MCP's: `data` and `mimeType`). A text document becomes a text. */
struct upp__block {
    uint8_t kind;
    struct upp_str text;
    struct upp_media media;
};

bool upp__block_read(yyjson_val *v, struct upp__block *ret); /* false: it is not a block */
bool upp__is_blocks(yyjson_val *v);                          /* an array of blocks only */

/* The text blocks, joined by LF. For blocks that `refused` gives a reason for (NULL: none) the text says that they were
 * left out, because the tool has already run; each is reported as a loss. */
struct upp_str upp__blocks_text(struct upp__body *b, yyjson_val *blocks,
                                const char *(*refused)(const struct upp__block *block));

/* "[image left out: why]" for a block of the result at b->part; reported as a loss. */
struct upp_str upp__left_out(struct upp__body *b, uint8_t kind, const char *why);

/* Token for token, in the arena; empty for NULL, and on failure, which also fails the arena. */
struct upp_str upp__json_text(struct wb_arena *a, yyjson_val *v);

/* Does a call stored in the vendor's own form still match the call of the message? Compares names and arguments; the
 * adapter compares ids. `arguments`: an object, or JSON in a string (OpenAI); NULL: the empty object. Arguments are
 * compared by value; those that are not JSON, by their text. */
bool upp__is_kept_call(struct upp__body *b, const struct upp_part *call, struct upp_str name, yyjson_val *arguments);

WB_EXPORT_END
