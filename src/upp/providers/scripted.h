/* upp/providers/scripted.h — a script as the scripted model holds it (docs/scripted.md). */
#pragma once

#include <upp/model.h>

#include "base/arena.h"

enum {
    UPP__SCRIPT_BYTES = 4 << 20, /* of a script, at most */
    UPP__SCRIPT_REPLIES = 65536,
    UPP__SCRIPT_DELAY = 3600000, /* ms before one delta, at most */
    UPP__SCRIPT_HASH = 16,       /* digits */
    UPP__SCRIPT_FILLS = 16,      /* of a reply */
    UPP__SCRIPT_WORDS = 64,      /* texts of a list in a fill or a condition */
};
#define UPP__SCRIPT_MEMBER UPP_STR(",\"script\":\"")

enum upp__at_end { UPP__REPEAT_LAST = 1, UPP__RESTART, UPP__FAIL };

/* One part, ready to be cut into deltas. */
struct upp__script_part {
    uint8_t kind;
    struct upp_str text; /* text, reasoning; the arguments of a call */
    struct upp_str id, name;
    struct upp_media media;
    bool shows; /* its text is the request, as JSON */
};

struct upp__script_error {
    int code; /* 0: the reply is no error */
    int status;
    uint64_t retry_after_ms;
    struct upp_str message;
    bool breaks; /* not at once, but in the place of the delta after `after` of them */
    uint64_t after;
};

struct upp__script_words {
    struct upp_str *p;
    size_t n;
};

/* A mark in what is said that stands for words of the user's question, or of a tool's result. */
struct upp__script_fill {
    struct upp_str mark;                       /* "${city}" */
    struct upp__script_words after, until, is; /* any of them */
    struct upp_str otherwise;
    bool needed;  /* there is no default: without such words the reply does not match */
    bool earlier; /* also words of earlier messages */
    bool number;  /* the first number */
    bool result;  /* of the newest result */
    bool capital; /* lower case words get capital letters */
};

struct upp__reply {
    struct upp_str contains, tool_result, tool; /* empty: any */
    struct upp__script_words words;             /* none: any */
    struct upp__script_part *parts;
    size_t n_parts;
    struct upp__script_fill *fills;
    size_t n_fills;
    bool shows; /* one of its parts is the request */
    struct upp_usage usage;
    uint64_t delta_bytes; /* 0: a text is one delta */
    uint64_t delay_ms;
    struct upp__script_error error;
    struct upp_str data; /* JSON; empty: none */
    struct upp_str metadata;
    struct upp_str id; /* the vendor's; empty: none */
    uint8_t stop;
};

struct upp__script {
    struct wb_arena arena; /* that all of it lives in */
    struct upp_str name;
    struct upp_str tail; /* what an answer's metadata ends with: which script it is, by a hash of its text */
    bool echo;
    bool again;                     /* no reply is used up */
    uint64_t delta_bytes, delay_ms; /* of replies that do not say */
    struct upp__reply *replies;
    size_t n;
    uint8_t at_end;
};

/* Reads a script into *s, whose arena is ready. -UPP_EINVALID names the place. */
int upp__script_read(struct upp__script *s, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;

/* Do the newest text's words include one of these, in any case of letters? */
bool upp__script_has_word(const struct upp_message *m, const struct upp__script_words *words);

/* Has the request what the reply's fills need? */
bool upp__script_fits(const struct upp__reply *reply, const struct upp_request *req);

/* A reply that has fills or shows the request, as it is said in answer to this request, in the arena. */
int upp__script_fill(const struct upp__reply *reply, const struct upp_request *req, struct wb_arena *a,
                     const struct upp__reply **ret, struct upp_err *err) UPP_MUST_CHECK;
