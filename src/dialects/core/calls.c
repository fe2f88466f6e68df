/* dialects/core/calls.c — the tool calls of a run that have no outcome yet. */
#include "dialects/core/calls.h"

#include "base/hooks.h"

struct wd_call *wd_calls_find(const struct wd_calls *c, struct upp_str id)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (wb_str_eq(c->list.p[i]->id, id))
            return c->list.p[i];
    return NULL;
}

struct wd_call *wd_calls_add(struct wd_calls *c, struct upp_str id, struct upp_str name, struct upp_err *err)
{
    struct wd_call *call = wd_calls_find(c, id);
    if (call)
        return call;
    if (c->list.n == WD_CALLS_MAX) {
        (void)upp_fail(err, UPP_ELIMIT, "more than %d calls without an outcome", WD_CALLS_MAX);
        return NULL;
    }
    call = wb_alloc(sizeof *call + id.n + name.n);
    if (!call || !wb_vec_push(&c->list, call, WD_CALLS_MAX)) {
        wb_free(call);
        (void)upp_fail(err, UPP_ENOMEM, "out of memory");
        return NULL;
    }
    char *text = (char *)(call + 1);
    *call = (struct wd_call){.id = wb_str(text, id.n), .name = wb_str(text + id.n, name.n)};
    if (id.n)
        memcpy(text, id.p, id.n);
    if (name.n)
        memcpy(text + id.n, name.p, name.n);
    return call;
}

void wd_calls_drop(struct wd_calls *c, struct wd_call *call)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (c->list.p[i] == call) {
            memmove(&c->list.p[i], &c->list.p[i + 1], (c->list.n - i - 1) * sizeof *c->list.p);
            c->list.n--;
            wb_free(call);
            return;
        }
}

void wd_calls_done(struct wd_calls *c)
{
    while (c->list.n)
        wd_calls_drop(c, c->list.p[c->list.n - 1]);
    wb_vec_done(&c->list);
}
