/* run/tool_beside.c — tools that block, on worker threads.
 *
 * What the worker works with is one object on the heap. A fiber of its own waits for the worker, so that the call's
 * fiber can wait for that one twice: until it is told to stop, and then for 10 s more. While that fiber waits the
 * object lives; when it gives up, the object is the worker's, who drops it.
 */
#include <stdatomic.h>

#include "base/hooks.h"
#include "fiber/worker.h"
#include "run/tools.h"

enum { ARGUMENT_BYTES = 64 << 20 };

struct beside {
    struct wr_doing    doing; /* its texts follow the struct */
    struct upp_tool    tool;
    struct upp_value   value;
    struct upp_cancel *stop; /* the worker's waits end by it */
    atomic_bool        begun;
};

struct waiting {
    struct beside *it; /* NULL: it is not ours any more */
    bool           given;
    int            result;
    struct upp_err why;
};

static void drop(void *arg)
{
    struct beside *b = arg;
    wb_arena_done(&b->doing.call.scratch);
    upp__value_done(&b->value);
    upp_cancel_free(b->stop);
    wb_free(b);
}

static struct upp_str put(char **at, struct upp_str text)
{
    struct upp_str s = wb_str(*at, text.n);
    if (text.n)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return s;
}

static int make(const struct wr_job *j, size_t max, struct beside **ret, struct upp_err *err)
{
    const struct upp_call *c   = &j->doing.call.pub;
    struct upp_str         key = weft_call_key(c);
    struct beside         *b   = wb_alloc(sizeof *b + c->id.n + c->name.n + c->arguments.n + key.n);
    if (!b)
        return upp_fail(err, UPP_ENOMEM, "no memory for a tool that blocks");
    char *at = (char *)(b + 1);
    *b       = (struct beside){.tool = j->tool->base, .value = UPP__VALUE};
    int r    = upp_cancel_new(&b->stop, err);
    if (r < 0) {
        wb_free(b);
        return r;
    }
    b->value.max  = max;
    b->doing.key  = put(&at, key);
    b->doing.call = (struct upp__call){.pub     = {.tool      = &b->tool,
                                                   .id        = put(&at, c->id),
                                                   .name      = put(&at, c->name),
                                                   .arguments = put(&at, c->arguments),
                                                   .arg       = c->arg,
                                                   .wait      = upp_cancel_wait(b->stop)},
                                       .scratch = WB_ARENA(ARGUMENT_BYTES)};
    *ret          = b;
    return 0;
}

/* On the worker. */
static int work(void *arg, struct upp_err *err)
{
    struct beside *b = arg;
    atomic_store(&b->begun, true);
    return b->tool.run(&b->doing.call.pub, &b->value, err);
}

static WEFT_SUSPENDS int wait_for(void *arg, struct upp_err *err)
{
    struct waiting *w = arg;
    w->given          = true;
    int r             = weft__work_long(work, w->it, drop, &w->result, &w->why);
    if (r < 0) {
        w->it     = NULL;
        w->result = r;
    }
    (void)err;
    return 0;
}

/* Told to stop, or out of time: 0 when it came back all the same. After a cancel one that has not begun never does. */
static WEFT_SUSPENDS int wait_more(struct weft_scope *scope, struct waiting *w, int why)
{
    if (w->it)
        upp_cancel_fire(w->it->stop);
    if (w->it && !atomic_load(&w->it->begun) && why == -UPP_ECANCELED)
        return why;
    WEFT_SHIELD(WEFT_SHIELD_MAX_MS);
    return weft_scope_join(scope, NULL);
}

/* What it wrote is ours: the two change places. */
static void take_value(struct beside *b, struct upp_value *ret)
{
    struct upp_value mine = *ret;
    *ret                  = b->value;
    b->value              = mine;
}

int wr_call_beside(struct wr_job *j, struct upp_value *ret, bool *left, struct upp_err *err)
{
    struct waiting                                 w     = {0};
    WB_CLEANUP(weft_scope_close) struct weft_scope scope = {.flags = WEFT_SCOPE_ISOLATED};
    int                                            r     = make(j, ret->max, &w.it, err);
    if (r < 0)
        return r;
    r = weft_scope_spawn(&scope, "blocking tool", wait_for, &w, NULL, err);
    if (r < 0) {
        drop(w.it);
        return r;
    }
    r     = weft_scope_join(&scope, err);
    *left = r < 0 && wait_more(&scope, &w, r) < 0;
    weft_scope_close(&scope); /* one that still waits gives up */
    if (w.it && w.given)
        take_value(w.it, ret);
    if (w.it)
        drop(w.it);
    if (*left || (r == -UPP_ETIMEOUT && w.result < 0))
        return r; /* err says so */
    if (w.result < 0 && err)
        *err = w.why;
    return w.result;
}
