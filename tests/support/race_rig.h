/* support/race_rig.h — an engine on a store that can be held up (support/lazy.h), on a simulated loop: for tests that
 * play one race at the moment that matters. */
#pragma once

#include "support/fibers.h"
#include "support/lazy.h"
#include "support/rig.h"

struct place {
    const char *name;                     /* of the agent; NULL: "main" */
    const char *script, *helper, *picker; /* NULL: echo */
    int (*act)(struct place *p, struct upp_err *err);
    bool no_store;
    uint32_t max_runs;
    uint64_t wait_ms, approval_ms;                      /* approval_ms 0: as wait_ms */
    bool (*is_alive)(void *arg, struct wb_uuid engine); /* wr_engine_opts */
    const struct weft_strategy *strategy;               /* NULL: the loop */
    struct weft_hooks hooks;
    const struct wr_middleware *middleware; /* NULL: none */
    struct wl_store *inner;
    struct lazy lazy;
    struct rig rig;
    bool gap; /* a reader missed something: never, whatever fails */
};

/* Opens the place and lets p->act happen in it. */
int place_play(struct place *p);

#define PLAYS(...)                                                                                                     \
    do {                                                                                                               \
        struct place place_ = {__VA_ARGS__};                                                                           \
        int played_ = place_play(&place_);                                                                             \
        ALWAYS(!place_.gap);                                                                                           \
        CHECK_INT(played_, 0);                                                                                         \
    } while (0)

/* A script of these replies, and parts of them. */
#define SCRIPT(...)         "{\"replies\":[" __VA_ARGS__ "]}"
#define REPLY(...)          "{\"parts\":[" __VA_ARGS__ "]}"
#define SLOW_REPLY(ms, ...) "{\"parts\":[" __VA_ARGS__ "],\"delta_bytes\":4,\"delay_ms\":" #ms "}"
#define TEXT(text)          "{\"text\":\"" text "\"}"
#define CALL(id, name)      "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\"}}"
#define TEN_WORDS           TEXT("One two three four five six seven eight nine ten")

#define SLOWLY SCRIPT(SLOW_REPLY(100, TEN_WORDS)) /* more than a second */

WEFT_SUSPENDS int place_open(struct place *p, struct upp_err *err); /* agents and engine */

/* The process ends, and another one takes up what it left. */
WEFT_SUSPENDS int place_restart(struct place *p, size_t *recovered, struct upp_err *err);

WEFT_SUSPENDS int place_start(struct place *p, struct wr_started *ret, struct upp_err *err); /* on a new thread */
WEFT_SUSPENDS int place_start_on(struct place *p, struct wb_uuid thread, uint8_t on_busy, struct wr_started *ret,
                                 struct upp_err *err);
WEFT_SUSPENDS int place_await(struct place *p, struct wb_uuid run, uint8_t *status, struct upp_err *err);

/* What the store says of a run. */
WEFT_SUSPENDS int place_stored(struct place *p, struct wb_uuid run, struct wm_run *ret, struct upp_err *err);

/* The next event of a reader: its number follows that of the last one, or p->gap is set. */
WEFT_SUSPENDS int place_next(struct place *p, struct wr_reader *rd, bool to_wait, uint64_t *last, struct wm_event *ev,
                             struct upp_err *err);

struct tally {
    uint64_t events;
    unsigned voids, results, ends;
    uint8_t status; /* the last one */
};

/* All events of a run that there are. */
WEFT_SUSPENDS int place_read(struct place *p, struct wb_uuid run, struct tally *ret, struct upp_err *err);
