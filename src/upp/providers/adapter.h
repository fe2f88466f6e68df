/* upp/providers/adapter.h — a vendor's API: a request into bytes, bytes into the events of a step. No I/O.
 *
 * upp/providers/provider.c does the rest for all adapters: keys, transport, framing, limits, HTTP errors, structured
 * output, and the invariants of upp/model.h. To add one: docs/adding-a-provider.md.
 */
#pragma once

#include <upp/provider.h>

#include "base/arena.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "upp/providers/provider_error.h"
#include "upp/http/frames.h"

/* Differences of servers that implement another vendor's API; bits of upp__vendor.habits. */
enum upp__habit {
    UPP__DEVELOPER_ROLE = 1 << 1,    /* the system text has the role "developer" */
    UPP__NO_STREAM_USAGE = 1 << 2,   /* stream_options is refused */
    UPP__REASONING_APART = 1 << 3,   /* completion_tokens excludes the reasoning tokens: xAI */
    UPP__REASONING_BACK = 1 << 4,    /* reasoning_content is sent back with calls: Moonshot, DeepSeek */
    UPP__REASONING_DETAILS = 1 << 5, /* reasoning_details are sent back unchanged: OpenRouter */
    UPP__KEY_OPTIONAL = 1 << 6,
};

/* A model as its adapter sees it. Constant once made. */
struct upp__vendor {
    const struct upp__adapter *adapter;
    const char *provider; /* "groq": the namespace of its metadata */
    struct upp_str model;
    struct upp_str base_url;    /* as given, or the provider's own */
    struct upp_str api_version; /* empty: the adapter's default */
    struct upp_str auth;
    unsigned habits;
    uint64_t timeout_ms; /* until an answer begins */
    struct upp_str own;  /* a setting of this adapter alone (upp__model_set_own); empty: none */
};

/* Bytes of JSON that is read at once, at most: an answer, or stored metadata. Their own limits are lower. */
enum { UPP__JSON = 256 << 20 };

/* A request being made. */
struct upp__outgoing {
    struct wb_arena *arena;     /* of url and headers */
    struct upp_str method, url; /* method: empty: POST */
    struct upp_header *headers; /* room for UPP__HEADERS; the key's is among them */
    size_t n_headers;
    char *bearer; /* "Bearer KEY", if sent that way: wiped before the arena is freed */
    size_t n_bearer;
    struct wb_buf body;
};
enum { UPP__HEADERS = 64 };

/* A step being read. */
struct upp__reader {
    const struct upp__vendor *vendor;
    const struct upp_request *request;
    struct wb_arena keep;                /* until the step is closed */
    struct wb_arena scratch;             /* until the events of one wire event are consumed */
    WB_VEC(struct upp_step_event) queue; /* reported; those before `at` are consumed */
    size_t at;
    uint32_t parts;    /* number of parts opened */
    bool calls;        /* one of them is a call */
    bool begun, ended; /* OPEN, END was reported: what follows END on the wire is ignored */
    uint8_t text_kind; /* of the part that upp__say_text has open; 0: none */
    uint32_t text_part;
    uint32_t answer_part;
    struct wb_buf answer;  /* the text of the newest text part, if structured output was requested */
    struct wb_buf own_ids; /* JSON: ids that we gave to calls without one, without brackets */
    int failed;
    void *own; /* of the adapter */
};

struct upp__adapter {
    const char *name; /* "anthropic" */
    uint32_t can;     /* UPP_CAN_* */
    uint8_t framing;
    size_t own_size; /* of a reader, cleared */

    /* Fills url, headers and body. `key` may be empty; -UPP_EINVALID names what cannot be expressed. Parts of the
     * history that cannot be expressed go to upp__loss instead. */
    int (*write)(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                 struct upp__outgoing *out, struct upp_err *err);

    /* One event of a stream. Reports output with the functions below; fails for errors inside a 200. */
    int (*event)(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);

    /* A complete answer. Reports the same events as a stream. */
    int (*whole)(struct upp__reader *r, struct upp_str body, struct upp_err *err);

    /* The stream is over. 0: the answer is complete (END may be reported now); else -UPP_ENET. NULL: an answer is
     * complete with its last event, which `last` names. */
    int (*eof)(struct upp__reader *r, struct upp_err *err);
    const char *last;

    void (*done)(struct upp__reader *r); /* frees what `own` holds outside of the arenas; NULL: nothing */

    /* For answers that take several requests, each with a whole answer: writes the next one, to be sent after *wait_ms,
     * as long as there is no END. 0, or < 0. `refused`: an answer of another status than 2xx; true: it is no failure,
     * and `more` goes on. Once OPEN was reported, a failure of the network is not worth another attempt. Both or
     * neither. */
    int (*more)(struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, uint64_t *wait_ms,
                struct upp_err *err);
    bool (*refused)(struct upp__reader *r, int status);

    /* For servers that work on when nobody reads: writes the request that ends the call. 1: it is to be sent; 0: there
     * is nothing to end. `key` as for write. NULL: closing the connection is enough. */
    int (*stop)(const struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, struct upp_err *err);

    /* The error in an event, or in the body of an error response. Sets what it finds in *t; accepts any value. */
    void (*error)(yyjson_val *v, struct upp__provider_error *t);
};

WB_EXPORT_BEGIN

/* The stream is over: calls `eof`, or checks for END. Frees a reader. */
int upp__eof(struct upp__reader *r, struct upp_err *err) UPP_MUST_CHECK;
void upp__reader_done(struct upp__reader *r);

/* For adapters: reporting output. */
/* Texts are borrowed: they must live in r->scratch, in r->keep or in the frame. Failures are sticky in r->failed: an
 * adapter reports everything and returns upp__check(r, err) once. */

void upp__say_open(struct upp__reader *r, struct upp_str id); /* once, first; a second one is ignored */
uint32_t upp__say_part(struct upp__reader *r, uint8_t kind, struct upp_str id, struct upp_str name); /* its index */
uint32_t upp__say_media(struct upp__reader *r, uint8_t kind, const struct upp_media *media); /* opened and closed */
void upp__say_delta(struct upp__reader *r, uint32_t part, struct upp_str text); /* an empty text is ignored */
void upp__say_close(struct upp__reader *r, uint32_t part);

/* Text or reasoning of a wire without parts: continues the open part, or opens one if the kind changes. Any other part,
 * END and upp__end_text close it. */
void upp__say_text(struct upp__reader *r, uint8_t kind, struct upp_str text);
void upp__end_text(struct upp__reader *r);

/* For a truncated call, before its close, if its arguments look complete: empty, or an object that the vendor has
 * closed itself. They are reported without the closing brace, so that the call gets an error result and its tool does
 * not run. */
void upp__say_cut(struct upp__reader *r, uint32_t part, struct upp_str arguments);

/* Is an answer with this stop truncated? */
static inline bool upp__is_cut(uint8_t stop)
{
    return stop != UPP_STOP_END && stop != UPP_STOP_TOOLS;
}

/* The end. `metadata` is the object for metadata.PROVIDER, as JSON text; empty: none. If parts of kind CALL were
 * opened, the stop is TOOLS, unless LENGTH or FILTER is given. */
void upp__say_end(struct upp__reader *r, uint8_t stop, const struct upp_usage *usage, struct upp_str metadata);
int upp__check(struct upp__reader *r, struct upp_err *err) UPP_MUST_CHECK;

/* Writes that metadata. Members without a value are omitted. */
struct upp__metadata {
    struct wb_buf b;
    struct wj_writer w;
};
void upp__metadata_begin(struct upp__metadata *m);
void upp__metadata_str(struct upp__metadata *m, const char *name, struct upp_str text);
void upp__metadata_json(struct upp__metadata *m, const char *name, struct upp_str json);
void upp__metadata_value(struct upp__metadata *m, const char *name, yyjson_val *v);
void upp__metadata_list(struct upp__metadata *m, const char *name, const struct wb_buf *items);
struct upp_str upp__metadata_end(struct upp__metadata *m, struct upp__reader *r); /* in r->keep */

/* Maps a vendor's stop reason; `otherwise` if the table, which ends with NULL, does not have it. */
struct upp__stop {
    const char *word;
    uint8_t stop;
};
uint8_t upp__stop_of(const struct upp__stop *table, struct upp_str word, uint8_t otherwise);

/* A failure of the adapter; 0: none. The first one counts. */
static inline void upp__note(struct upp__reader *r, int failed)
{
    if (failed < 0 && !r->failed)
        r->failed = failed;
}

/* Reads JSON into r->scratch. -UPP_EPROTO, with the position, if it is not JSON. */
int upp__parse(struct upp__reader *r, struct upp_str text, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

/* For adapters: reading JSON of vendors. */
/* All accept NULL and values of other types: the result is empty, NULL, 0, false. The last member of a name counts. */

yyjson_val *upp__member(yyjson_val *object, struct upp_str name);
uint64_t upp__u64(yyjson_val *v); /* 12 and 12.0 are 12; negative and non-numbers are 0 */

static inline uint64_t upp__sum(uint64_t a, uint64_t b) /* of counts of vendors: saturates */
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The body of an error response, its texts in `a`; of an array the first item. A short body that is neither JSON nor
 * HTML is the message, and so are the members `message` and `detail` that some servers send instead of `error`. */
void upp__provider_error_read(const struct upp__adapter *adapter, struct wb_arena *a, struct upp_str body,
                              struct upp__provider_error *t);

/* Fails with an error that an answer of status 200 holds. */
int upp__fail_inside(struct upp__reader *r, yyjson_val *v, struct upp_err *err);

WB_EXPORT_END

/* Several members in one pass, for deltas: ret[i] is that of names[i]. */
static inline void upp__pick(yyjson_val *object, const struct upp_str *names, size_t n, yyjson_val **ret)
{
    yyjson_val *key;
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

/* By name: inline, because the compiler knows the length of most names. */
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

/* For adapters: writing. */

WB_EXPORT_BEGIN

/* The address: base_url and as much of `path` as it does not end in already. "https://h/v1" with "/v1/messages" is
 * "https://h/v1/messages", and so is "https://h" and "https://h/v1/messages/". A query in base_url stays at the end. */
struct upp_str upp__endpoint(struct wb_arena *a, struct upp_str base_url, struct upp_str path);

void upp__header(struct upp__outgoing *out, const char *name, struct upp_str value);

/* Adds the header with the key, if there is one: "bearer", or a header of that name. `own` is the default; the vendor's
 * `auth` may choose `other` (NULL: none). -UPP_EINVALID: `auth` is something else. */
int upp__put_key(struct upp__outgoing *out, const struct upp__vendor *v, struct upp_str key, const char *own,
                 const char *other, struct upp_err *err) UPP_MUST_CHECK;

/* As wj_write_str, with U+FFFD for lone surrogates. */
void upp__write_text(struct wj_writer *w, struct upp_str s);

/* JSON text as a value, token for token (lone surrogates as U+FFFD). Fails if it is not JSON. */
void upp__write_json(struct wj_writer *w, struct wb_arena *a, struct upp_str json);

/* Arguments of a call as an object: {} if empty; {"INVALID_JSON": text} if they are not an object. */
void upp__write_arguments(struct wj_writer *w, struct wb_arena *a, struct upp_str arguments);

/* A result as text for the model: strings unchanged, all else as JSON. In `a`. */
struct upp_str upp__result_text(struct wb_arena *a, struct upp_str result);

/* The tool of a result: its own name, or that of the call with its id in earlier messages. */
struct upp_str upp__tool_name(const struct upp_request *req, size_t message, const struct upp_part *result);

/* Reports something that is not sent to this vendor. */
void upp__loss(const struct upp_request *req, size_t message, size_t part, const char *what, const char *why);

WB_EXPORT_END

extern const struct upp__adapter upp__anthropic, upp__openai_chat, upp__openai_responses, upp__google, upp__ollama;
