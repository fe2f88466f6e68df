/* run/ask/open_message.h — the message that a model is streaming: readers see it grow before it is committed. */
#pragma once

#include "run/tree.h"

enum {
    WR_PARTS = 1024, /* parts of one message */
};

/* The growing text of a part. */
struct wr_text {
    size_t cap; /* 0: nothing allocated yet */
    bool block; /* a separate block; else in the arena */
    bool closed;
    bool has_high; /* `high` is a high surrogate that waits for its low one */
    char high[3];
};

/* A message that a model is streaming. */
struct wr_open {
    struct wr_open *next_free;
    struct wr_source *source;
    struct wb_arena *memory;
    struct wm_entry entry;
    struct wm_tape tape;
    struct wr_text *texts; /* of each part */
    size_t n, room;
    uint32_t index, step;
    uint64_t number; /* of its first event, while it is streaming */
    uint32_t epoch;  /* of all its events */
    size_t bytes;
};
/* Names, media and small texts are copied into the arena, which outlives it. */
int wr_open_new(struct wr_engine *e, struct wb_arena *a, struct wr_open **ret, struct upp_err *err) UPP_MUST_CHECK;
void wr_open_free(struct wr_engine *e, struct wr_open *o); /* with all texts; accepts NULL */
int wr_open_part(struct wr_open *o, const struct upp_step_event *ev, struct upp_err *err) UPP_MUST_CHECK;
int wr_open_delta(struct wr_open *o, uint32_t part, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
int wr_open_close(struct wr_open *o, uint32_t part, struct upp_str metadata, struct upp_err *err) UPP_MUST_CHECK;
/* Closes open parts and marks calls as cut: there will be no more output. */
int wr_open_cut(struct wr_open *o, struct upp_err *err) UPP_MUST_CHECK;
/* Moves the message with all its texts into the arena. */
int wr_open_take(struct wr_open *o, struct wm_entry *ret, struct upp_err *err) UPP_MUST_CHECK;

void wr_open_done(struct wr_open *o); /* frees one that is not in use */
