/* agent/query.c — UAP 9.2: a thread of one's own that can be gone on with.
 *
 * All results of a query share its thread, which lives as long as any of them. */
#include <weft/agent.h>

#include "base/defs.h"
#include "base/hooks.h"

struct shared {
    struct upp_thread *thread;
    unsigned           refs;
    bool               busy; /* a run has its messages */
};

struct query {
    struct weft_query_result pub;
    struct shared           *shared;
};

static struct query *query_of(struct weft_query_result *q)
{
    return (struct query *)(void *)q;
}

static void shared_unref(struct shared *s)
{
    if (!s || --s->refs)
        return;
    upp_thread_free(s->thread);
    wb_free(s);
}

/* The next turn of the thread, as a result of its own. */
static WEFT_SUSPENDS int go_on(struct weft_agent *a, struct shared *s, struct upp_str text,
                               struct weft_query_result **ret, struct upp_err *err)
{
    if (s->busy)
        return upp_fail(err, UPP_EBUSY, "the thread of this query is being answered");
    struct query *q = wb_calloc(1, sizeof *q);
    if (!q)
        return upp_fail(err, UPP_ENOMEM, "no memory for a query");
    s->refs++;
    q->shared = s;
    q->pub    = (struct weft_query_result){.thread = s->thread, .agent = a};
    s->busy   = true;
    int r     = weft_ask(a, text, &q->pub.thread, &q->pub.turn, err);
    s->busy   = false;
    if (r < 0) {
        weft_query_free(&q->pub);
        return r;
    }
    *ret = &q->pub;
    return 0;
}

int weft_query(struct weft_agent *a, struct upp_str text, struct weft_query_result **ret, struct upp_err *err)
{
    struct shared *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a query");
    s->refs = 1;
    int r   = upp_thread_new(&s->thread, err);
    if (r >= 0)
        r = go_on(a, s, text, ret, err);
    shared_unref(s);
    return r;
}

int weft_query_continue(struct weft_query_result *q, struct upp_str text, struct weft_query_result **ret,
                        struct upp_err *err)
{
    return go_on(q->agent, query_of(q)->shared, text, ret, err);
}

void weft_query_free(struct weft_query_result *q)
{
    if (!q)
        return;
    upp_turn_free(q->turn);
    shared_unref(query_of(q)->shared);
    wb_free(query_of(q));
}

void weft_query_freep(struct weft_query_result **q)
{
    weft_query_free(*q);
}
