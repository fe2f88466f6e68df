/* stores/columns.h — what the things of a store consist of, column by column: for whoever binds, reads, copies, seals
 * or checks them.
 */
#ifndef WS_COLUMNS_H
#define WS_COLUMNS_H

#include "log/store.h"

enum ws_type {
    WS_U8,
    WS_U16,
    WS_U32,
    WS_U64, /* also of times */
    WS_BOOL,
    WS_ID,
    WS_ID_OR_NONE, /* all zero: none */
    WS_HASH,       /* 32 bytes */
    WS_TEXT,       /* may be no text */
    WS_NAME,       /* no text is an empty one */
};

struct ws_column {
    uint8_t     type;     /* enum ws_type */
    uint16_t    at;       /* in its struct */
    bool        fixed;    /* WL_SET_THREAD and WL_SET_RUN leave it as it is stored */
    uint8_t     seal;     /* texts with the same number are sealed together; 0: it is not sealed */
    bool        home;     /* here what they are sealed into stands; the others are no text then */
    bool        optional; /* of a home: where none of them is a text, nothing is sealed */
    const char *what;     /* of a text: in an error */
    size_t      max;      /* of a text: bytes; 0: no limit of its own */
};

/* A kind of things. */
struct ws_kind {
    size_t                  size; /* of its struct */
    const struct ws_column *columns;
    size_t                  n;
    unsigned                groups; /* of texts that are sealed */
};
extern const struct ws_kind ws_rows, ws_nodes, ws_threads, ws_runs, ws_aliases, ws_keys, ws_values, ws_pieces;

enum { WS_NODE_COLUMNS = 7 /* of nodes: texts stand behind them */ };

/* Of what get or list gives out. */
const struct ws_kind *ws_kind_of(enum wl_what what);

static inline bool ws_is_text(const struct ws_column *c)
{
    return c->type >= WS_TEXT;
}

static inline struct upp_str *ws_text(const struct ws_column *c, const void *thing)
{
    return (struct upp_str *)(void *)((char *)(uintptr_t)thing + c->at);
}

size_t ws_texts_bytes(const struct ws_kind *k, const void *thing);    /* of all its texts */
void   ws_texts_keep(const struct ws_kind *k, void *thing, char *to); /* copies them there, one behind the other */
void   ws_texts_dup(const struct ws_kind *k, void *thing, struct wb_arena *a);
void   ws_fixed_keep(const struct ws_kind *k, void *thing, const void *old); /* what setting leaves as it is */

/* -UPP_ELIMIT: a text is too long. */
int ws_texts_check(const struct ws_kind *k, const void *thing, struct upp_err *err) UPP_MUST_CHECK;
int ws_text_check(const char *what, struct upp_str s, size_t max, struct upp_err *err) UPP_MUST_CHECK;

#endif
