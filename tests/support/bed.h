/* support/bed.h — an agent with middleware on a place (support/race_rig.h), and what became of it as lines. */
#pragma once

#include <stdio.h>

#include "agent/middleware/middleware.h"
#include "base/defs.h"
#include "support/race_rig.h"

struct bed {
    struct place place; /* first */
    const struct weft_middleware *list;
    size_t n;
    int (*act)(struct bed *b, struct upp_err *err);
    char *text; /* what middleware and the model saw */
    size_t n_text;
    unsigned fails_in, heals_in; /* for middleware of tests */
    struct wb_uuid run, thread;  /* of the last bed_run */
    struct upp_turn *turn;       /* its turn */
    struct upp_err why;
};

/* Too large for a frame, and four beds may be looked at together. */
enum { BED_TEXT = 16384, BED_TEXTS = 4 };

static inline char *bed_text(void)
{
    static char texts[BED_TEXTS][BED_TEXT];
    static unsigned next;
    char *text = texts[next++ % BED_TEXTS];
    text[0] = 0;
    return text;
}

UPP_PRINTF(2, 3) static inline void bed_say(struct bed *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(b->text + b->n_text, BED_TEXT - b->n_text, fmt, args);
    va_end(args);
    if (n > 0 && b->n_text + (size_t)n < BED_TEXT)
        b->n_text += (size_t)n;
}

static inline WEFT_SUSPENDS int bed_act(struct place *p, struct upp_err *err)
{
    struct bed *b = (struct bed *)(void *)p;
    return b->act(b, err);
}

static inline int bed_play(struct bed *b)
{
    struct upp_err err = {0};
    int r = wa_middleware_new(b->list, b->n, NULL, &b->place.middleware, &err);
    b->place.act = bed_act;
    b->text = bed_text();
    b->n_text = 0;
    if (r >= 0)
        r = place_play(&b->place);
    wa_middleware_free(b->place.middleware);
    upp_turn_free(b->turn);
    return r;
}

/* Runs the agent to its end: 0, or how it failed. On the thread of the run before where `on` is set. */
static inline WEFT_SUSPENDS int bed_run(struct bed *b, const char *text, bool on, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .wants_turn = true};
    struct wr_started s;
    if (on)
        what.thread = b->thread;
    TRY(wr_start(b->place.rig.engine, &what, &s, err));
    upp_turn_free(b->turn);
    b->turn = NULL;
    b->why = (struct upp_err){0};
    b->run = s.run;
    b->thread = s.thread;
    int r = wr_join(s.tree, &b->turn, &b->why);
    wr_tree_release(s.tree);
    if (r < 0 && err)
        *err = b->why;
    return r;
}

/* The whole log of the thread, behind what is there. */
static inline WEFT_SUSPENDS int bed_history(struct bed *b, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    TRY(rig_history(&b->place.rig, b->thread, &out, err));
    bed_say(b, "%.*s", UPP_FMT(wb_buf_str(&out)));
    return 0;
}

/* A built-in kind that writes down what the model is told: last in the list. */
static inline WEFT_SUSPENDS int bed_spy_view(void *own, struct weft_context *c, struct upp_request *q,
                                             struct upp_err *err)
{
    struct bed *b = *(struct bed **)own;
    (void)c;
    (void)err;
    bed_say(b, "told:");
    for (size_t i = 0; i < q->n_messages; i++) {
        bed_say(b, " %c", "?uat"[q->messages[i]->role]);
        for (size_t k = 0; k < q->messages[i]->n_parts; k++)
            bed_say(b, "<%.*s%.*s>", UPP_FMT(q->messages[i]->parts[k].name), UPP_FMT(q->messages[i]->parts[k].text));
    }
    bed_say(b, "\n");
    return 0;
}

static inline int bed_spy_make(const void *opts, void **own, struct upp_err *err)
{
    (void)err;
    *own = (void *)(uintptr_t)opts;
    return 0;
}

/* opts: a pointer to the pointer to the bed. */
static const struct weft_middleware_kind bed_spy_kind = {.name = "spy", .make = bed_spy_make, .view = bed_spy_view};
#define BED_SPY(pointer) ((struct weft_middleware){.name = "spy", .kind = &bed_spy_kind, .opts = (pointer)})

#define BED_PLAYS(b)                                                                                                   \
    do {                                                                                                               \
        int played_ = bed_play(b);                                                                                     \
        CHECK_INT(played_, 0);                                                                                         \
    } while (0)
