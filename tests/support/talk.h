/* support/talk.h — conversations with a vendor in files: what we send, what it answers, what that means.
 *
 * The form is told in docs/testing.md ("Talk files"). A conversation goes through the real adapter, framing and glue;
 * only the transport is one of memory.
 */
#pragma once

#include <upp/provider.h>

#include "base/arena.h"
#include "base/buf.h"

enum { TALK_ROUNDS = 8, TALK_HEADERS = 16 };

struct talk_round {
    struct upp_str request, sends, events, fails, losses; /* sections; no text: not there */
    int status;                                           /* 0: no answer is expected to be asked for */
    struct upp_header headers[TALK_HEADERS];
    size_t n_headers;
    struct upp_str body;
};

struct talk {
    struct wb_arena arena;
    struct upp_str text, provider, model, options;
    struct upp_str shows; /* words: what docs/providers.md may say that it can */
    bool whole;
    struct talk_round rounds[TALK_ROUNDS];
    size_t n;
};

/* How the body of an answer comes: whole; in two pieces, cut at `cut`; byte by byte; or ended at `cut`. */
enum talk_mode { TALK_AT_ONCE, TALK_IN_TWO, TALK_BYTES, TALK_ENDED };
struct talk_way {
    enum talk_mode mode;
    size_t cut;
};

/* What really happened in a round, in the words of its sections. */
struct talk_told {
    struct wb_buf sends, events, fails, losses;
    int result;
};

int talk_load(const char *path, struct talk *ret, struct upp_err *err) UPP_MUST_CHECK; /* below tests/ */
void talk_done(struct talk *t);
int talk_have(const struct talk *t, size_t round, struct talk_way way, struct talk_told *ret,
              struct upp_err *err) UPP_MUST_CHECK;
void talk_told_done(struct talk_told *t);

/* The same but for blanks outside of strings? */
bool talk_same(struct upp_str a, struct upp_str b);

/* The file again, with what was told in the place of what was expected. */
void talk_rewrite(const struct talk *t, const struct talk_told *told, struct wb_buf *out);
