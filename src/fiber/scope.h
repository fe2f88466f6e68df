/* fiber/scope.h — what the children of a scope share: outside of the owner's stack. */
#pragma once

#include "fiber/fiber.h"

struct weft__scope {
    struct weft_loop *loop;
    struct weft__scope *next; /* in the loop's list of spare ones */
    struct wb_link children;
    size_t live;
    bool isolated, canceled;
    struct weft_cond empty; /* the owner waits here */
    int failed;             /* the first failure; 0: none */
    struct upp_err err;
};

void weft__scope_init(struct weft__scope *s, struct weft_loop *l, bool isolated);
void weft__scope_cancel(struct weft__scope *s);
void weft__scope_child_ended(struct weft__scope *s, struct weft_fiber *f);
void weft__scopes_done(struct weft_loop *l); /* frees the spare ones */
