/* json/regex.h — the patterns of JSON Schema: does a text contain a match?
 *
 * The subset of ECMA-262 that is truly regular: characters, '.', classes, the escapes \d \w \s \b and their opposites,
 * ^ and $, groups, alternation, quantifiers. Compiling refuses lookaround, backreferences, \p{...} and flags. A pattern
 * becomes a small program; running it tracks the set of active steps, so that the time is at most (characters of the
 * text) * (steps of the program), whatever the pattern.
 *
 * Characters are code points; a lone surrogate (WTF-8) is one character. There is no case folding, and nothing depends
 * on the locale.
 */
#pragma once

#include "base/arena.h"

enum {
    WJ_REGEX_STEPS = 4096,  /* of one program: x{1000} has a thousand */
    WJ_REGEX_RANGES = 4096, /* of all classes of one pattern */
    WJ_REGEX_DEPTH = 64,    /* of groups */
};

struct wj_range {
    uint32_t first, last;
};

/* One step of a program. Distances are relative, so that fragments can be moved and copied. */
struct wj_step {
    uint8_t op;
    bool negate;       /* CLASS: matches all but these */
    int16_t to, other; /* SPLIT, JUMP */
    uint32_t a, n;     /* CHAR: the character; CLASS: n ranges from a */
};

struct wj_regex {
    const struct wj_step *steps;
    const struct wj_range *ranges;
    uint16_t n;
    bool anchored; /* matches only at the front */
};

/* Working memory for programs of at most `n` steps, for any number of runs, by one thread at a time. */
struct wj_regex_memory {
    uint16_t *memory;
    uint16_t n;
};

WB_EXPORT_BEGIN

/* Compiles a pattern. The program lives in the arena.
 * -UPP_EINVALID: invalid or refused pattern; err says what and at which character (from 1).
 * -UPP_ELIMIT: exceeds the limits above. -UPP_ENOMEM. */
int wj_regex_new(struct wb_arena *a, struct upp_str pattern, struct wj_regex *ret, struct upp_err *err) UPP_MUST_CHECK;

int wj_regex_room_init(struct wj_regex_memory *room, uint16_t n, struct upp_err *err) UPP_MUST_CHECK;
void wj_regex_room_done(struct wj_regex_memory *room);

/* 1: the text contains a match. 0: it does not. -UPP_ELIMIT: *budget, from which each operation takes one, ran out. */
int wj_regex_find(const struct wj_regex *x, struct upp_str text, struct wj_regex_memory *room,
                  uint64_t *budget) UPP_MUST_CHECK;

/* Finds the first match of at least one character that begins at byte `from` or later, and of those that begin there
 * the longest: 1 and its extent. Worst-case time is (characters of the text) times that of wj_regex_find: the budget is
 * the limit. */
int wj_regex_where(const struct wj_regex *x, struct upp_str text, size_t from, struct wj_regex_memory *room,
                   uint64_t *budget, size_t *start, size_t *end) UPP_MUST_CHECK;

WB_EXPORT_END

/* For regex.c and regex_run.c. */
enum wj_op { WJ_CHAR, WJ_ANY, WJ_CLASS, WJ_SPLIT, WJ_JUMP, WJ_FRONT, WJ_END, WJ_EDGE, WJ_NO_EDGE, WJ_MATCH };
