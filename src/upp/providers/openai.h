/* upp/providers/openai.h — what OpenAI's two APIs have in common, and the servers that speak one of them.
 *
 * A request is written into one struct upp__openai, which is sticky as its writer is: the adapters write freely and
 * ask once, by upp__openai_end.
 */
#ifndef UPP_OPENAI_H
#define UPP_OPENAI_H

#include "upp/adapter.h"

/* ---- Requests --------------------------------------------------------------------------------------------------- */

struct upp__openai {
    const struct upp__vendor *v;
    const struct upp_request *req;
    struct upp__outgoing     *out;
    struct wb_arena          *a; /* of out */
    struct wj_writer          w;
    yyjson_val               *params;  /* NULL: none */
    size_t                    message; /* index of the one being written */
};

/* Address, headers, params read, the body's object open and its model written. `tail`: "/chat/completions". A base_url
 * that is a host alone stands for its /v1. */
int upp__openai_begin(struct upp__openai *o, struct upp_str tail, struct upp_str key,
                      struct upp_err *err) UPP_MUST_CHECK;

/* The params besides those in `taken`; closes the body. */
int upp__openai_end(struct upp__openai *o, const char *const *taken) UPP_MUST_CHECK;

void upp__openai_str(struct upp__openai *o, const char *name, struct upp_str text); /* a member */
void upp__openai_name(struct upp__openai *o, const char *name);
void upp__openai_true(struct upp__openai *o, const char *name);

/* metadata.PROVIDER of a part or a tool; NULL: none. */
yyjson_val *upp__openai_metadata(struct upp__openai *o, struct upp_str metadata);

/* Those members of `from` that stand in `names`, as they are. */
void upp__openai_members(struct upp__openai *o, yyjson_val *from, const char *const *names);

/* What marks a part for the prompt cache: of the part's own metadata, or on the last one, of its message's. */
void upp__openai_marks(struct upp__openai *o, const struct upp_part *p, bool last);

/* This part cannot be said: -UPP_EINVALID with its place. */
void upp__openai_refuse(struct upp__openai *o, const struct upp_part *p, const char *why);

/* The same for what a tool has shown: that has happened, so the model reads that it was left out. */
struct upp_str upp__openai_left_out(struct upp__openai *o, size_t result, const struct upp_part *p, const char *why);

/* "data:image/png;base64,...". */
struct upp_str upp__openai_data_url(struct upp__openai *o, const struct upp_media *m);

/* A name for a file that has none: both APIs want one. */
struct upp_str upp__openai_file_name(const struct upp_media *m);

/* "name", "schema" and "strict" of a structured answer. Strict where the schema is one that OpenAI takes as such. */
void upp__openai_schema(struct upp__openai *o);

/* The JSON Schema of a tool's parameters; one without any takes an empty object. */
void upp__openai_parameters(struct upp__openai *o, const struct upp_tool_spec *t);

/* Tools of the params: provider-native ones, as they are. The array is open. */
void upp__openai_native_tools(struct upp__openai *o);
bool upp__openai_has_tools(const struct upp__openai *o);

/* Arguments as the text of an object: as the model wrote them where they are one. */
struct upp_str upp__openai_arguments(struct upp__openai *o, struct upp_str arguments);

/* Is this call to be said? One that was cut is not, unless somebody has answered it. */
bool upp__openai_is_said(struct upp__openai *o, const struct upp_part *call);

/* What a result shows: its text, or, where it is an array of UPP's content blocks, those; then the media that stand
 * beside it in its message. In the arena of the request. */
struct upp__openai_shown {
    struct upp_part *parts; /* TEXT, IMAGE, DOCUMENT ... */
    size_t           n;
    bool             media; /* some of them are no text */
};
struct upp__openai_shown upp__openai_shown(struct upp__openai *o, const struct upp_message *m, size_t part);

/* The texts of some parts, with `between` between them. */
struct upp_str upp__openai_join(struct upp__openai *o, const struct upp_part *parts, size_t n, uint8_t kind,
                                struct upp_str between);

/* Something said by this provider itself. */
bool upp__openai_is_own(struct upp__openai *o, const struct upp_message *m);

/* Reasoning and media of an assistant's message that do not go back. */
void upp__openai_lose(struct upp__openai *o, const struct upp_message *m, bool reasoning);

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

/* upp__adapter.trouble of both. */
void upp__openai_trouble(struct wb_arena *a, struct upp_str body, struct upp__trouble *t);

/* A failure that a 200 held. */
int upp__openai_fail(const struct upp__trouble *t, struct upp_err *err);

/* JSON of a value, in r->keep. */
struct upp_str upp__openai_keep(struct upp__reader *r, yyjson_val *v);

/* An id for a call that came with none: of no other call in this thread. `n`: how many calls came before it. */
struct upp_str upp__openai_mint(struct upp__reader *r, size_t n);

/* The metadata of an answer: begun with model, stopReason and usage; closed by _metadata_end, as text in r->keep. */
struct upp__openai_said {
    struct wb_buf    b;
    struct wj_writer w;
};
void upp__openai_said_begin(struct upp__openai_said *s, struct upp_str id, struct upp_str model, struct upp_str stop,
                            struct upp_str usage);
struct upp_str upp__openai_said_end(struct upp__openai_said *s, struct upp__reader *r);

enum { UPP__OPENAI_BLOCKS = 4096 }; /* of an answer: calls, items, pieces of text */

#endif
