/* support/round.h — an agent with tools of a test's own, on the simulated loop or a real one. */
#pragma once

#include "support/sim/sim.h"
#include "support/fibers.h"
#include "support/rig.h"

struct round {
    const char *script;
    const struct wr_tool *tools;
    size_t n_tools;
    const struct upp_tool_strategy *hooks;
    WEFT_SUSPENDS int (*act)(struct round *round, struct upp_err *err); /* NULL: round_turn */
    bool no_store, real;                                                /* real: on a loop of libuv */
    uint64_t seed;
    void *arg;

    struct rig rig;
    struct wl_store *store;
    struct wb_uuid run, thread;
    struct upp_turn *turn; /* what the run came to; freed by round_done */
    int result;
    struct upp_err why;
};

/* Plays it: what `act` returns. */
int round_play(struct round *round, struct upp_err *err);
void round_done(struct round *round);

/* Starts a run and waits for its turn. */
WEFT_SUSPENDS int round_turn(struct round *round, struct upp_err *err);

/* Starts a run and waits until it has ended or waits. */
WEFT_SUSPENDS int round_start(struct round *round, uint8_t *status, struct upp_err *err);
WEFT_SUSPENDS int round_wait(struct round *round, uint8_t *status, struct upp_err *err);

/* The process ends and another one begins, on the same store. */
WEFT_SUSPENDS int round_restart(struct round *round, struct upp_err *err);

/* Names and arguments of what it waits for: "approve:f{...} answer:g{...}". */
WEFT_SUSPENDS int round_pending(struct round *round, struct wb_buf *out, struct upp_err *err);

/* Events and history, as lines. */
WEFT_SUSPENDS int round_story(struct round *round, struct wb_buf *out, struct upp_err *err);

#define ROUND_SCRIPT(...)          "{\"replies\":[" __VA_ARGS__ "]}"
#define ROUND_REPLY(...)           "{\"parts\":[" __VA_ARGS__ "]}"
#define ROUND_TEXT(text)           "{\"text\":\"" text "\"}"
#define ROUND_CALL(id, name, args) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args "}}"

#define ROUND_SPEC(name_)                                                                                              \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .description = UPP_STR_INIT(name_),                                               \
        .parameters = UPP_STR_INIT("{\"type\":\"object\"}")                                                            \
    }
