/* upp/client/step.c — one call of a model: the only place that enforces the invariants of upp/model.h.
 *
 * If a provider breaks them, the step fails with -UPP_EPROTO, so that readers of steps need not check.
 */
#include <stdio.h>
#include <upp/model.h>
#include <upp/provider.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "model/id.h"
#include "upp/client/call.h"
#include "upp/client/cover.h"

struct call {
    struct upp_step step;
    struct upp__cover *cover; /* NULL: there are no secrets */
    struct upp__room *room;   /* its memory returns there; NULL: none */
    size_t size;
    bool begun;      /* an event was delivered: OPEN comes too late */
    uint32_t opened; /* parts so far */
    uint32_t unclosed;
    uint64_t open[WM_PARTS / 64]; /* bit by part; a word is cleared when its first part is opened */
    max_align_t own[];            /* the provider's */
};

static struct call *call_of(struct upp_step *s)
{
    return WB_OUTER(s, struct call, step);
}

void *upp_step_state(struct upp_step *s)
{
    return call_of(s)->own;
}

/* Names the provider in the error, if it does not name one itself. */
static int step_failed(const struct upp_model *m, int r, struct upp_err *err)
{
    if (err && !err->provider[0])
        (void)snprintf(err->provider, sizeof err->provider, "%s", m->ops->provider);
    return r;
}

/* ---- Capabilities of a model --------------------------------------------------------------------------- */

static const struct ability {
    uint8_t kind; /* of a part */
    uint32_t can;
    const char *what;
} abilities[] = {
    {UPP_PART_IMAGE, UPP_CAN_IMAGES, "image input"},
    {UPP_PART_DOCUMENT, UPP_CAN_DOCUMENTS, "document input"},
    {UPP_PART_AUDIO, UPP_CAN_AUDIO, "audio input"},
    {UPP_PART_VIDEO, UPP_CAN_VIDEO, "video input"},
};

/* The same message as in upp_generate and agents. */
static int refuse(const struct upp_model *m, const char *what, struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "model '%.*s' does not support %s", UPP_FMT(m->name), what);
}

/* Checks only messages of users, as UPP does: the adapter knows the model's own output. */
static int check_message(const struct upp_model *m, const struct upp_request *req, size_t at, struct upp_err *err)
{
    const struct upp_message *msg = req->messages[at];
    for (size_t i = 0; msg->role == UPP_ROLE_USER && i < msg->n_parts; i++)
        for (size_t k = 0; k < WB_LEN(abilities); k++)
            if (msg->parts[i].kind == abilities[k].kind && !(m->can & abilities[k].can)) {
                int r = refuse(m, abilities[k].what, err);
                if (err)
                    (void)snprintf(err->where, sizeof err->where, "/messages/%zu/content/%zu", at, i);
                return r;
            }
    return 0;
}

static int check_request(const struct upp_model *m, const struct upp_request *req, struct upp_err *err)
{
    if (!m->can || m->can == UPP_CAN_ALL)
        return 0;
    if (req->n_tools && !(m->can & UPP_CAN_TOOLS))
        return refuse(m, "tools", err);
    if (req->structure.p && !(m->can & UPP_CAN_STRUCTURE))
        return refuse(m, "structured output", err);
    if (!req->whole && !(m->can & UPP_CAN_STREAM))
        return refuse(m, "streaming", err);
    for (size_t i = 0; i < req->n_messages; i++) {
        int r = check_message(m, req, i, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Memory -------------------------------------------------------------------------------------------- */

static struct call *call_new(struct upp__room *room, size_t own)
{
    const size_t size = sizeof(struct call) + own;
    struct call *c;
    if (room && room->p && room->size >= size) {
        c = WB_TAKE(room->p);
        c->size = room->size;
    } else if ((c = wb_alloc(size)))
        c->size = size;
    return c;
}

static void call_free(struct call *c)
{
    struct upp__room *room = c->room;
    if (!room || room->p || c->size > UPP__ROOM_BYTES) {
        wb_free(c);
        return;
    }
    room->size = c->size;
    room->p = c;
}

void upp__room_done(struct upp__room *room)
{
    wb_free(WB_TAKE(room->p));
}

/* ---- Life cycle ------------------------------------------------------------------------------------------- */

int upp__step_open(struct upp__room *room, const struct upp_model *m, const struct upp_request *req,
                   const struct upp_wait *wait, struct upp_step **ret, struct upp_err *err)
{
    const size_t own = m->ops->step_size;
    int r = check_request(m, req, err);
    if (r < 0)
        return step_failed(m, r, err);
    struct call *c = call_new(room, own);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a call of model '%.*s'", UPP_FMT(m->name));
    c->room = room;
    c->step = (struct upp_step){.model = m, .request = req, .wait = wait};
    c->begun = false;
    c->opened = c->unclosed = 0; /* the bits are cleared when they are needed */
    memset(c->own, 0, own);
    r = upp__cover_new(req->structure.p != NULL, &c->cover, err);
    if (r < 0) {
        call_free(c);
        return r;
    }
    r = m->ops->open ? m->ops->open(&c->step, err) : 0;
    if (r < 0) {
        upp_step_close(&c->step);
        return step_failed(m, r, err);
    }
    *ret = &c->step;
    return 0;
}

int upp_step_open(const struct upp_model *m, const struct upp_request *req, const struct upp_wait *wait,
                  struct upp_step **ret, struct upp_err *err)
{
    return upp__step_open(NULL, m, req, wait, ret, err);
}

int upp__step_stop(struct upp_step *s, struct upp_err *err)
{
    const struct upp_model_ops *ops = s->model->ops;
    bool can = ops->size >= offsetof(struct upp_model_ops, stop) + sizeof ops->stop && ops->stop;
    return can ? ops->stop(s, err) : 0;
}

void upp_step_close(struct upp_step *s)
{
    if (!s)
        return;
    if (s->model->ops->close)
        s->model->ops->close(s);
    upp__cover_free(call_of(s)->cover);
    call_free(call_of(s));
}

void upp_step_closep(struct upp_step **s)
{
    upp_step_close(*s);
}

static bool is_open(const struct call *c, uint32_t part)
{
    return part < c->opened && (c->open[part / 64] >> part % 64 & 1);
}

/* ---- Rules for each kind of event: a sentence, or NULL ----------------------------------------------- */

static const char *check_part_open(struct call *c, const struct upp_step_event *ev)
{
    bool medium = ev->part_kind >= UPP_PART_IMAGE && ev->part_kind <= UPP_PART_BINARY;
    if (ev->part != c->opened)
        return "opened parts out of order";
    if (ev->part >= WM_PARTS)
        return "opened more parts than a message may have";
    if (ev->part_kind < UPP_PART_TEXT || ev->part_kind > UPP_PART_RESULT)
        return "opened a part of a kind that does not exist";
    if (medium != !!ev->media)
        return medium ? "opened a medium without its data" : "gave media with a part that is none";
    if (ev->part % 64 == 0)
        c->open[ev->part / 64] = 0;
    c->open[ev->part / 64] |= (uint64_t)1 << ev->part % 64;
    c->opened++;
    c->unclosed++;
    return NULL;
}

static const char *check_part_close(struct call *c, const struct upp_step_event *ev)
{
    if (!is_open(c, ev->part))
        return "closed a part that is not open";
    c->open[ev->part / 64] &= ~((uint64_t)1 << ev->part % 64);
    c->unclosed--;
    return NULL;
}

static const char *check_end(struct call *c, const struct upp_step_event *ev)
{
    if (c->unclosed)
        return "ended with parts still open";
    if (ev->stop < UPP_STOP_END || ev->stop > UPP_STOP_ERROR)
        return "ended for a reason that does not exist";
    c->step.ended = true;
    return NULL;
}

static const char *check(struct call *c, const struct upp_step_event *ev)
{
    bool first = !c->begun;
    c->begun = true;
    switch (ev->kind) {
    case UPP_STEP_DELTA:
        return WB_LIKELY(is_open(c, ev->part)) ? NULL : "gave text for a part that is not open";
    case UPP_STEP_PART_OPEN:
        return check_part_open(c, ev);
    case UPP_STEP_PART_CLOSE:
        return check_part_close(c, ev);
    case UPP_STEP_END:
        return check_end(c, ev);
    case UPP_STEP_OPEN:
        return first ? NULL : "opened its message after it had begun";
    default:
        return "gave an event of a kind that does not exist";
    }
}

static int next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    struct call *c = call_of(s);
    if (s->ended)
        return 0;
    *ret = (struct upp_step_event){0};
    int r = s->model->ops->next(s, ret, err);
    if (WB_LIKELY(r > 0)) {
        const char *wrong = check(c, ret);
        if (WB_LIKELY(!wrong))
            return 1;
        r = upp_fail(err, UPP_EPROTO, "model '%.*s' %s (part %u)", UPP_FMT(s->model->name), wrong, ret->part);
    } else if (r == 0)
        r = upp_fail(err, UPP_EPROTO, "model '%.*s' stopped without an end", UPP_FMT(s->model->name));
    s->ended = true;
    return step_failed(s->model, r, err);
}

static int next_covered(struct upp_step *s, struct upp__cover *v, struct upp_step_event *ret, struct upp_err *err)
{
    int r;
    if (upp__cover_take_close(v, ret))
        return 1;
    do {
        r = next(s, ret, err);
        if (r > 0)
            r = upp__cover_event(v, ret, err);
        else
            return r;
    } while (r == 0);
    if (r < 0)
        s->ended = true;
    return r;
}

int upp_step_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    struct upp__cover *v = call_of(s)->cover;
    return WB_UNLIKELY(v) ? next_covered(s, v, ret, err) : next(s, ret, err);
}

int upp__step_rest(struct upp_step *s, struct upp_step_event *ret)
{
    const struct call *c = call_of(s);
    for (uint32_t i = 0; c->cover && i < c->opened; i++)
        if (is_open(c, i) && upp__cover_rest(c->cover, i, ret))
            return 1;
    return 0;
}

/* ---- Models ----------------------------------------------------------------------------------------------- */

void upp_model_free(struct upp_model *m)
{
    if (!m)
        return;
    upp_retry_free(m->retry);
    if (m->ops->free)
        m->ops->free(m->state);
    wb_free(m);
}

void upp_model_freep(struct upp_model **m)
{
    upp_model_free(*m);
}
