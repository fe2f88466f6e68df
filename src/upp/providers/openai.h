/* upp/providers/openai.h — what OpenAI's two APIs have in common, and the servers that speak one of them. */
#ifndef UPP_OPENAI_H
#define UPP_OPENAI_H

#include "upp/providers/body.h"

/* ---- Requests --------------------------------------------------------------------------------------------------- */

/* Address, headers, params read, the body's object open and its model written. `tail`: "/chat/completions". A base_url
 * that is a host alone stands for its /v1. `messages` as for upp__body_init. */
int upp__openai_begin(struct upp__body *b, struct upp__outgoing *out, struct upp_str tail, const char *messages,
                      struct upp_str key) UPP_MUST_CHECK;

/* What marks a part for the prompt cache: of the part's own metadata, or on the last one, of its message's. */
void upp__openai_marks(struct upp__body *b, const struct upp_part *p, bool last);

/* A user's message: a text by itself, or a list of content, each by `put`. */
void upp__openai_user(struct upp__body *b, const struct upp_message *m,
                      void (*put)(struct upp__body *b, const struct upp_part *p, bool last));

static inline bool upp__openai_is_said(const struct upp_part *p)
{
    return p->kind != UPP_PART_TEXT || p->text.n; /* an empty text says nothing */
}

/* "data:image/png;base64,...", or the address. */
struct upp_str upp__openai_url(struct upp__body *b, const struct upp_media *m);

/* A name for a file that has none: both APIs want one. */
struct upp_str upp__openai_file_name(const struct upp_media *m);

/* "name", "schema" and "strict" of a structured answer. Strict where the schema is one that OpenAI takes as such. */
void upp__openai_schema(struct upp__body *b);

/* Arguments as the text of an object: as the model wrote them where they are one. */
struct upp_str upp__openai_arguments(struct upp__body *b, struct upp_str arguments);

/* What the result at b->part shows: its text, or, where it is an array of UPP's content blocks, those; then the media
 * that stand beside it in its message. In the arena of the request. */
struct upp__openai_shown {
    struct upp_part *parts; /* TEXT, IMAGE, DOCUMENT ... */
    size_t           n;
    bool             media; /* some of them are no text */
};
struct upp__openai_shown upp__openai_shown(struct upp__body *b, const struct upp_message *m);

/* The texts of some parts, with `between` between them. */
struct upp_str upp__openai_join(struct upp__body *b, const struct upp_part *parts, size_t n, uint8_t kind,
                                struct upp_str between);

/* Something said by this provider itself. */
bool upp__openai_is_own(struct upp__body *b, const struct upp_message *m);

/* Reasoning and media of an assistant's message that do not go back. */
void upp__openai_lose(struct upp__body *b, const struct upp_message *m, bool reasoning);

/* ---- Answers ---------------------------------------------------------------------------------------------------- */

/* The value of an index; 0 for all else. */
static inline uint64_t upp__openai_index(yyjson_val *v)
{
    uint64_t n;
    return yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* The error in a body or an event: {error:{...}}, {error:"text"}, {object:"error",...}, {type:"error",...}. False:
 * there is none. */
bool upp__openai_error(yyjson_val *v, struct upp__trouble *ret);

/* upp__adapter.error of both. */
void upp__openai_trouble(yyjson_val *v, struct upp__trouble *t);

/* A failure that a 200 held. */
int upp__openai_fail(const struct upp__trouble *t, struct upp_err *err);

enum { UPP__OPENAI_BLOCKS = 4096 }; /* of an answer: calls, items, pieces of text */

#endif
