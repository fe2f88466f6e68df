/* support/dialect.h — scripts of events through a stream encoder. */
#pragma once

#include "dialects/core/dialect.h"
#include "support/events.h"

struct dialect {
    struct events events;
    struct wd_frames frames;
    WB_VEC(size_t) upto; /* after each event: how many frames there are */
    struct upp_err err;
};

void dialect_init(struct dialect *d);
void dialect_done(struct dialect *d);

int dialect_play(struct dialect *d, const char *script) UPP_MUST_CHECK;
int dialect_invent(struct dialect *d, uint64_t seed) UPP_MUST_CHECK;

/* All events through an encoder of its own; frames and upto are made anew. */
int dialect_encode(struct dialect *d, const struct wd_stream_ops *ops,
                   const struct wd_stream_opts *opts) UPP_MUST_CHECK;

/* The frames of a named script, one a line with the event's number and the frame's name, if it has one, before it,
 * against a golden file. */
bool dialect_golden(const struct wd_stream_ops *ops, const char *script, const struct wd_stream_opts *opts,
                    const char *path) UPP_MUST_CHECK;

/* Twice the same; and for every k, a reader that drops the first k events has exactly the rest. */
bool dialect_pure(const struct wd_stream_ops *ops, const char *script,
                  const struct wd_stream_opts *opts) UPP_MUST_CHECK;

/* What a dialect's own checker says of frames; false with a note when it says no. */
typedef bool dialect_in_order(const struct wd_frames *f, const struct wd_stream_opts *opts, bool ended);

/* An encoder, how it is asked the n-th time, and who judges it. */
struct dialect_rules {
    const struct wd_stream_ops *ops;
    struct wd_stream_opts (*opts)(uint64_t n); /* NULL: always as nobody asks */
    dialect_in_order *in_order;
    const char *also_bad; /* a script that makes no sense to this one alone; NULL: none */
};

/* Every script; every script cut at any event, where the run then ends, each way; invented runs; and that it is pure,
 * of every script. */
bool dialect_scripts_in_order(const struct dialect_rules *x) UPP_MUST_CHECK;
bool dialect_ends_in_order(const struct dialect_rules *x) UPP_MUST_CHECK;
bool dialect_invented_in_order(const struct dialect_rules *x) UPP_MUST_CHECK;
bool dialect_scripts_pure(const struct dialect_rules *x) UPP_MUST_CHECK;

/* What breaks the contract of events is a bug that is named, and never a frame. */
bool dialect_names_bugs(const struct dialect_rules *x) UPP_MUST_CHECK;

/* The names in events_scripts. */
#define EVENTS_SCRIPTS(X)                                                                                              \
    X(text)                                                                                                            \
    X(reasoning)                                                                                                       \
    X(parallel)                                                                                                        \
    X(failing)                                                                                                         \
    X(denied)                                                                                                          \
    X(approved)                                                                                                        \
    X(client)                                                                                                          \
    X(cancel_text)                                                                                                     \
    X(cancel_input)                                                                                                    \
    X(cancel_tool)                                                                                                     \
    X(provider_error)                                                                                                  \
    X(void)                                                                                                            \
    X(void_input)                                                                                                      \
    X(media)                                                                                                           \
    X(rounds)                                                                                                          \
    X(three_steps)                                                                                                     \
    X(bad_arguments)                                                                                                   \
    X(phases)                                                                                                          \
    X(no_tape)                                                                                                         \
    X(child)                                                                                                           \
    X(child_answer)                                                                                                    \
    X(react)                                                                                                           \
    X(plan)                                                                                                            \
    X(handoff)                                                                                                         \
    X(event)
