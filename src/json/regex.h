/* json/regex.h — the patterns of JSON Schema: does a text hold a match?
 *
 * The subset of ECMA-262 that needs no memory of what was matched: characters, '.', classes, the escapes \d \w \s \b
 * and their opposites, ^ and $, groups, alternation, quantifiers. Lookaround, backreferences, \p{...} and flags are
 * refused when compiling. A pattern becomes a small program; running it keeps the set of places where it may be, so
 * that the time is at most (characters of the text) * (steps of the program), whatever the pattern.
 *
 * Characters are code points, half a pair (WTF-8) is one by itself. Nothing is folded, nothing depends on the locale.
 */
#ifndef WJ_REGEX_H
#define WJ_REGEX_H

#include "base/arena.h"

enum {
    WJ_REGEX_STEPS  = 4096, /* of one program: x{1000} has a thousand */
    WJ_REGEX_RANGES = 4096, /* of all classes of one pattern */
    WJ_REGEX_DEPTH  = 64,   /* of groups */
};

struct wj_range {
    uint32_t first, last;
};

/* A step, and where it goes; distances are relative, so that pieces of programs can be moved and copied. */
struct wj_step {
    uint8_t  op;
    bool     negate;    /* CLASS: all but these */
    int16_t  to, other; /* SPLIT, JUMP */
    uint32_t a, n;      /* CHAR: the character; CLASS: n ranges from a */
};

struct wj_regex {
    const struct wj_step  *steps;
    const struct wj_range *ranges;
    uint16_t               n;
    bool                   anchored; /* matches nowhere but at the front */
};

/* What a run needs: made for a program of at most `n` steps, used for any number of runs, by one thread at a time. */
struct wj_regex_room {
    uint16_t *memory;
    uint16_t  n;
};

WB_EXPORT_BEGIN

/* -UPP_EINVALID: no pattern, or one that is refused: err says what and at which character (from 1).
 * -UPP_ELIMIT: longer than the limits above. -UPP_ENOMEM. The program lives in the arena. */
int wj_regex_new(struct wb_arena *a, struct upp_str pattern, struct wj_regex *ret, struct upp_err *err) UPP_MUST_CHECK;

int  wj_regex_room_init(struct wj_regex_room *room, uint16_t n, struct upp_err *err) UPP_MUST_CHECK;
void wj_regex_room_done(struct wj_regex_room *room);

/* 1: somewhere in the text there is a match. 0: there is none. -UPP_ELIMIT: *budget, from which each thing that is done
 * takes one, did not last. */
int wj_regex_find(const struct wj_regex *x, struct upp_str text, struct wj_regex_room *room,
                  uint64_t *budget) UPP_MUST_CHECK;

/* The first match of at least one character that begins at byte `from` or later: 1 and where it is; of those that begin
 * there the longest. For this the time may be (characters of the text) times as long: the budget is the limit. */
int wj_regex_where(const struct wj_regex *x, struct upp_str text, size_t from, struct wj_regex_room *room,
                   uint64_t *budget, size_t *start, size_t *end) UPP_MUST_CHECK;

WB_EXPORT_END

/* For regex.c and regex_run.c. */
enum wj_op { WJ_CHAR, WJ_ANY, WJ_CLASS, WJ_SPLIT, WJ_JUMP, WJ_FRONT, WJ_END, WJ_EDGE, WJ_NO_EDGE, WJ_MATCH };

#endif
