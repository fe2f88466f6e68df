/* log/search.h — finds messages by words, author, tool, time and thread.
 *
 * Only what everybody sees (audience all), of existing threads, is found. wl_index_rows indexes the words of the log as
 * it grows; a store without an index is searched by scanning its log, under a limit. Both compare the same text, so
 * both find the same messages.
 */
#pragma once

#include "log/log.h"

enum {
    WL_SEARCH_MAX = 100,        /* results of one search */
    WL_SEARCH_IN = 256,         /* threads named by one result */
    WL_SEARCH_ROWS = 20000,     /* rows scanned, at most, if there is no index */
    WL_SEARCH_TEXT = 64 << 10,  /* bytes of a message that are searched */
    WL_SEARCH_WORDS = 1024,     /* bytes of the query's words */
    WL_SEARCH_BYTES = 64 << 20, /* bytes read, about: then `next` continues */
};

struct wl_search {
    uint32_t size;
    struct upp_str words;       /* all must match, ignoring case; empty: any */
    struct upp_str who, tool;   /* whole names; empty: any */
    int64_t since_ms, until_ms; /* until: exclusive; 0: any */
    struct wb_uuid thread;      /* all zero: any of the owner's */
    uint64_t after;             /* wl_results.next of the previous page; 0: the first page */
    size_t max;                 /* 0: 20 */
    size_t max_rows;            /* 0: WL_SEARCH_ROWS */
    size_t max_bytes;           /* 0: WL_SEARCH_BYTES */
};

struct wl_found {
    uint64_t number;      /* for `after` */
    struct wb_uuid entry; /* its id */
    uint64_t node;
    uint32_t index;
    uint8_t role; /* enum upp_role */
    int64_t time_ms;
    struct upp_str who;
    struct upp_str snippet; /* of its text, UTF-8 */
    size_t match, match_n;  /* byte range of the first word in it; match_n 0: the query has no words */
    struct {
        struct wb_uuid thread;
        bool abandoned; /* the thread was restored to a position before it and continued from there */
    } * in;
    size_t n_in; /* at least one, at most WL_SEARCH_IN */
    bool more;   /* there are more threads than these */
};

struct wl_results {
    struct wl_found *p; /* newest first */
    size_t n;
    uint64_t next;      /* 0: there are no more */
    uint64_t upto, end; /* rows of the log: how many are indexed, and how many there are */
    bool scanned;       /* by scanning the log, not by the index */
    bool cut;           /* the scan did not cover all of it */
    bool whole;         /* matched whole words, not parts of words */
};

/* -UPP_EINVALID: an empty query; -UPP_ELIMIT: too many words; -UPP_EREFUSED: search is off (enum wl_index). */
WEFT_SUSPENDS int wl_search(struct wl_store *s, const struct wl_owner *o, const struct wl_search *q, struct wb_arena *a,
                            struct wl_results *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Indexes the words of the next rows of the log. *rows: how many; 0: everything is indexed. -UPP_EREFUSED: the store
 * has no index, or search is off. */
WEFT_SUSPENDS int wl_index_rows(struct wl_store *s, size_t *rows, struct upp_err *err) UPP_MUST_CHECK;

/* Indexes entries of a node again after their row was set: those that are not erased have the same words as before.
 * -UPP_EREFUSED as above. */
WEFT_SUSPENDS int wl_reindex(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, uint32_t end,
                             struct upp_err *err) UPP_MUST_CHECK;

/* Rows that were set and whose other entries must be indexed again: values of this space, put with the same commit and
 * removed once the entries are indexed. After a crash in between, the next start or sweep does it. */
#define WL_REINDEX "unlearned"

/* Makes such a note in the arena. 1: the row needs one. 0: it has only one entry. */
int wl__reindex_note(const struct wl_row *row, struct wb_arena *a, struct wl_value *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Indexes what the notes of one tenant name; of all tenants. */
WEFT_SUSPENDS int wl_reindex_pending(struct wl_store *s, const struct wl_owner *o, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wl_reindex_pending_all(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Drops the whole index: wl_index_rows starts from the beginning. */
WEFT_SUSPENDS int wl_index_reset(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- search_text.c: which text of an entry is searched ---- */

/* -UPP_EREFUSED if search is off. */
int wl__search_on(const struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* To lower case, without changing any length; control characters become blanks. */
void wl__fold(char *p, size_t n);

/* Can the search find this entry at all? */
bool wl__is_public(const struct wm_entry *e);

/* Its text (UTF-8, not folded, at most WL_SEARCH_TEXT bytes), and the names of its tools, one per line. */
void wl__text_of(const struct wm_entry *e, struct wb_buf *text, struct wb_buf *tools);

/* The entries of a followed row, with results joined in. A row that cannot be read has none. */
WEFT_SUSPENDS int wl__row_lines(struct wl_store *s, const struct wl_owner *o, const struct wl_row *row,
                                struct wb_arena *a, struct wl_line **ret, size_t *n,
                                struct upp_err *err) UPP_MUST_CHECK;
