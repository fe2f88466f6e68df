/* log/search.h — finding messages by words, agent, tool, time and thread.
 *
 * What is found is what everybody sees (audience all) of threads that are there. The words of the log are learned by
 * whoever follows it (wl_learn); a store that keeps none is searched by reading its log, under a limit. Both look at
 * the same text, so that both find the same.
 */
#ifndef WL_SEARCH_H
#define WL_SEARCH_H

#include "log/log.h"

enum {
    WL_SEARCH_MAX   = 100,      /* results of one search */
    WL_SEARCH_ROWS  = 20000,    /* rows of a log that is read instead of its words */
    WL_SEARCH_TEXT  = 64 << 10, /* bytes of a message that are looked at */
    WL_SEARCH_WORDS = 1024,     /* bytes of what is looked for */
};

struct wl_search {
    uint32_t       size;
    struct upp_str words;              /* all of them; case does not matter; no text: any */
    struct upp_str who, tool;          /* whole names; no text: any */
    int64_t        since_ms, until_ms; /* until: exclusive; 0: any */
    struct wb_uuid thread;             /* all zero: any of the owner's */
    uint64_t       after;              /* wl_results.next of the page before; 0: the first */
    size_t         max;                /* 0: 20 */
    size_t         max_rows;           /* 0: WL_SEARCH_ROWS */
};

struct wl_found {
    uint64_t       number; /* for `after` */
    struct wb_uuid entry;  /* its id */
    uint64_t       node;
    uint32_t       index;
    uint8_t        role; /* enum upp_role */
    int64_t        time_ms;
    struct upp_str who;
    struct upp_str snippet;        /* of its text, UTF-8 */
    size_t         match, match_n; /* bytes in it: the first word; match_n 0: none was asked for */
    struct {
        struct wb_uuid thread;
        bool           abandoned; /* the thread has gone back behind it, and on from there */
    } * in;
    size_t n_in; /* at least one */
};

struct wl_results {
    struct wl_found *p; /* newest first */
    size_t           n;
    uint64_t         next;      /* 0: there are no more */
    uint64_t         upto, end; /* rows of the log: how many are known, of how many there are */
    bool             scanned;   /* the log was read, not words that were learned */
    bool             cut;       /* and not all of it */
    bool             whole;     /* whole words were looked for, not pieces of them */
};

/* -UPP_EINVALID: nothing is asked for; -UPP_ELIMIT: too many words; -UPP_EREFUSED: it is off (enum wl_index). */
WEFT_SUSPENDS int wl_search(struct wl_store *s, const struct wl_owner *o, const struct wl_search *q, struct wb_arena *a,
                            struct wl_results *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Learns the words of a stretch of the log: how many rows it took; 0: there was none, all is known.
 * -UPP_EREFUSED: the store keeps no words, or the search is off. */
WEFT_SUSPENDS int wl_learn(struct wl_store *s, size_t *rows, struct upp_err *err) UPP_MUST_CHECK;

/* Learns entries of a node again whose row was set: of those that are not erased the words are the same. -UPP_EREFUSED
 * as above. */
WEFT_SUSPENDS int wl_learn_again(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first,
                                 uint32_t end, struct upp_err *err) UPP_MUST_CHECK;

/* Rows that are set with entries that the search is to find again: values of this space, put with the same commit and
 * taken away when they are learned. Who dies in between leaves them for the next start, or the next sweep. */
#define WL_UNLEARNED "unlearned"

/* Such a note, in the arena. 1: the row needs one. 0: it has but one entry. */
int wl__unlearned(const struct wl_row *row, struct wb_arena *a, struct wl_value *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Learns what the notes of a tenant name; of all tenants. */
WEFT_SUSPENDS int wl_learn_noted(struct wl_store *s, const struct wl_owner *o, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wl_learn_left(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Forgets everything: wl_learn begins from the beginning. */
WEFT_SUSPENDS int wl_forget(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- search_text.c: what of an entry is looked at ---- */

/* -UPP_EREFUSED where it is off. */
int wl__search_on(const struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Lower case, byte for byte as long as before, control characters as blanks. */
void wl__fold(char *p, size_t n);

/* Is it one that is found at all? */
bool wl__is_public(const struct wm_entry *e);

/* Its text (UTF-8, not folded, at most WL_SEARCH_TEXT bytes), and the names of its tools, a line each. */
void wl__text_of(const struct wm_entry *e, struct wb_buf *text, struct wb_buf *tools);

/* The entries of a row that was followed, results joined in. A row that cannot be read has none. */
WEFT_SUSPENDS int wl__row_lines(struct wl_store *s, const struct wl_owner *o, const struct wl_row *row,
                                struct wb_arena *a, struct wl_line **ret, size_t *n,
                                struct upp_err *err) UPP_MUST_CHECK;

#endif
