/* thread/commits.h — many changes of the log, in as few commits as they fit in. */
#ifndef WA_SESSION_PUT_H
#define WA_SESSION_PUT_H

#include "thread/session_doc.h"
#include "base/vec.h"
#include "log/staged.h"

struct wa_put {
    struct wl_store       *store;
    const struct wl_owner *owner;
    struct wb_arena        memory; /* of what waits to be committed */
    struct wb_buf          body;
    struct wm_entry       *entries; /* of the row that is written */
    size_t                 bytes;
    bool                   whole;    /* what comes now goes in one commit: -UPP_ELIMIT */
    size_t                 conflict; /* after -UPP_EBUSY: which change; else SIZE_MAX */
    WB_VEC(struct wl_change) changes;

    const struct wl_thread *coming; /* a new one, which the last commit brings; NULL: none */

    /* Into a thread that is there (log/staged.h); NULL: into none. */
    struct wl_thread *thread;
    bool              moved; /* it is to be set, too */
    const uint64_t   *half;  /* keys of the nodes that nobody sees before the last commit, parents first */
    size_t            n_half;
    bool              begun; /* there are several commits, and the first one is made */
};

void wa_put_init(struct wa_put *p, struct wl_store *s, const struct wl_owner *o);
void wa_put_done(struct wa_put *p);

int wa_put_add(struct wa_put *p, struct wl_change c, struct upp_err *err) UPP_MUST_CHECK;

/* That many changes go into the commit that is being made, or into the next one. 1: into the next one; what was there
 * is committed. */
WEFT_SUSPENDS int wa_put_room(struct wa_put *p, size_t changes, size_t bytes, struct upp_err *err) UPP_MUST_CHECK;
size_t            wa_put_rows(size_t messages); /* changes that so many messages take */
enum { WA_PUT_CHANGES = WL_CHANGES - 8 };       /* in one commit, beside those that are the thread's */

/* Copied. */
WEFT_SUSPENDS int wa_put_node(struct wa_put *p, const struct wl_node *node, struct upp_err *err) UPP_MUST_CHECK;

/* At the end of the node, which moves. */
WEFT_SUSPENDS int wa_put_row(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wm_row *row,
                             struct upp_err *err) UPP_MUST_CHECK;

/* As entries that no run says, at the end of the node, which moves. */
WEFT_SUSPENDS int wa_put_messages(struct wa_put *p, uint64_t node, struct wl_end *end, const struct upp_message *list,
                                  size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The same with what is known beside them (thread/session_known.h) as entries of its own; `before`: events before the
 * first message, may be NULL. */
struct wa_known;
WEFT_SUSPENDS int wa_put_known(struct wa_put *p, uint64_t node, struct wl_end *end, const struct wa_known *before,
                               const struct upp_message *list, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The last one. */
WEFT_SUSPENDS int wa_put_commit(struct wa_put *p, struct upp_err *err) UPP_MUST_CHECK;

#endif
