/* fiber/scope.c — children that are joined before their owner goes on.
 *
 * Invariant: a scope's state exists from its first spawn to its close, and outlives its children: close waits.
 */
#include "fiber/scope.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "fiber/loop.h"

static const char what[] = "the children of a scope";

void weft__scope_init(struct weft__scope *s, struct weft_loop *l, bool isolated)
{
    s->loop = l;
    s->next = NULL;
    s->live = 0;
    s->isolated = isolated;
    s->canceled = false;
    s->empty = (struct weft_cond){0};
    s->failed = 0;
    wb_list_init(&s->children);
}

static struct weft__scope *take_state(struct weft_loop *l)
{
    struct weft__scope *s = l->spare_scopes;
    if (!s)
        return wb_alloc(sizeof *s);
    l->spare_scopes = s->next;
    return s;
}

void weft__scopes_done(struct weft_loop *l)
{
    for (struct weft__scope *s; (s = l->spare_scopes);) {
        l->spare_scopes = s->next;
        wb_free(s);
    }
}

int weft_scope_spawn(struct weft_scope *scope, const char *name, weft_fn *fn, void *arg, struct weft_fiber **ret,
                     struct upp_err *err)
{
    const struct weft_fiber *self = weft__caller("weft_scope_spawn", err);
    if (!self)
        return -UPP_EINVALID;
    struct weft_loop *l = self->loop;
    if (!scope->state) {
        scope->state = take_state(l);
        if (!scope->state)
            return upp_fail(err, UPP_ENOMEM, "no memory for a scope");
        weft__scope_init(scope->state, l, scope->flags & WEFT_SCOPE_ISOLATED);
    }
    struct weft__scope *s = scope->state;
    if (s->loop != l)
        return upp_fail(err, UPP_EINVALID, "weft_scope_spawn: the scope is one of another loop");
    struct weft_fiber *f;
    int r = weft__fiber_new(l, s, name, fn, arg, &f, err);
    if (r < 0)
        return r;
    wb_list_push(&s->children, &f->sibling);
    s->live++;
    if (ret) {
        f->refs++;
        *ret = f;
    }
    if (s->canceled)
        weft_fiber_cancel(f);
    return 0;
}

void weft__scope_cancel(struct weft__scope *s)
{
    s->canceled = true;
    /* Cancelling a child may end it at once (it never ran), but only that one: its end is no failure. */
    wb_list_each (l, &s->children)
        weft_fiber_cancel(wb_item(l, struct weft_fiber, sibling));
}

void weft__scope_child_ended(struct weft__scope *s, struct weft_fiber *f)
{
    wb_unlink(&f->sibling);
    s->live--;
    bool failed = f->result < 0 && !(f->result == -UPP_ECANCELED && f->canceled);
    if (failed && !s->isolated && !s->failed) {
        s->failed = f->result;
        s->err = f->err;
        weft__scope_cancel(s);
    }
    if (s->live == 0)
        (void)weft__queue_wake(&s->empty, 0);
}

/* Waits until no child is left; the running fiber is the owner. */
WEFT_SUSPENDS static int wait_empty(struct weft__scope *s, struct weft_fiber *self)
{
    int r = weft__pending(self);
    while (r == 0 && s->live) {
        weft__queue_push(&s->empty, self);
        r = weft__park(self, what, WEFT__NEVER, 0);
    }
    return r;
}

WEFT_SUSPENDS int weft_scope_join(struct weft_scope *scope, struct upp_err *err)
{
    struct weft_fiber *self = weft__caller("weft_scope_join", err);
    if (!self)
        return -UPP_EINVALID;
    struct weft__scope *s = scope->state;
    int r = s ? wait_empty(s, self) : weft__pending(self);
    if (r < 0)
        return weft__cut_short(err, r, what);
    if (!s)
        return 0;
    r = s->failed;
    if (r < 0 && err)
        *err = s->err;
    s->failed = 0;
    s->canceled = false;
    return r;
}

void weft_scope_cancel(struct weft_scope *scope)
{
    if (scope->state)
        weft__scope_cancel(scope->state);
}

WEFT_SUSPENDS void weft_scope_close(struct weft_scope *scope)
{
    struct weft__scope *s = scope->state;
    if (!s)
        return;
    weft__scope_cancel(s);
    if (s->live) {
        struct weft_fiber *self = weft__self("weft_scope_close");
        WEFT__SHIELD_FOREVER;
        (void)wait_empty(s, self);
    }
    s->next = s->loop->spare_scopes;
    s->loop->spare_scopes = s;
    scope->state = NULL;
}
