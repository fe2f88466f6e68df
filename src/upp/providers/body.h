/* upp/providers/body.h — what the writers of all requests share: a body being written, and blocks that results hold.
 *
 * It is sticky as its writer is: adapters write freely and ask once, by upp__body_check. */
#ifndef UPP_PROVIDERS_BODY_H
#define UPP_PROVIDERS_BODY_H

#include "upp/providers/adapter.h"

struct upp__body {
    const struct upp__vendor *vendor;
    const struct upp_request *req;
    struct wb_arena          *arena;
    struct upp_err           *err;
    yyjson_val               *params; /* NULL: none */
    struct wj_writer          w;
    size_t                    message, part; /* what is being written, for errors and losses */
    const char               *role; /* of the wire's message that is open, for who joins messages; NULL: none */
};

/* -UPP_EINVALID: params is no object, or what of it has to be put together with ours has not its shape: `messages`
 * ("contents", "input") are the request's own, and "tools" is an array. */
int upp__body_init(struct upp__body *b, const struct upp__vendor *v, const struct upp_request *req,
                   struct upp__outgoing *out, const char *messages, struct upp_err *err) UPP_MUST_CHECK;

/* 0, or the first failure of anything that was written. */
int upp__body_check(struct upp__body *b) UPP_MUST_CHECK;

void upp__put(struct upp__body *b, const char *name, struct upp_str text);
void upp__put_typed(struct upp__body *b, const char *type); /* an object that begins with its type; it stays open */

/* Members of an object (NULL: none), as they are: all, all but those in `taken`, or those in `names`. The lists end in
 * NULL. */
void upp__put_all(struct upp__body *b, yyjson_val *object);
void upp__put_rest(struct upp__body *b, yyjson_val *object, const char *const *taken);
void upp__put_some(struct upp__body *b, yyjson_val *object, const char *const *names);

/* "tools": the request's own, each by `put`, then those of params, which are the vendor's. None: nothing is written. */
void upp__put_tools(struct upp__body *b, void (*put)(struct upp__body *b, const struct upp_tool_spec *t));

/* JSON that the request holds; NULL where it is none. */
yyjson_val *upp__look(struct upp__body *b, struct upp_str json);

/* metadata.PROVIDER; NULL where there is none. */
yyjson_val *upp__look_own(struct upp__body *b, struct upp_str metadata);

/* Is this call, of the message b->message, to be said? One that was cut is not, unless somebody has answered it:
 * vendors refuse calls without results. upp__lose_call says that it is not. */
bool upp__is_said_call(const struct upp__body *b, const struct upp_part *call);
void upp__lose_call(struct upp__body *b);

/* This part cannot be said to the vendor: -UPP_EINVALID, which names message and part. */
void upp__refuse(struct upp__body *b, const char *sentence);
void upp__lose(struct upp__body *b, const char *what, const char *why);

/* "image" for UPP_PART_IMAGE ... */
const char *upp__kind_name(uint8_t kind);

/* The type of a medium as vendors spell it ("image/jpg" is none), and its data as base64, whether it is base64 or a
 * data URL. False: it is somewhere else, or its type is not known. */
bool upp__media_bytes(const struct upp_media *m, struct upp_str *mime, struct upp_str *base64);

/* ---- Blocks inside of results --------------------------------------------------------------------------------------
 */

/* A content block as UPP writes it in JSON (or MCP: `data` beside `mimeType`). A document that is a text is one. */
struct upp__block {
    uint8_t          kind;
    struct upp_str   text;
    struct upp_media media;
};

bool upp__block_read(yyjson_val *v, struct upp__block *ret); /* false: this is none */
bool upp__is_blocks(yyjson_val *v);                          /* an array of blocks, and nothing but blocks */

/* The texts among them, joined by LF. Of those that `refused` gives a reason for (NULL: none) the model reads that they
 * were left out, because the tool has run; and they are a loss. */
struct upp_str upp__blocks_text(struct upp__body *b, yyjson_val *blocks,
                                const char *(*refused)(const struct upp__block *block));

/* "[image left out: why]" for something that the result at b->part shows; it is a loss. */
struct upp_str upp__left_out(struct upp__body *b, uint8_t kind, const char *why);

/* ---- Values as text ------------------------------------------------------------------------------------------------
 */

/* Token for token, in the arena; no text for NULL, and where that failed: the arena has failed then, too. */
struct upp_str upp__json_text(struct wb_arena *a, yyjson_val *v);

#endif
