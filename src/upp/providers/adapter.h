/* upp/providers/adapter.h — what knows a vendor's API: a request into bytes, bytes into the events of a step. No I/O.
 *
 * upp/providers/provider.c does the rest for all of them: keys, the transport, framing, limits, errors over HTTP, structured
 * answers, and the promises of upp/model.h. To add one: docs/adding-a-provider.md.
 */
#ifndef UPP_ADAPTER_H
#define UPP_ADAPTER_H

#include <upp/provider.h>

#include "base/arena.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "upp/providers/trouble.h"
#include "upp/http/frames.h"

/* Habits of servers that speak somebody else's API; bits of upp__vendor.habits. */
enum upp__habit {
    UPP__DEVELOPER_ROLE    = 1 << 1, /* the system text has the role "developer" */
    UPP__NO_STREAM_USAGE   = 1 << 2, /* stream_options is refused */
    UPP__REASONING_APART   = 1 << 3, /* completion_tokens does not hold the reasoning tokens: xAI */
    UPP__REASONING_BACK    = 1 << 4, /* reasoning_content goes back with messages that hold calls: Moonshot, DeepSeek */
    UPP__REASONING_DETAILS = 1 << 5, /* reasoning_details go back as they came: OpenRouter */
    UPP__KEY_OPTIONAL      = 1 << 6,
};

/* A model as its adapter sees it. Constant once made. */
struct upp__vendor {
    const struct upp__adapter *adapter;
    const char                *provider; /* "groq": the namespace of its metadata */
    struct upp_str             model;
    struct upp_str             base_url;    /* as given, or the provider's own */
    struct upp_str             api_version; /* no text: the adapter's default */
    struct upp_str             auth;
    unsigned                   habits;
};

/* Bytes of JSON that is read in one piece, at most: an answer, what was kept of one. Their own limits are lower. */
enum { UPP__JSON = 256 << 20 };

/* A request being made. */
struct upp__outgoing {
    struct wb_arena   *arena; /* for texts of url and headers */
    struct upp_str     url;
    struct upp_header *headers; /* room for UPP__HEADERS; the key's is among them */
    size_t             n_headers;
    char              *bearer; /* "Bearer KEY", where it is sent so: whoever frees the arena wipes it before */
    size_t             n_bearer;
    struct wb_buf      body;
};
enum { UPP__HEADERS = 64 };

/* A step being read. */
struct upp__reader {
    const struct upp__vendor *vendor;
    const struct upp_request *request;
    struct wb_arena           keep;      /* until the step is closed */
    struct wb_arena           scratch;   /* until the events of one wire event have been taken */
    WB_VEC(struct upp_step_event) queue; /* said; before `at` also taken */
    size_t        at;
    uint32_t      parts;        /* opened so far */
    bool          calls;        /* one of them was a call */
    bool          begun, ended; /* OPEN, END was said: what follows END on the wire is passed over */
    uint32_t      answer_part;
    struct wb_buf answer; /* the text of the newest text part, where a structure was asked for */
    int           failed;
    void         *own; /* of the adapter */
};

struct upp__adapter {
    const char *name; /* "anthropic" */
    uint32_t    can;  /* UPP_CAN_* */
    uint8_t     framing;
    size_t      own_size; /* of a reader, cleared */

    /* Fills url, headers and body. `key` is no text where there is none; -UPP_EINVALID names what cannot be said.
     * Things of the past that cannot be said go to upp__loss instead. */
    int (*write)(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                 struct upp__outgoing *out, struct upp_err *err);

    /* One event of a stream. Says what it means by the functions below; errors inside a 200 come back by upp__trouble.
     */
    int (*event)(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);

    /* An answer in one piece. Says the same events as the stream would. */
    int (*whole)(struct upp__reader *r, struct upp_str body, struct upp_err *err);

    /* The stream is over. 0 where the answer is complete (it may say END now); else it fails with -UPP_ENET. */
    int (*eof)(struct upp__reader *r, struct upp_err *err);

    void (*done)(struct upp__reader *r); /* frees what `own` holds outside of the arenas; NULL: nothing */

    /* The body of an answer whose status is no success. Sets what it finds in *t, whose texts live in `a`; the body may
     * be anything at all. */
    void (*trouble)(struct wb_arena *a, struct upp_str body, struct upp__trouble *t);
};

/* ---- For adapters: saying what came
 * ---------------------------------------------------------------------------------- */
/* Texts are borrowed: they must live in r->scratch, in r->keep or in the frame. Failures are sticky in r->failed: an
 * adapter says what it has to and returns upp__check(r, err) once. */

void     upp__say_open(struct upp__reader *r, struct upp_str id); /* once, first; a second one is passed over */
uint32_t upp__say_part(struct upp__reader *r, uint8_t kind, struct upp_str id, struct upp_str name); /* its index */
uint32_t upp__say_media(struct upp__reader *r, uint8_t kind, const struct upp_media *media); /* opened and closed */
void     upp__say_delta(struct upp__reader *r, uint32_t part, struct upp_str text); /* the empty text is passed over */
void     upp__say_close(struct upp__reader *r, uint32_t part);

/* Before the close of a call that was cut off, where what came of its arguments could pass for all of them: no text, or
 * an object that the vendor has closed itself. They are said with a brace that stays open, so that the call is answered
 * by an error and its tool does not run. */
void upp__say_cut(struct upp__reader *r, uint32_t part, struct upp_str arguments);

/* Was an answer that stops so cut off? */
static inline bool upp__is_cut(uint8_t stop)
{
    return stop != UPP_STOP_END && stop != UPP_STOP_TOOLS;
}

/* The end. `metadata` is the object that goes under metadata.PROVIDER, as JSON text; no text: none. Where parts of kind
 * CALL were opened the stop is TOOLS, whatever is given (but LENGTH and FILTER stay). */
void upp__say_end(struct upp__reader *r, uint8_t stop, const struct upp_usage *usage, struct upp_str metadata);
int  upp__check(struct upp__reader *r, struct upp_err *err) UPP_MUST_CHECK;

/* A failure of the adapter's own; 0 is none. The first one counts. */
static inline void upp__note(struct upp__reader *r, int failed)
{
    if (failed < 0 && !r->failed)
        r->failed = failed;
}

/* Reads JSON into r->scratch. -UPP_EPROTO, with the place, where it is none. */
int upp__parse(struct upp__reader *r, struct upp_str text, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- For adapters: looking at JSON from outside
 * ------------------------------------------------------------------------ */
/* All take NULL and values of other types: no text, NULL, 0, false. The last member of a name counts. */

yyjson_val *upp__member(yyjson_val *object, struct upp_str name);
uint64_t    upp__u64(yyjson_val *v); /* 12 and 12.0 are 12; what is none or negative is 0 */

static inline uint64_t upp__sum(uint64_t a, uint64_t b) /* of counts from outside: it stops at the largest */
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The body of an error, read into `a`: of an array the first. What is no JSON but short, and no web page, is the
 * message itself, and so is what some servers say beside `error`: `message`, `detail`. NULL: that is all there is. */
yyjson_val *upp__trouble_read(struct wb_arena *a, struct upp_str body, struct upp__trouble *t);

/* Several members in one pass, as deltas are read: ret[i] is that of names[i]. */
static inline void upp__pick(yyjson_val *object, const struct upp_str *names, size_t n, yyjson_val **ret)
{
    yyjson_val     *key;
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    for (size_t i = 0; i < n; i++)
        ret[i] = NULL;
    while ((key = yyjson_obj_iter_next(&it)))
        for (size_t i = 0; i < n; i++)
            if (wj_named(key, names[i])) {
                ret[i] = yyjson_obj_iter_get_val(key);
                break;
            }
}

static inline struct upp_str upp__str(yyjson_val *v)
{
    return wj_text_of(v);
}

/* By name: inline, because the compiler knows how long most names are. */
static inline yyjson_val *upp__get(yyjson_val *object, const char *name)
{
    return upp__member(object, wb_cstr(name));
}

static inline struct upp_str upp__get_str(yyjson_val *object, const char *name)
{
    return upp__str(upp__get(object, name));
}

static inline uint64_t upp__get_u64(yyjson_val *object, const char *name)
{
    return upp__u64(upp__get(object, name));
}

static inline bool upp__get_true(yyjson_val *object, const char *name)
{
    return yyjson_is_true(upp__get(object, name));
}

/* ---- For adapters: writing
 * ------------------------------------------------------------------------------------------------ */

/* The address: base_url and as much of `path` as it does not end in already. "https://h/v1" with "/v1/messages" is
 * "https://h/v1/messages", and so is "https://h" and "https://h/v1/messages/". A query in base_url stays at the end. */
struct upp_str upp__endpoint(struct wb_arena *a, struct upp_str base_url, struct upp_str path);

void upp__header(struct upp__outgoing *out, const char *name, struct upp_str value);

/* The header that holds the key, where there is one. A way to send it is "bearer", or the name of the header: `own`, or
 * what `auth` of the vendor says, which may be `other` (NULL: there is none). -UPP_EINVALID: it says something else. */
int upp__put_key(struct upp__outgoing *out, const struct upp__vendor *v, struct upp_str key, const char *own,
                 const char *other, struct upp_err *err) UPP_MUST_CHECK;

/* A text for a vendor: as wj_write_str, with U+FFFD for lone surrogates. */
void upp__write_text(struct wj_writer *w, struct upp_str s);

/* JSON text as a value, token for token (lone surrogates as U+FFFD). Fails where it is no JSON. */
void upp__write_json(struct wj_writer *w, struct wb_arena *a, struct upp_str json);

/* Arguments of a call as an object: {} where there are none; {"INVALID_JSON": text} where the model wrote no object. */
void upp__write_arguments(struct wj_writer *w, struct wb_arena *a, struct upp_str arguments);

/* A result as the text a model reads: strings as they are, all else as JSON. In `a`. */
struct upp_str upp__result_text(struct wb_arena *a, struct upp_str result);

/* The name of the tool of a result: its own, or that of the call with its id in the messages before it. */
struct upp_str upp__tool_name(const struct upp_request *req, size_t message, const struct upp_part *result);

/* Something that does not go to this vendor. */
void upp__loss(const struct upp_request *req, size_t message, size_t part, const char *what, const char *why);

/* ---- The adapters
 * ---------------------------------------------------------------------------------------------------------- */

extern const struct upp__adapter upp__anthropic, upp__openai_chat, upp__openai_responses, upp__google, upp__ollama;

#endif
