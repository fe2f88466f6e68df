/* json/regex_run.c — runs a pattern's program over a text, following all alternatives at once (Thompson, Pike). */
#include "base/hooks.h"
#include "base/utf8.h"
#include "json/regex.h"

/* The state of a run: the steps that wait for the next character. */
struct run {
    const struct wj_regex *x;
    uint16_t *now, *next, *stack; /* current and next consuming steps; steps still to visit */
    uint16_t *seen;               /* by step: the round in which it was last reached */
    uint16_t n_now, n_next, round;
    uint32_t before, after; /* the characters before and after the current position */
    bool found, longest;    /* longest: continue after a match */
    uint64_t *budget;
};

enum { NO_CHAR = WB_CHAR_MAX + 1, ARRAYS = 4 };

int wj_regex_room_init(struct wj_regex_memory *room, uint16_t n, struct upp_err *err)
{
    room->memory = wb_calloc(ARRAYS * (size_t)n, sizeof *room->memory);
    room->n = n;
    return room->memory ? 0 : upp_fail(err, UPP_ENOMEM, "out of memory");
}

void wj_regex_room_done(struct wj_regex_memory *room)
{
    wb_free(room->memory);
    *room = (struct wj_regex_memory){0};
}

static bool in_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_class(const struct wj_regex *x, const struct wj_step *s, uint32_t c)
{
    size_t low = s->a, high = s->a + s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c > x->ranges[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return (low < (size_t)s->a + s->n && c >= x->ranges[low].first) != s->negate;
}

static bool matches_char(const struct wj_regex *x, const struct wj_step *s, uint32_t c)
{
    if (s->op == WJ_CHAR)
        return c == s->a;
    if (s->op == WJ_CLASS)
        return in_class(x, s, c);
    return c != '\n' && c != '\r' && c != 0x2028 && c != 0x2029;
}

/* Does the assertion hold between `before` and `after`? */
static bool assertion_holds(const struct run *t, uint8_t op)
{
    if (op == WJ_FRONT)
        return t->before == NO_CHAR;
    if (op == WJ_END)
        return t->after == NO_CHAR;
    return (in_word(t->before) != in_word(t->after)) == (op == WJ_EDGE);
}

/* Pushes a step onto the stack, once per round: so the stack never holds more than there are steps. */
static void reach(struct run *t, uint16_t *n, size_t step)
{
    if (t->seen[step] != t->round) {
        t->seen[step] = t->round;
        t->stack[(*n)++] = (uint16_t)step;
    }
}

/* Adds to `next` the character-consuming steps that are reachable from here without consuming one. */
static void enter(struct run *t, size_t step)
{
    uint16_t n = 0;
    reach(t, &n, step);
    while (n && (!t->found || t->longest)) {
        size_t at = t->stack[--n];
        const struct wj_step *s = &t->x->steps[at];
        *t->budget -= *t->budget > 0;
        switch ((enum wj_op)s->op) {
        case WJ_MATCH:
            t->found = true;
            break;
        case WJ_SPLIT:
            reach(t, &n, (size_t)((ptrdiff_t)at + s->other));
            reach(t, &n, (size_t)((ptrdiff_t)at + s->to));
            break;
        case WJ_JUMP:
            reach(t, &n, (size_t)((ptrdiff_t)at + s->to));
            break;
        case WJ_FRONT:
        case WJ_END:
        case WJ_EDGE:
        case WJ_NO_EDGE:
            if (assertion_holds(t, s->op))
                reach(t, &n, at + 1);
            break;
        case WJ_CHAR:
        case WJ_ANY:
        case WJ_CLASS:
            t->next[t->n_next++] = (uint16_t)at;
        }
    }
}

/* Starts the next round: no step is reached yet. */
static void next_round(struct run *t)
{
    uint16_t *swap = t->now;
    t->now = t->next;
    t->n_now = t->n_next;
    t->next = swap;
    t->n_next = 0;
    if (++t->round == 0) { /* wrapped around: old marks could look current */
        memset(t->seen, 0, t->x->n * sizeof *t->seen);
        t->round = 1;
    }
}

int wj_regex_find(const struct wj_regex *x, struct upp_str text, struct wj_regex_memory *room, uint64_t *budget)
{
    uint16_t *m = room->memory;
    struct run t = {.x = x,
                    .now = m,
                    .next = m + x->n,
                    .stack = m + 2 * (size_t)x->n,
                    .seen = m + 3 * (size_t)x->n,
                    .before = NO_CHAR,
                    .budget = budget};
    memset(t.seen, 0, x->n * sizeof *t.seen);
    for (size_t at = 0, n = 0;; at += n) {
        uint32_t c = t.before; /* the character that the steps in `now` wait for */
        next_round(&t);
        n = wb_wtf8_decode(text, at, &t.after);
        if (n == 0)
            t.after = NO_CHAR;
        for (uint16_t i = 0; i < t.n_now && !t.found; i++) {
            *budget -= *budget > 0;
            if (matches_char(x, &x->steps[t.now[i]], c))
                enter(&t, (size_t)t.now[i] + 1);
        }
        if (!x->anchored || at == 0)
            enter(&t, 0);
        if (t.found)
            return 1;
        if (*budget == 0)
            return -UPP_ELIMIT;
        if (n == 0 || (t.n_next == 0 && x->anchored))
            return 0;
        t.before = t.after;
    }
}

/* Returns the end of the longest match that begins at `at`, or SIZE_MAX. */
static size_t match_at(struct run *t, struct upp_str text, size_t at)
{
    size_t end = SIZE_MAX, front = at;
    t->n_now = t->n_next = 0;
    for (size_t n = 0;; at += n) {
        uint32_t c = t->before;
        next_round(t);
        n = wb_wtf8_decode(text, at, &t->after);
        if (n == 0)
            t->after = NO_CHAR;
        t->found = false;
        for (uint16_t i = 0; i < t->n_now; i++) {
            *t->budget -= *t->budget > 0;
            if (matches_char(t->x, &t->x->steps[t->now[i]], c))
                enter(t, (size_t)t->now[i] + 1);
        }
        if (at == front)
            enter(t, 0);
        if (t->found)
            end = at;
        if (n == 0 || t->n_next == 0 || *t->budget == 0)
            return end;
        t->before = t->after;
    }
}

int wj_regex_where(const struct wj_regex *x, struct upp_str text, size_t from, struct wj_regex_memory *room,
                   uint64_t *budget, size_t *start, size_t *end)
{
    uint16_t *m = room->memory;
    uint32_t last = NO_CHAR;
    struct run t = {.x = x,
                    .now = m,
                    .next = m + x->n,
                    .stack = m + 2 * (size_t)x->n,
                    .seen = m + 3 * (size_t)x->n,
                    .longest = true,
                    .budget = budget};
    memset(t.seen, 0, x->n * sizeof *t.seen);
    for (size_t at = 0; at < text.n;) {
        if (at >= from) {
            t.before = last;
            size_t has = match_at(&t, text, at);
            if (*budget == 0)
                return -UPP_ELIMIT;
            if (has != SIZE_MAX && has > at)
                return *start = at, *end = has, 1;
        }
        size_t n = wb_wtf8_decode(text, at, &last);
        at += n ? n : 1;
    }
    return 0;
}
