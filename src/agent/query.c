/* agent/query.c — UAP 9.2: a separate thread that can be continued.
 *
 * All results of a query share its thread, which lives as long as any of them. */
#include "agent/query.h"

#include "base/defs.h"
#include "base/hooks.h"

struct shared {
    struct upp_thread *thread;
    struct wa_query_backend *backend; /* NULL: the query is not stored */
    unsigned refs;
    bool busy; /* a run uses its messages */
};

struct query {
    struct weft_query_result pub;
    struct shared *shared;
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
    if (s->backend)
        s->backend->free(s->backend);
    wb_free(s);
}

/* Asks for the next turn of the thread, as a new result. */
static WEFT_SUSPENDS int ask_next(struct weft_agent *a, struct shared *s, struct upp_str text,
                                  struct weft_query_result **ret, struct upp_err *err)
{
    if (s->busy)
        return upp_fail(err, UPP_EBUSY, "the thread of this query is being answered");
    struct query *q = wb_calloc(1, sizeof *q);
    if (!q)
        return upp_fail(err, UPP_ENOMEM, "no memory for a query");
    s->refs++;
    q->shared = s;
    q->pub = (struct weft_query_result){.thread = s->thread, .agent = a};
    s->busy = true;
    int r = 0;
    if (text.p)
        r = s->backend ? s->backend->turn(s->backend, s->thread, text, &q->pub.turn, err)
                       : weft_ask(a, text, &q->pub.thread, &q->pub.turn, err);
    s->busy = false;
    if (r < 0) {
        weft_query_free(&q->pub);
        return r;
    }
    *ret = &q->pub;
    return 0;
}

int wa_query_at(struct weft_agent *a, struct wa_query_backend *backend, struct upp_thread *thread, struct upp_str text,
                struct weft_query_result **ret, struct upp_err *err)
{
    struct shared *s = wb_calloc(1, sizeof *s);
    if (!s) {
        upp_thread_free(thread);
        if (backend)
            backend->free(backend);
        return upp_fail(err, UPP_ENOMEM, "no memory for a query");
    }
    *s = (struct shared){.thread = thread, .backend = backend, .refs = 1};
    int r = ask_next(a, s, text, ret, err);
    shared_unref(s);
    return r;
}

static int no_text(struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "a query without a question");
}

int weft_query(struct weft_agent *a, struct upp_str text, struct weft_query_result **ret, struct upp_err *err)
{
    struct upp_thread *thread;
    int r = text.p ? upp_thread_new(&thread, err) : no_text(err);
    return r < 0 ? r : wa_query_at(a, NULL, thread, text, ret, err);
}

int weft_query_continue(struct weft_query_result *q, struct upp_str text, struct weft_query_result **ret,
                        struct upp_err *err)
{
    return text.p ? ask_next(q->agent, query_of(q)->shared, text, ret, err) : no_text(err);
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
