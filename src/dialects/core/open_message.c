/* dialects/core/open_message.c — opens and finds the parts of the streaming message, and the bytes before their
 * deltas. */
#include "dialects/core/open_message.h"

#include <inttypes.h>

#include "base/hooks.h"
#include "dialects/core/frame.h"
#include "model/id.h"

void wd_open_init(struct wd_open *m)
{
    *m = (struct wd_open){.heads = WB_BUF(WD_HEADS_MAX)};
}

void wd_open_done(struct wd_open *m)
{
    wb_vec_done(&m->parts);
    wb_buf_done(&m->heads);
    m->open = false;
}

void wd_open_end(struct wd_open *m)
{
    m->open = false;
    m->parts.n = 0;
    wb_buf_clear(&m->heads);
}

int wd_open_begin(struct wd_open *m, const struct wm_event *ev, struct upp_err *err)
{
    if (m->open)
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " opens a message while one is open", ev->number);
    wd_open_end(m);
    m->open = true;
    m->entry = ev->message_open.id;
    return 0;
}

int wd_open_part(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret, struct upp_err *err)
{
    if (!m->open)
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " opens a part of no message", ev->number);
    if (ev->part.index >= WM_PARTS)
        return upp_fail(err, UPP_ELIMIT, "event %" PRIu64 ": a message has at most %d parts", ev->number, WM_PARTS);
    while (m->parts.n <= ev->part.index)
        if (!wb_vec_push(&m->parts, (struct wd_part){0}, WM_PARTS))
            return upp_fail(err, UPP_ENOMEM, "out of memory");
    struct wd_part *p = &m->parts.p[ev->part.index];
    if (p->state)
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " opens part %" PRIu32 " again", ev->number, ev->part.index);
    *p = (struct wd_part){.state = WD_OPEN, .kind = ev->part.kind};
    *ret = p;
    return 0;
}

int wd_open_find(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret, struct upp_err *err)
{
    if (WB_UNLIKELY(!m->open || ev->part.index >= m->parts.n || m->parts.p[ev->part.index].state != WD_OPEN))
        return upp_fail(err, UPP_EBUG, "event %" PRIu64 " is about part %" PRIu32 ", which is not open", ev->number,
                        ev->part.index);
    *ret = &m->parts.p[ev->part.index];
    return 0;
}

int wd_open_head(struct wd_open *m, struct wd_part *p, struct wd_out *o, struct upp_err *err)
{
    struct wb_buf *b = o->w.out;
    struct upp_str head = wb_str(b->p + o->from, b->failed ? 0 : b->n - o->from);
    size_t at = m->heads.n;
    wb_buf_add(&m->heads, head);
    if (!b->failed)
        b->n = o->from;
    p->head = (uint32_t)at;
    p->n_head = (uint32_t)head.n;
    return wb_buf_check(&m->heads, err);
}

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
