/* dialects/core/open_message.h — an encoder's state of the message that is streaming.
 *
 * Each part has its kind, its state, and the bytes before the text of its deltas, which are the same for all of them.
 * Events that break the contract (a delta of a part that is not open) fail with -UPP_EBUG, and the message names the
 * event.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/event.h"

struct wd_out;

enum wd_part_state { WD_UNSEEN, WD_OPEN, WD_CLOSED };

struct wd_part {
    uint8_t state;
    uint8_t kind; /* enum upp_part_kind */
    bool shown;   /* its start was sent */
    bool said;    /* and some text of it */
    uint32_t head, n_head;
};

struct wd_open {
    bool open;
    struct wb_uuid entry; /* its id */
    WB_VEC(struct wd_part) parts;
    struct wb_buf heads;
};

enum { WD_HEADS_MAX = 16 << 20 };

void wd_open_init(struct wd_open *m);
void wd_open_done(struct wd_open *m);

int wd_open_begin(struct wd_open *m, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
void wd_open_end(struct wd_open *m); /* drops all parts */

/* PART_OPEN: opens the part. */
int wd_open_part(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* DELTA, PART_CLOSE: finds the open part. */
int wd_open_find(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Moves the open frame, which is everything before the text of a delta, out of the output buffer: it becomes the part's
 * head and is copied for each delta. */
int wd_open_head(struct wd_open *m, struct wd_part *p, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;

static inline struct upp_str wd_open_head_of(const struct wd_open *m, const struct wd_part *p)
{
    return wb_str(m->heads.p + p->head, p->n_head);
}

/* The part with this index; NULL: the stream did not open it. */
static inline struct wd_part *wd_open_at(struct wd_open *m, size_t index)
{
    return m->open && index < m->parts.n && m->parts.p[index].state ? &m->parts.p[index] : NULL;
}

/* The tool calls of a run that have no outcome yet, by id. */

struct wd_call {
    struct upp_str id, name; /* allocated with the struct */
    uint8_t state;           /* used by the encoder; initially 0 */
    struct upp_str label;    /* the same; must outlive the call */
    bool asked;              /* an approval was requested ... */
    bool answered;           /* ... and its outcome sent */
};

struct wd_calls {
    WB_VEC(struct wd_call *) list; /* in the order of creation */
};

enum { WD_CALLS_MAX = 4096 };

struct wd_call *wd_calls_find(const struct wd_calls *c, struct upp_str id); /* NULL: none */

/* Finds or creates the call with this id. NULL: failed, see err. */
struct wd_call *wd_calls_add(struct wd_calls *c, struct upp_str id, struct upp_str name, struct upp_err *err);

void wd_calls_drop(struct wd_calls *c, struct wd_call *call); /* removes and frees it */
void wd_calls_done(struct wd_calls *c);
