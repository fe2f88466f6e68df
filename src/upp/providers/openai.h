/* upp/providers/openai.h — shared by OpenAI's two APIs, and by the servers that implement one of them. */
#pragma once

#include "upp/providers/body.h"

/* Sets URL and headers, reads params, opens the body's object and writes its model. `tail`: "/chat/completions". A
 * base_url that is only a host stands for its /v1. `messages` as for upp__body_init. */
int upp__openai_begin(struct upp__body *b, struct upp__outgoing *out, struct upp_str tail, const char *messages,
                      struct upp_str key) UPP_MUST_CHECK;

/* Prompt cache markers: from the part's metadata, or for the last part from its message's. */
void upp__openai_marks(struct upp__body *b, const struct upp_part *p, bool last);

/* A user's message: a single text, or a list of content, each by `put`. */
void upp__openai_user(struct upp__body *b, const struct upp_message *m,
                      void (*put)(struct upp__body *b, const struct upp_part *p, bool last));

static inline bool upp__openai_is_said(const struct upp_part *p)
{
    return p->kind != UPP_PART_TEXT || p->text.n; /* empty texts are not sent */
}

/* "data:image/png;base64,...", or the address. */
struct upp_str upp__openai_url(struct upp__body *b, const struct upp_media *m);

/* A default file name: both APIs require one. */
struct upp_str upp__openai_file_name(const struct upp_media *m);

/* "name", "schema" and "strict" of structured output. Strict if OpenAI accepts the schema as strict. */
void upp__openai_schema(struct upp__body *b);

/* Arguments as the text of an object: unchanged if they are one. */
struct upp_str upp__openai_arguments(struct upp__body *b, struct upp_str arguments);

/* The content of the result at b->part: its text, or its blocks if it is an array of UPP's content blocks; then the
 * media next to it in its message. In the arena of the request. */
struct upp__openai_shown {
    struct upp_part *parts; /* TEXT, IMAGE, DOCUMENT ... */
    size_t n;
    bool media; /* some are not text */
};
struct upp__openai_shown upp__openai_shown(struct upp__body *b, const struct upp_message *m);

/* Joins the texts of parts with `between`. */
struct upp_str upp__openai_join(struct upp__body *b, const struct upp_part *parts, size_t n, uint8_t kind,
                                struct upp_str between);

/* Is it output of this provider? */
bool upp__openai_is_own(struct upp__body *b, const struct upp_message *m);

/* Reports reasoning and media of an assistant's message that are not sent back as losses. */
void upp__openai_lose(struct upp__body *b, const struct upp_message *m, bool reasoning);

/* The value of an index; 0 for anything else. */
static inline uint64_t upp__openai_index(yyjson_val *v)
{
    uint64_t n;
    return yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* The error in a body or an event: {error:{...}}, {error:"text"}, {object:"error",...}, {type:"error",...}. False:
 * none. */
bool upp__openai_error(yyjson_val *v, struct upp__provider_error *ret);

/* upp__adapter.error of both. */
void upp__openai_error_body(yyjson_val *v, struct upp__provider_error *t);

/* Fails with an error inside a 200. */
int upp__openai_fail(const struct upp__provider_error *t, struct upp_err *err);

enum { UPP__OPENAI_BLOCKS = 4096 }; /* of an answer: calls, items, texts */
