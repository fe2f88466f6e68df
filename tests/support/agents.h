/* support/agents.h — agents of the public interface, for tests: on a real loop of their own, or on a simulated one. */
#pragma once

#include <weft/weft.h>

#include "base/buf.h"
#include "support/fibers.h"

/* A script of these replies, and parts of them. */
#define JOIN_1(a)                           a
#define JOIN_2(a, b)                        a "," b
#define JOIN_3(a, b, c)                     a "," b "," c
#define JOIN_4(a, b, c, d)                  a "," b "," c "," d
#define JOIN_5(a, b, c, d, e)               a "," b "," c "," d "," e
#define JOIN_PICK(a, b, c, d, e, name, ...) name
#define JOIN(...)                           JOIN_PICK(__VA_ARGS__, JOIN_5, JOIN_4, JOIN_3, JOIN_2, JOIN_1, )(__VA_ARGS__)
#define SCRIPT(...)                         "{\"replies\":[" JOIN(__VA_ARGS__) "]}"
#define PARTS(...)                          "\"parts\":[" JOIN(__VA_ARGS__) "]"
#define REPLY(...)                          "{" PARTS(__VA_ARGS__) ",\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}"
#define SLOW_REPLY(ms, ...)                 "{" PARTS(__VA_ARGS__) ",\"delta_bytes\":4,\"delay_ms\":" #ms "}"
#define CUT_REPLY(...)                      "{" PARTS(__VA_ARGS__) ",\"delta_bytes\":3}"
#define TEXT(text)                          "{\"text\":\"" text "\"}"
#define CALL(id, name, args)                "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":{" args "}}}"

/* A place with agents. */
struct agents {
    struct weft_runtime *rt;
    struct weft_loop *loop; /* NULL: the runtime has one of its own */
    struct upp_model *model;
    struct wb_buf trace; /* what tools and hooks write */
};

/* Runs act as it is, and then as a fiber of a simulated loop: 0, or what failed first. `script` NULL: an echo. */
int agents_play(const char *script, int (*act)(struct agents *p, struct upp_err *err), struct upp_err *err);

#define AGENTS(script, act)                                                                                            \
    do {                                                                                                               \
        struct upp_err err_ = {0};                                                                                     \
        int r_ = agents_play((script), (act), &err_);                                                                  \
        if (r_ < 0)                                                                                                    \
            test_note("%s", err_.msg);                                                                                 \
        CHECK_INT(r_, 0);                                                                                              \
    } while (0)

/* Tools: add (two numbers), note (writes into the trace), fails, slow (sleeps 1 s on the fiber). */
extern const struct upp_tool agents_tools[];
enum { AGENTS_TOOLS = 4 };
#define AGENTS_ALL ((struct weft_tools){agents_tools, AGENTS_TOOLS})

/* Messages of a turn, its executions and sums, as lines. */
void agents_turn_text(struct wb_buf *out, const struct upp_turn *t);
