/* upp/message.h — what is said: messages made of ordered parts.
 *
 * There is one message struct, used by providers, agents, the log and every dialect. UPP's `content`, `toolCalls` and
 * `results` are views of its parts (upp_part_next): the order in which things were said is never lost.
 *
 * A message is plain data and owns nothing: its texts live where it was made (a turn, a request). All zero is the
 * empty message. JSON inside is text: arguments, results and metadata are kept as they were written.
 */
#ifndef UPP_MESSAGE_H
#define UPP_MESSAGE_H

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum upp_role {
    UPP_ROLE_USER      = 1,
    UPP_ROLE_ASSISTANT = 2,
    UPP_ROLE_TOOL      = 3, /* results: UPP's type "tool_result" */
};

enum upp_part_kind {
    UPP_PART_TEXT      = 1,
    UPP_PART_REASONING = 2,
    UPP_PART_IMAGE     = 3,
    UPP_PART_DOCUMENT  = 4,
    UPP_PART_AUDIO     = 5,
    UPP_PART_VIDEO     = 6,
    UPP_PART_BINARY    = 7,
    UPP_PART_CALL      = 8,
    UPP_PART_RESULT    = 9,
};

/* Sets of kinds, for upp_part_next. */
enum {
    UPP_PARTS_CALLS   = 1 << UPP_PART_CALL,
    UPP_PARTS_RESULTS = 1 << UPP_PART_RESULT,
    UPP_PARTS_CONTENT = (1 << UPP_PART_CALL) - 2, /* all that is neither call nor result */
};

/* Where the bytes of a medium are. */
enum upp_source {
    UPP_SOURCE_BASE64 = 1, /* data is base64; JSON {"type":"base64"} where the block has a source */
    UPP_SOURCE_BYTES  = 2, /* the same, said as {"type":"bytes"} */
    UPP_SOURCE_URL    = 3, /* data is the address */
    UPP_SOURCE_TEXT   = 4, /* data is the text of a document */
};

struct upp_media {
    uint8_t        source; /* enum upp_source */
    struct upp_str data;   /* as the source says; bytes are always padded base64 */
    struct upp_str mime, title;
    struct upp_str duration;      /* seconds, as a JSON number; no text: not said */
    struct upp_str width, height; /* the same */
};

struct upp_part {
    uint8_t        kind;     /* enum upp_part_kind */
    bool           is_error; /* result */
    bool           cut;      /* the message was interrupted inside of it; a call that was cut is never run */
    struct upp_str id;       /* call, result: the id of the call */
    struct upp_str name;     /* call, result: the tool; a result may lack it */
    struct upp_str text;     /* text, reasoning: what it says; call: the arguments, exactly as the model wrote them;
                              * result: a JSON value */
    struct upp_str          metadata; /* JSON object by provider; no text: none */
    const struct upp_media *media;    /* image, document, audio, video, binary */
};

struct upp_message {
    uint8_t          role;        /* enum upp_role */
    bool             interrupted; /* its writer was stopped: what was said until then */
    struct upp_str   id;          /* UPP's id: the vendor's or the client's text. Data, never a key */
    int64_t          time_ms;     /* since 1970 */
    struct upp_str   time_text;   /* an imported time as it was written; no text: time_ms is all there is */
    struct upp_str   metadata;    /* JSON object by provider; no text: none */
    struct upp_part *parts;
    size_t           n_parts;
};

/* The first part of one of these kinds after `prev` (NULL: from the beginning), or NULL. */
UPP_API const struct upp_part *upp_part_next(const struct upp_message *m, const struct upp_part *prev, unsigned kinds);

struct upp_usage {
    uint64_t input, output, cache_read, cache_write; /* tokens; a total is input + output */
    uint64_t reasoning;                              /* of the output: what was thought; 0: not said */
};

#ifdef __cplusplus
}
#endif
#endif
