/* dialects/aitp/capabilities.h — structured messages between AITP's actors.
 *
 * A structured message is JSON in a string of `content`: {"$schema": URL, KIND: {...}}. Five capabilities are known;
 * messages of others pass unchanged. wd_aitp_check checks one message by itself: strictly before it is sent, leniently
 * when it was received. wd_aitp_follow follows a whole thread: which reply belongs to which request, and the state of
 * each. Times are those of the messages, never a clock's.
 */
#pragma once

#include "dialects/core/document.h"

enum wd_aitp_capability {
    WD_AITP_UNKNOWN,
    WD_AITP_PAYMENTS,
    WD_AITP_DECISIONS,
    WD_AITP_DATA_REQUEST,
    WD_AITP_NEAR_WALLET,
    WD_AITP_EVM_WALLET,
    WD_AITP_CAPABILITIES
};

enum { WD_AITP_MAJORS = 2 }; /* majors 0 and 1 of each are known */

/* .../capabilities/NAME/vMAJOR.MINOR.PATCH/schema.json */
struct wd_aitp_schema {
    struct upp_str name;
    uint64_t major, minor, patch;
};

bool wd_aitp_schema_parse(struct upp_str url, struct wd_aitp_schema *ret); /* false: not such a URL */
enum wd_aitp_capability wd_aitp_capability(struct upp_str url);

/* Does each of these actors have the capability, with the same name and major? */
bool wd_aitp_shares(yyjson_val *actors, const struct wd_aitp_schema *schema);

/* What a kind of message does. */
enum wd_aitp_does {
    WD_AITP_TELLS, /* no reply is expected */
    WD_AITP_ASKS,
    WD_AITP_REPLIES,
    WD_AITP_QUOTES,
    WD_AITP_WRAPS, /* passes on someone else's quote */
    WD_AITP_PAYS,
    WD_AITP_CONFIRMS,
};

struct wd_aitp_kind {
    uint8_t capability, does;
    const char *name;    /* "request_decision" */
    const char *id;      /* the member that holds the id */
    const char *answers; /* the kind that it replies to */
    const struct wd_aitp_shape *shape;
};

/* The kind of a structured message, and its body. NULL: unknown. */
const struct wd_aitp_kind *wd_aitp_kind(yyjson_val *message, yyjson_val **body);

/* Checks one structured message, a value of p->root. Strict: unknown members of closed shapes, and unknown kinds,
 * are errors; else warnings. Returns the number of errors. */
int wd_aitp_check(yyjson_val *message, bool strict, struct wd_problems *p);

/* The same for a message in a string: problems point to `string` and name the pointer inside. `inside`: the parsed
 * root. */
int wd_aitp_check_inside(const yyjson_val *string, yyjson_val *inside, bool strict, struct wd_problems *p);

/* Reports a problem within `inside`, at the string. */
void wd_aitp_problem(struct wd_problems *p, enum wd_severity severity, const char *rule, const yyjson_val *string,
                     yyjson_val *inside, const yyjson_val *at, const char *fmt, ...) UPP_PRINTF(7, 8);

/* Parses the structured message in an item of `content` into `a`. 1: *ret is set. 0: it is ordinary text. */
int wd_aitp_structured(struct wb_arena *a, yyjson_val *item, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

enum wd_aitp_state {
    WD_AITP_OPEN = 1, /* not answered yet */
    WD_AITP_DECIDED,
    WD_AITP_ANSWERED,
    WD_AITP_SUPERSEDED, /* asked again with the same id */
    WD_AITP_QUOTED,
    WD_AITP_PAID,
    WD_AITP_PENDING,
    WD_AITP_SUCCESS,
    WD_AITP_FAILURE,
    WD_AITP_EXPIRED,
    WD_AITP_STATES
};

const char *wd_aitp_state_name(uint8_t state);

/* What moves a request or a quote from one state to another (aitp.c). */
enum wd_aitp_move {
    WD_AITP_ASKED_AGAIN, /* with the same id */
    WD_AITP_DECIDES,
    WD_AITP_ANSWERS,
    WD_AITP_IS_PAID,
    WD_AITP_PENDS, /* this and the next two: a confirmation, by its result */
    WD_AITP_SUCCEEDS,
    WD_AITP_FAILS,
    WD_AITP_EXPIRES, /* its time has passed, unpaid */
    WD_AITP_MOVES
};

/* The state after a move; 0: the move is not allowed in that state. */
uint8_t wd_aitp_after(uint8_t state, enum wd_aitp_move move);

#define WD_AITP_NO_REPLY UINT32_MAX
enum { WD_AITP_EXCHANGES = 4096 }; /* followed per thread, at most */

/* A request, and its state. */
struct wd_aitp_exchange {
    const struct wd_aitp_kind *kind; /* of the request */
    struct upp_str id;
    uint8_t state;
    uint32_t request, reply;  /* indexes of messages in the thread; reply: the last one */
    int64_t expires_ms;       /* INT64_MAX: never */
    yyjson_val *asked, *paid; /* items of `content` */
    struct upp_str asker;     /* who asks; empty: unknown */
};

struct wd_aitp_exchanges {
    struct wb_arena a; /* WB_ARENA(...); holds the ids */
    uint32_t from;     /* problems of messages before this one are not reported */
    WB_VEC(struct wd_aitp_exchange) list;
    size_t more; /* requests that did not fit into the list */
};

/* Lists all exchanges of a thread, in order. Problems go to p; accepts NULL. */
int wd_aitp_follow(struct wd_aitp_exchanges *x, yyjson_val *thread, struct wd_problems *p,
                   struct upp_err *err) UPP_MUST_CHECK;
void wd_aitp_exchanges_done(struct wd_aitp_exchanges *x);

/* Tables of the members of structured messages (shapes.c). */

enum wd_aitp_type {
    WD_AITP_TEXT,
    WD_AITP_AMOUNT, /* string: "12" or "12.50" */
    WD_AITP_TIME,   /* string: date and time with an offset */
    WD_AITP_WORD,   /* one of `of`, an array of strings that ends with NULL */
    WD_AITP_WHOLE,  /* integer */
    WD_AITP_WEIGHT, /* integer, 1 or more */
    WD_AITP_NUMBER,
    WD_AITP_RATING, /* 0 to 5 */
    WD_AITP_BOOL,
    WD_AITP_VALUE,   /* string or number */
    WD_AITP_ANY,     /* any object */
    WD_AITP_OBJECT,  /* object of the shape `of` */
    WD_AITP_HEX,     /* string: 0x and hexadecimal digits */
    WD_AITP_ADDRESS, /* 0x and 40 digits */
    WD_AITP_HASH,    /* 0x and 64 digits */
    WD_AITP_NONCE,   /* base64 of 32 bytes */
};

enum { WD_AITP_MUST = 1 << 0, WD_AITP_LIST = 1 << 1, WD_AITP_SOME = 1 << 2 }; /* SOME: a list of at least one */

struct wd_aitp_member {
    const char *name; /* NULL: end of the table */
    uint8_t type, flags;
    const void *of;
};

struct wd_aitp_shape {
    const struct wd_aitp_member *members;
    bool closed; /* other members are errors */
};

extern const struct wd_aitp_kind wd_aitp_kinds[]; /* ends with a kind without a name */
