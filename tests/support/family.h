/* support/family.h — agents that ask each other, on scripts: each with tools, rights and hooks of a test's own.
 *
 * What each model is asked is written down (`asked`), one line a call: whose model it is, the parameters, the newest
 * text of a user, the tools it is offered.
 */
#pragma once

#include "support/sim/sim.h"
#include "support/fibers.h"
#include "support/lazy.h"
#include "support/rig.h"

struct family_member {
    const char *name, *script;
    const struct wr_tool *tools;
    size_t n_tools;
    const struct weft_rights *rights;
    const struct weft_hooks *hooks;
    const char *params;               /* NULL: none */
    const struct wr_handoff *handoff; /* one; NULL: none */
    bool no_model, base, check_structure;

    const struct weft_strategy *strategy; /* NULL: the loop */
};

struct family {
    const struct family_member *members; /* the first one is asked by the test */
    size_t n;
    WEFT_SUSPENDS int (*act)(struct family *f, struct upp_err *err); /* NULL: family_turn */
    bool no_store, real;                                             /* real: on a loop of libuv */
    bool unchecked; /* the checker compares each call with all others: not of thousands */
    uint32_t max_depth;
    unsigned commit_ms;  /* before and after each commit */
    const char *options; /* of the run; NULL: none */
    uint64_t seed;
    void *arg;
    /* Called at every suspension; NULL: nobody. */
    void (*on_suspend)(void *arg, struct weft_fiber *f);

    /* From here on family_play begins anew. */
    struct rig rig;
    struct wl_store *store;
    struct lazy lazy; /* in front of it */
    struct checker checker;
    struct wb_buf asked;
    struct wr_started started;
    struct upp_turn *turn; /* what the run came to; freed by family_done */
    int result;
    struct upp_err why;
};

/* Plays it: what `act` returns. On the simulated loop nothing may be left: no fiber, no process, no descriptor. */
int family_play(struct family *f, struct upp_err *err);
void family_done(struct family *f);
void family_donep(struct family **f);

/* Starts a run; waits for its turn. */
WEFT_SUSPENDS int family_start(struct family *f, struct upp_err *err);
WEFT_SUSPENDS int family_join(struct family *f, struct upp_err *err);
WEFT_SUSPENDS int family_turn(struct family *f, struct upp_err *err);

/* Waits until it has ended or waits. */
WEFT_SUSPENDS int family_wait(struct family *f, uint8_t *status, struct upp_err *err);
/* What it waits for: "approve:CALL answer:CALL". */
WEFT_SUSPENDS int family_pending(struct family *f, struct wb_buf *out, struct upp_err *err);
/* The process ends and another one begins, on the same store. */
WEFT_SUSPENDS int family_restart(struct family *f, struct upp_err *err);
WEFT_SUSPENDS int family_story(struct family *f, struct wb_buf *out, struct upp_err *err);

/* In a test: a family `f` of these members, ended with the test. It is too large for a frame. */
#define FAMILY(members_) FAMILY_WITH(members_, .act = NULL)
#define FAMILY_WITH(members_, ...)                                                                                     \
    static struct family room_ = {.members = (members_), .n = WB_LEN(members_), __VA_ARGS__};                          \
    UPP_CLEANUP(family_donep) struct family *f = &room_
#define FAMILY_TOOLS(list) .tools = (list), .n_tools = WB_LEN(list)

/* Up to eight texts with commas between them. */
#define JOIN_1(a)                                a
#define JOIN_2(a, ...)                           a "," JOIN_1(__VA_ARGS__)
#define JOIN_3(a, ...)                           a "," JOIN_2(__VA_ARGS__)
#define JOIN_4(a, ...)                           a "," JOIN_3(__VA_ARGS__)
#define JOIN_5(a, ...)                           a "," JOIN_4(__VA_ARGS__)
#define JOIN_6(a, ...)                           a "," JOIN_5(__VA_ARGS__)
#define JOIN_7(a, ...)                           a "," JOIN_6(__VA_ARGS__)
#define JOIN_8(a, ...)                           a "," JOIN_7(__VA_ARGS__)
#define JOIN_NTH(a, b, c, d, e, f, g, h, n, ...) n
#define JOIN(...)                                JOIN_NTH(__VA_ARGS__, JOIN_8, JOIN_7, JOIN_6, JOIN_5, JOIN_4, JOIN_3, JOIN_2, JOIN_1, 0)(__VA_ARGS__)

/* A script of these replies, and what they are made of. */
#define SAYS(...) "{\"replies\":[" JOIN(__VA_ARGS__) "]}"
#define SAY(in, out, ...)                                                                                              \
    "{\"parts\":[" JOIN(__VA_ARGS__) "],\"usage\":{\"input_tokens\":" #in ",\"output_tokens\":" #out "}}"
#define SAY_TEXT(text)           "{\"text\":\"" text "\"}"
#define SAY_CALL(id, name, args) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args "}}"
#define SPEC_OF(name_)                                                                                                 \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .description = UPP_STR_INIT(name_),                                               \
        .parameters = UPP_STR_INIT("{\"type\":\"object\"}")                                                            \
    }
/* A tool that is an agent, with rights or other members of struct wr_tool. */
#define ASKS(name_, agent_) ASKS_WITH(name_, agent_, .rights = NULL)
#define ASKS_WITH(name_, agent_, ...)                                                                                  \
    {                                                                                                                  \
        .spec = SPEC_OF(name_), .kind = WR_TOOL_AGENT, .agent = UPP_STR_INIT(agent_), __VA_ARGS__                      \
    }
