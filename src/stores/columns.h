/* stores/columns.h — the columns of each kind of stored object: for code that binds, reads, copies, seals or checks
 * them.
 */
#pragma once

#include "log/store.h"

enum ws_type {
    WS_U8,
    WS_U16,
    WS_U32,
    WS_U64, /* also for times */
    WS_BOOL,
    WS_ID,
    WS_ID_OR_NONE, /* all zero: none */
    WS_HASH,       /* 32 bytes */
    WS_TEXT,       /* may be NULL */
    WS_NAME,       /* NULL counts as empty */
};

struct ws_column {
    uint8_t type;     /* enum ws_type */
    uint16_t at;      /* offset in its struct */
    bool fixed;       /* WL_SET_THREAD and WL_SET_RUN leave it as stored */
    uint8_t seal;     /* texts with the same number are sealed together; 0: not sealed */
    bool home;        /* holds the sealed bytes of its group; the group's other columns are NULL then */
    bool optional;    /* of a home: if all texts of the group are NULL, nothing is sealed */
    const char *what; /* of a text: its name in error messages */
    size_t max;       /* of a text: its limit in bytes; 0: none of its own */
};

/* What get gives out. A store fills one and copies it to the caller only on success. */
union ws_object {
    struct wl_node node;
    struct wl_thread thread;
    struct wm_run run;
    struct wl_alias alias;
    struct wl_key key;
    struct wl_value value;
    struct wl_piece piece;
    struct wl_progress progress;
    struct wl_size size;
};

/* A kind of stored object. */
struct ws_kind {
    size_t size; /* of its struct */
    const struct ws_column *columns;
    size_t n;
    unsigned groups; /* number of groups of sealed texts */
};
extern const struct ws_kind ws_rows, ws_nodes, ws_threads, ws_runs, ws_aliases, ws_keys, ws_values, ws_pieces;

enum { WS_NODE_COLUMNS = 7 /* of nodes: the texts come after them */ };

/* The kind that a get or list returns. */
const struct ws_kind *ws_kind_of(enum wl_what what);

static inline bool ws_is_text(const struct ws_column *c)
{
    return c->type >= WS_TEXT;
}

static inline struct upp_str *ws_text(const struct ws_column *c, const void *thing)
{
    return (struct upp_str *)(void *)((char *)(uintptr_t)thing + c->at);
}

size_t ws_texts_bytes(const struct ws_kind *k, const void *thing);  /* of all its texts */
void ws_texts_copy(const struct ws_kind *k, void *thing, char *to); /* copies them to `to`, one after the other */
void ws_texts_dup(const struct ws_kind *k, void *thing, struct wb_arena *a);
void ws_fixed_copy(const struct ws_kind *k, void *thing, const void *old); /* copies the fixed columns of `old` */

/* -UPP_ELIMIT: a text is too long. */
int ws_texts_check(const struct ws_kind *k, const void *thing, struct upp_err *err) UPP_MUST_CHECK;
int ws_text_check(const char *what, struct upp_str s, size_t max, struct upp_err *err) UPP_MUST_CHECK;
