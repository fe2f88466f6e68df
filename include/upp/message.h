/* upp/message.h — messages: ordered lists of parts.
 *
 * Providers, agents, the log and all dialects use the same message struct. UPP's `content`, `toolCalls` and `results`
 * are views of its parts (upp_part_next), so the order of the parts is never lost.
 *
 * A message is plain data and owns nothing: its strings belong to whatever created it (a turn, a request). All zero is
 * the empty message. JSON members are strings: arguments, results and metadata stay exactly as they were written.
 */
#pragma once

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum upp_role {
    UPP_ROLE_USER = 1,
    UPP_ROLE_ASSISTANT = 2,
    UPP_ROLE_TOOL = 3, /* results: UPP's type "tool_result" */
};

enum upp_part_kind {
    UPP_PART_TEXT = 1,
    UPP_PART_REASONING = 2,
    UPP_PART_IMAGE = 3,
    UPP_PART_DOCUMENT = 4,
    UPP_PART_AUDIO = 5,
    UPP_PART_VIDEO = 6,
    UPP_PART_BINARY = 7,
    UPP_PART_CALL = 8,
    UPP_PART_RESULT = 9,
};

/* Sets of kinds, for upp_part_next. */
enum {
    UPP_PARTS_CALLS = 1 << UPP_PART_CALL,
    UPP_PARTS_RESULTS = 1 << UPP_PART_RESULT,
    UPP_PARTS_CONTENT = (1 << UPP_PART_CALL) - 2, /* everything except calls and results */
};

/* What `data` of a struct upp_media is. */
enum upp_source {
    UPP_SOURCE_BASE64 = 1, /* base64; in JSON {"type":"base64"} if the block has a source */
    UPP_SOURCE_BYTES = 2,  /* base64 too; in JSON {"type":"bytes"} */
    UPP_SOURCE_URL = 3,    /* a URL */
    UPP_SOURCE_TEXT = 4,   /* the text of a document */
};

struct upp_media {
    uint8_t source;      /* enum upp_source */
    struct upp_str data; /* depends on source; base64 is always padded */
    struct upp_str mime, title;
    struct upp_str duration;      /* seconds, as a JSON number; NULL: unknown */
    struct upp_str width, height; /* JSON numbers too */
};

struct upp_part {
    uint8_t kind;                  /* enum upp_part_kind */
    bool is_error;                 /* result */
    bool cut;                      /* incomplete: the message was interrupted inside it; a cut call is never run */
    struct upp_str id;             /* call, result: the id of the call */
    struct upp_str name;           /* call, result: the tool; may be absent in a result */
    struct upp_str text;           /* text, reasoning: the text; call: the arguments, exactly as the model wrote them;
                                    * result: a JSON value */
    struct upp_str metadata;       /* JSON object keyed by provider; NULL: none */
    const struct upp_media *media; /* image, document, audio, video, binary */
};

struct upp_message {
    uint8_t role;             /* enum upp_role */
    bool interrupted;         /* generation was stopped: the message is incomplete */
    struct upp_str id;        /* UPP's id, from the vendor or the client: data, not a key */
    int64_t time_ms;          /* since 1970 */
    struct upp_str time_text; /* an imported timestamp as it was written; NULL: only time_ms */
    struct upp_str metadata;  /* JSON object keyed by provider; NULL: none */
    struct upp_part *parts;
    size_t n_parts;
};

/* Returns the first part of one of these kinds after `prev` (NULL: from the beginning), or NULL. */
UPP_API const struct upp_part *upp_part_next(const struct upp_message *m, const struct upp_part *prev, unsigned kinds);

struct upp_usage {
    uint64_t input, output, cache_read, cache_write; /* tokens; the total is input + output */
    uint64_t reasoning;                              /* part of output; 0: unknown */
};

#ifdef __cplusplus
}
#endif
