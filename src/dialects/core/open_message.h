/* dialects/core/open_message.h — the message that is being said, as an encoder has to remember it.
 *
 * Of each part: its kind, whether it is open, and the bytes that stand before the text of each of its deltas (they are
 * the same for all of them). What breaks the contract of events (a delta of a part that is not open) is -UPP_EBUG and
 * names the event: no encoder can make sense of it.
 */
#ifndef WD_OPEN_H
#define WD_OPEN_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/event.h"

struct wd_out;

enum wd_part_state { WD_UNSEEN, WD_OPEN, WD_CLOSED };

struct wd_part {
    uint8_t  state;
    uint8_t  kind;  /* enum upp_part_kind */
    bool     shown; /* its beginning was sent */
    bool     said;  /* and some of its text */
    uint32_t head, n_head;
};

struct wd_open {
    bool           open;
    struct wb_uuid entry; /* its id */
    WB_VEC(struct wd_part) parts;
    struct wb_buf heads;
};

enum { WD_HEADS_MAX = 16 << 20 };

void wd_open_init(struct wd_open *m);
void wd_open_done(struct wd_open *m);

int  wd_open_begin(struct wd_open *m, const struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;
void wd_open_end(struct wd_open *m); /* forgets all parts */

/* PART_OPEN: the part, now open. */
int wd_open_part(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* DELTA, PART_CLOSE: a part that is open. */
int wd_open_find(struct wd_open *m, const struct wm_event *ev, struct wd_part **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* What stands before the text of each of a part's deltas is written once, in the buffer at hand: keeps what the open
 * frame has as the part's head, and takes it out of the buffer. */
int wd_open_head(struct wd_open *m, struct wd_part *p, struct wd_out *o, struct upp_err *err) UPP_MUST_CHECK;

static inline struct upp_str wd_open_head_of(const struct wd_open *m, const struct wd_part *p)
{
    return wb_str(m->heads.p + p->head, p->n_head);
}

/* The part of this index, or NULL where the stream did not open it. */
static inline struct wd_part *wd_open_at(struct wd_open *m, size_t index)
{
    return m->open && index < m->parts.n && m->parts.p[index].state ? &m->parts.p[index] : NULL;
}

#endif
