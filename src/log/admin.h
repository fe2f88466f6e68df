/* log/admin.h — the audit of the store: what administrators have done to it.
 *
 * One row per action, a value of Weft's own tenant. It is written twice: before the action, as "started", so that an
 * action without a row does not happen, and after it with its outcome. A row that stays "started" is of a process that
 * did not survive its action. What happens inside of a thread is in the thread's own log, not here.
 *
 * Invariants
 *  1. Rows are listed with the newest first, also after the clock was set back: each begins later than the newest that
 *     is there, unless that one is more than a day ahead.
 *  2. Texts of a row are cut at WL_ADMIN_TEXT bytes: a row is small, whatever a client sends.
 */
#pragma once

#include "log/store.h"

enum {
    WL_ADMIN_ID = 32,    /* hex digits */
    WL_ADMIN_TEXT = 512, /* bytes of each text, at most */
    WL_ADMIN_PAGE = 256, /* rows read at once */
};

enum wl_admin_outcome { WL_ADMIN_STARTED, WL_ADMIN_DONE, WL_ADMIN_FAILED, WL_ADMIN_OUTCOMES };
extern const char *const wl_admin_outcomes[WL_ADMIN_OUTCOMES];

/* Who acted. */
enum wl_admin_actor { WL_ADMIN_KEY, WL_ADMIN_LOCAL, WL_ADMIN_SIGNAL, WL_ADMIN_ACTORS };
extern const char *const wl_admin_actors[WL_ADMIN_ACTORS];

struct wl_admin {
    char id[WL_ADMIN_ID + 1];     /* set by wl_admin_begin */
    int64_t time_ms;              /* likewise */
    uint8_t actor;                /* enum wl_admin_actor */
    uint8_t outcome;              /* enum wl_admin_outcome */
    int64_t uid;                  /* LOCAL: of the process; < 0: not known */
    struct upp_str key, key_name; /* KEY: its id and name */
    struct upp_str tenant, user;  /* for whom; empty: the whole store */
    struct upp_str action;        /* "key.create" */
    struct upp_str target;        /* "key 28c0a16bb11f2a6f" */
    struct upp_str detail;        /* what else is to be known; empty: nothing */
    struct upp_str error;         /* FAILED: "CODE: sentence" */
    struct upp_str request;       /* id of the HTTP request; empty: none */
};

/* Stores the row as started; sets its id and time. */
WEFT_SUSPENDS int wl_admin_begin(struct wl_store *s, struct wl_admin *row, struct upp_err *err) UPP_MUST_CHECK;

/* Stores it with the outcome: r of the action, with its error (r < 0). What cannot be stored is logged: the action
 * happened. */
WEFT_SUSPENDS void wl_admin_end(struct wl_store *s, struct wl_admin *row, int r, const struct upp_err *why);

/* The same with the error's text (empty: it succeeded), which must outlive the row. */
WEFT_SUSPENDS void wl_admin_end_as(struct wl_store *s, struct wl_admin *row, struct upp_str error);

/* Up to `max` rows after the one with this id (empty: from the newest), the newest first; at most WL_ADMIN_PAGE. A row
 * that cannot be read has the action "unreadable". */
WEFT_SUSPENDS int wl_admin_list(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a,
                                struct wl_admin **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

/* The id after which rows are that began before this time: where a list begins that ends there. */
void wl_admin_before(int64_t ms, char id[WL_ADMIN_ID + 1]);

/* Drops rows that began before this time, at most `max`; *n: how many. */
WEFT_SUSPENDS int wl_admin_sweep(struct wl_store *s, int64_t before_ms, size_t max, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;
