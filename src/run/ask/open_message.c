/* run/ask/open_message.c — the open message: parts whose texts grow, and the tape of their deltas.
 *
 * A small text is in the run's arena. A large one is a separate block, so that it can grow without moving the others,
 * and the arena adopts it in the end without a copy. Readers hold offsets, never pointers.
 */
#include "base/hooks.h"
#include "model/call_source.h"
#include "run/engine_state.h"
#include "run/ask/open_message.h"

static struct wr_open *take_open(struct wr_engine *e)
{
    struct wr_open *o = e->pools.opens;
    if (!o)
        return wb_calloc(1, sizeof *o);
    e->pools.opens = o->next_free;
    e->pools.n_opens--;
    struct wr_text *texts = o->texts;
    struct upp_part *parts = o->entry.message.parts;
    struct wb_buf tape = o->tape.out;
    size_t room = o->room;
    *o = (struct wr_open){.texts = texts, .room = room};
    o->entry.message.parts = parts;
    o->tape.out = tape;
    wb_buf_clear(&o->tape.out);
    return o;
}

int wr_open_new(struct wr_engine *e, struct wb_arena *a, struct wr_open **ret, struct upp_err *err)
{
    struct wr_open *o = take_open(e);
    if (!o)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message");
    o->tape.out.max = e->opts.max_message;
    o->memory = a;
    o->entry.kind = WM_ENTRY_MESSAGE;
    o->entry.origin = WM_ORIGIN_RUN;
    o->entry.audience = WM_AUDIENCE_ALL;
    o->entry.message.role = UPP_ROLE_ASSISTANT;
    *ret = o;
    return 0;
}

/* The memory of an open message's texts is writable. */
static void *writable(struct upp_str s)
{
    return (void *)(uintptr_t)s.p;
}

static void drop_texts(struct wr_open *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->texts[i].block)
            wb_block_free(writable(o->entry.message.parts[i].text));
}

void wr_open_done(struct wr_open *o)
{
    wb_free(o->entry.message.parts);
    wb_free(o->texts);
    wm_tape_done(&o->tape);
    wb_free(o);
}

void wr_open_free(struct wr_engine *e, struct wr_open *o)
{
    if (!o)
        return;
    drop_texts(o);
    o->n = 0;
    if (e->pools.n_opens == WR_POOL_ITEMS || o->room > 16 || o->tape.out.cap > 4096) {
        wr_open_done(o);
        return;
    }
    o->next_free = e->pools.opens;
    e->pools.opens = o;
    e->pools.n_opens++;
}

static bool grow_parts(struct wr_open *o)
{
    if (o->n < o->room)
        return true;
    size_t n = o->room ? o->room * 2 : 4;
    struct upp_part *parts = wb_realloc(o->entry.message.parts, n * sizeof *parts);
    if (!parts)
        return false;
    o->entry.message.parts = parts;
    struct wr_text *texts = wb_realloc(o->texts, n * sizeof *texts);
    if (!texts)
        return false;
    o->texts = texts;
    o->room = n;
    return true;
}

/* Media arrive complete, and borrowed. */
static const struct upp_media *copy_media(struct wb_arena *a, const struct upp_media *m)
{
    struct upp_media *to = wb_new(a, struct upp_media);
    if (!to)
        return NULL;
    *to = *m;
    to->data = wb_arena_dup(a, m->data);
    to->mime = wb_arena_dup(a, m->mime);
    to->title = wb_arena_dup(a, m->title);
    to->duration = wb_arena_dup(a, m->duration);
    to->width = wb_arena_dup(a, m->width);
    to->height = wb_arena_dup(a, m->height);
    return a->failed ? NULL : to;
}

int wr_open_part(struct wr_open *o, const struct upp_step_event *ev, struct upp_err *err)
{
    if (o->n == WR_PARTS)
        return upp_fail(err, UPP_ELIMIT, "the message has more than %d parts", WR_PARTS);
    if (!grow_parts(o))
        return upp_fail(err, UPP_ENOMEM, "no memory for a part");
    struct upp_part *p = &o->entry.message.parts[o->n];
    *p = (struct upp_part){.kind = ev->part_kind, .text = UPP_STR("")};
    if (ev->media)
        p->media = copy_media(o->memory, ev->media);
    if (ev->part_kind == UPP_PART_CALL) {
        p->id = wb_arena_dup(o->memory, ev->id.p ? ev->id : UPP_STR(""));
        p->name = wb_arena_dup(o->memory, ev->name.p ? ev->name : UPP_STR(""));
        if (ev->metadata.n)
            p->metadata = wb_arena_dup(o->memory, ev->metadata);
    }
    int r = wb_arena_check(o->memory, err);
    if (r < 0)
        return r;
    o->texts[o->n++] = (struct wr_text){0};
    o->entry.message.n_parts = o->n;
    wm_tape_mark(&o->tape, WM_MARK_PART, ev->part);
    return wb_buf_check(&o->tape.out, err);
}

/* Most texts are smaller than this, and in the arena from the start. A larger one is a separate block. */
enum { SMALL = 128 };

static int grow_text(struct wr_open *o, uint32_t part, size_t need, struct upp_err *err)
{
    struct upp_part *p = &o->entry.message.parts[part];
    struct wr_text *t = &o->texts[part];
    bool large = need >= SMALL; /* the NUL at the end counts too */
    size_t cap = large ? need + need / 2 : SMALL;
    char *now = t->block ? wb_block_resize(writable(p->text), cap)
                : large  ? wb_block_alloc(cap)
                         : wb_arena_alloc(o->memory, cap, 1);
    if (!now)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message");
    if (large && !t->block && p->text.n)
        memcpy(now, p->text.p, p->text.n);
    p->text.p = now;
    t->cap = cap;
    t->block = large;
    return 0;
}

static int add_text(struct wr_open *o, uint32_t part, struct upp_str text, struct upp_err *err)
{
    struct upp_part *p = &o->entry.message.parts[part];
    if (WB_UNLIKELY(text.n > o->tape.out.max - o->bytes))
        return upp_fail(err, UPP_ELIMIT, "the message is longer than %zu bytes", o->tape.out.max);
    size_t need = p->text.n + text.n;
    if (WB_UNLIKELY(need >= o->texts[part].cap)) {
        int r = grow_text(o, part, need, err);
        if (r < 0)
            return r;
    }
    if (text.n)
        memcpy((char *)writable(p->text) + p->text.n, text.p, text.n);
    p->text.n = need;
    o->bytes += text.n;
    wm_tape_delta(&o->tape, part, text.n);
    return WB_UNLIKELY(o->tape.out.failed) ? wb_buf_check(&o->tape.out, err) : 0;
}

/* Surrogates are three bytes each: high ones ED A0 to AF, low ones ED B0 to BF. */
static bool is_surrogate(struct upp_str s, size_t at, bool low)
{
    return s.n - at >= 3 && (unsigned char)s.p[at] == 0xed &&
           ((unsigned char)s.p[at + 1] & 0xf0) == (low ? 0xb0 : 0xa0);
}

static int add_high(struct wr_open *o, uint32_t part, struct upp_err *err)
{
    struct wr_text *t = &o->texts[part];
    if (!t->has_high)
        return 0;
    t->has_high = false;
    return add_text(o, part, wb_str(t->high, sizeof t->high), err);
}

/* Joins the held high surrogate and this low one: one character of four bytes. */
static int add_pair(struct wr_open *o, uint32_t part, struct upp_str low, struct upp_err *err)
{
    struct wr_text *t = &o->texts[part];
    uint32_t h = ((uint32_t)(unsigned char)t->high[1] & 0x0f) << 6 | ((unsigned char)t->high[2] & 0x3f);
    uint32_t l = ((uint32_t)(unsigned char)low.p[1] & 0x0f) << 6 | ((unsigned char)low.p[2] & 0x3f);
    uint32_t c = 0x10000 + (h << 10) + l;
    char utf8[4] = {(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)), (char)(0x80 | (c >> 6 & 0x3f)),
                    (char)(0x80 | (c & 0x3f))};
    t->has_high = false;
    return add_text(o, part, wb_str(utf8, sizeof utf8), err);
}

/* A delta may end in a high surrogate whose low one comes next: it is held back until then, because delivered text must
 * not change. */
int wr_open_delta(struct wr_open *o, uint32_t part, struct upp_str text, struct upp_err *err)
{
    struct wr_text *t = &o->texts[part];
    int r = 0;
    if (WB_UNLIKELY(t->has_high && text.n)) {
        bool pair = is_surrogate(text, 0, true);
        r = pair ? add_pair(o, part, text, err) : add_high(o, part, err);
        text = wb_str_sub(text, pair ? 3 : 0, SIZE_MAX);
    }
    if (r >= 0 && text.n >= 3 && WB_UNLIKELY(is_surrogate(text, text.n - 3, false))) {
        text.n -= 3;
        memcpy(t->high, text.p + text.n, sizeof t->high);
        t->has_high = true;
    }
    return r < 0 || !text.n ? r : add_text(o, part, text, err);
}

int wr_open_close(struct wr_open *o, uint32_t part, struct upp_str metadata, struct upp_err *err)
{
    struct upp_part *p = &o->entry.message.parts[part];
    struct upp_str joined = metadata;
    int r = p->kind == UPP_PART_CALL ? wm_call_source_join(o->memory, metadata, p->metadata, &joined, err) : 0;
    if (r >= 0 && joined.n && joined.p != p->metadata.p)
        p->metadata = wb_arena_dup(o->memory, joined);
    if (r >= 0)
        r = wb_arena_check(o->memory, err);
    if (r >= 0)
        r = add_high(o, part, err);
    if (r < 0)
        return r;
    o->texts[part].closed = true;
    wm_tape_mark(&o->tape, WM_MARK_CLOSE, part);
    return wb_buf_check(&o->tape.out, err);
}

int wr_open_cut(struct wr_open *o, struct upp_err *err)
{
    o->entry.message.interrupted = true;
    for (uint32_t i = 0; i < o->n; i++) {
        struct upp_part *p = &o->entry.message.parts[i];
        p->cut = p->kind == UPP_PART_CALL || !o->texts[i].closed;
        if (o->texts[i].closed)
            continue;
        int r = add_high(o, i, err);
        if (r < 0)
            return r;
        wm_tape_mark(&o->tape, WM_MARK_CLOSE, i);
        o->texts[i].closed = true;
    }
    return wb_buf_check(&o->tape.out, err);
}

/* The arena adopts the separate blocks too; only the tape remains in the open message. */
int wr_open_take(struct wr_open *o, struct wm_entry *ret, struct upp_err *err)
{
    struct wb_arena *a = o->memory;
    struct upp_part *parts = wb_arena_alloc(a, (o->n ? o->n : 1) * sizeof *parts, _Alignof(struct upp_part));
    if (parts && o->n)
        memcpy(parts, o->entry.message.parts, o->n * sizeof *parts);
    for (size_t i = 0; parts && i < o->n; i++) {
        if (o->texts[i].cap)
            ((char *)writable(parts[i].text))[parts[i].text.n] = 0;
        if (o->texts[i].block) {
            wb_arena_adopt(a, writable(parts[i].text));
            o->texts[i].block = false;
        }
    }
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    *ret = o->entry;
    ret->message.parts = parts;
    return 0;
}
