/* json/regex.c — compiles patterns to programs (Thompson's construction), in one pass.
 *
 * Each part of a pattern becomes a fragment of the program, entered at its first step and left just after its last.
 * Quantifiers and alternatives move, copy and wrap fragments. All distances are relative, and none leads out of a
 * fragment except to the step just after it.
 */
#include "json/regex.h"

#include "base/err.h"
#include "base/hooks.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "json/syntax.h"

struct parser {
    struct upp_str text;
    size_t at;
    unsigned depth;
    struct upp_err *err;
    WB_VEC(struct wj_step) steps;
    WB_VEC(struct wj_range) ranges;
};

enum { NO_CHAR = WB_CHAR_MAX + 1, REPEAT_MAX = WJ_REGEX_STEPS };

/* ---- Errors ----------------------------------------------------------------------------------------- */

UPP_PRINTF(2, 3) static int refuse(struct parser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(p->err, UPP_EINVALID, fmt, args);
    va_end(args);
    return upp_wrap(p->err, r, "character %zu", wb_utf8_count(wb_str_sub(p->text, 0, p->at)) + 1);
}

static int too_long(struct parser *p, size_t n, size_t max, const char *what)
{
    if (n >= max)
        return upp_fail(p->err, UPP_ELIMIT, "the pattern needs more than %zu %s", max, what);
    return upp_fail(p->err, UPP_ENOMEM, "out of memory");
}

/* ---- Program ---------------------------------------------------------------------------------------- */

static int emit(struct parser *p, struct wj_step s)
{
    if (!wb_vec_push(&p->steps, s, WJ_REGEX_STEPS))
        return too_long(p, p->steps.n, WJ_REGEX_STEPS, "steps");
    return 0;
}

static int emit_split(struct parser *p, size_t to, size_t other)
{
    return emit(p, (struct wj_step){.op = WJ_SPLIT, .to = (int16_t)to, .other = (int16_t)other});
}

/* Inserts a step before the fragment that begins at `at`. */
static int insert(struct parser *p, size_t at, struct wj_step s)
{
    int r = emit(p, s);
    if (r < 0)
        return r;
    memmove(p->steps.p + at + 1, p->steps.p + at, (p->steps.n - 1 - at) * sizeof s);
    p->steps.p[at] = s;
    return 0;
}

/* Appends a copy of the n steps from `at`. */
static int repeat(struct parser *p, size_t at, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = emit(p, p->steps.p[at + i]);
    return r;
}

static int make_star(struct parser *p, size_t at)
{
    size_t n = p->steps.n - at;
    int r = insert(p, at, (struct wj_step){.op = WJ_SPLIT, .to = 1, .other = (int16_t)(n + 2)});
    return r < 0 ? r : emit(p, (struct wj_step){.op = WJ_JUMP, .to = (int16_t)(-(int)n - 1)});
}

/* Repeats the fragment from `at` to the end, at least `min` and at most `max` times (SIZE_MAX: unbounded). */
static int make_repeat(struct parser *p, size_t at, size_t min, size_t max)
{
    size_t n = p->steps.n - at;
    int r = 0;
    if (n == 0)
        return 0;
    if (max == 0) {
        p->steps.n = at;
        return 0;
    }
    if (min == 0 && max == SIZE_MAX)
        return make_star(p, at);
    for (size_t i = 1; i < min && r == 0; i++)
        r = repeat(p, at, n);
    if (max == SIZE_MAX)
        return r < 0 ? r : emit(p, (struct wj_step){.op = WJ_SPLIT, .to = (int16_t)(-(int)n), .other = 1});
    if (min == 0 && r == 0) /* the existing copy is the first optional one */
        r = insert(p, at, (struct wj_step){.op = WJ_SPLIT, .to = 1});
    size_t piece = at + (min == 0), first = min == 0 ? at : p->steps.n;
    for (size_t i = WB_MAX(min, (size_t)1); i < max && r == 0; i++) {
        r = emit_split(p, 1, 0);
        if (r == 0)
            r = repeat(p, piece, n);
    }
    for (size_t i = first; r == 0 && i < p->steps.n; i += n + 1) /* each one's other branch leads to the end */
        p->steps.p[i].other = (int16_t)(p->steps.n - i);
    return r;
}

/* ---- Text ------------------------------------------------------------------------------------------- */

static uint32_t peek(const struct parser *p)
{
    uint32_t c;
    return wb_wtf8_decode(p->text, p->at, &c) ? c : (uint32_t)NO_CHAR;
}

static uint32_t take(struct parser *p)
{
    uint32_t c = 0;
    size_t n = wb_wtf8_decode(p->text, p->at, &c);
    p->at += n;
    return n ? c : (uint32_t)NO_CHAR;
}

static bool accept(struct parser *p, const char *what)
{
    struct upp_str w = wb_cstr(what);
    if (!wb_str_starts(wb_str_sub(p->text, p->at, SIZE_MAX), w))
        return false;
    p->at += w.n;
    return true;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(uint32_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c < 0x80;
}

/* Reads `digits` hexadecimal digits; -1: there are fewer. */
static int32_t take_hex(struct parser *p, size_t digits)
{
    char text[4] = {'0', '0', '0', '0'};
    if (p->text.n - p->at < digits)
        return -1;
    memcpy(text + 4 - digits, p->text.p + p->at, digits);
    int32_t n = wj_hex4(text);
    if (n >= 0)
        p->at += digits;
    return n;
}

/* After "\u": XXXX, a pair of two such, or {X...}. */
static int take_unicode(struct parser *p, uint32_t *ret)
{
    if (accept(p, "{")) {
        uint32_t c = 0;
        size_t n = 0;
        for (int32_t d; c <= WB_CHAR_MAX && (d = take_hex(p, 1)) >= 0; n++)
            c = c * 16 + (uint32_t)d;
        if (n == 0 || c > WB_CHAR_MAX || !accept(p, "}"))
            return refuse(p, "\\u{...} is no character");
        *ret = c;
        return 0;
    }
    int32_t high = take_hex(p, 4), low = -1;
    size_t mark = p->at;
    if (high < 0)
        return refuse(p, "expected four hexadecimal digits after \\u");
    if (high >= 0xd800 && high < 0xdc00 && accept(p, "\\u"))
        low = take_hex(p, 4);
    if (low >= 0xdc00 && low < 0xe000)
        *ret = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    else {
        p->at = mark;
        *ret = (uint32_t)high;
    }
    return 0;
}

/* ---- Classes ---------------------------------------------------------------------------------------- */

static const struct wj_range digits[] = {{'0', '9'}};
static const struct wj_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct wj_range
    blanks[] = {{9, 13},          {32, 32},         {0xa0, 0xa0},     {0x1680, 0x1680},
                {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                {0x3000, 0x3000}, {0xfeff, 0xfeff}}; /* ECMA-262, WhiteSpace and LineTerminator */

static const struct {
    char letter;
    const struct wj_range *ranges;
    size_t n;
} sets[] = {{'d', digits, WB_LEN(digits)}, {'w', words, WB_LEN(words)}, {'s', blanks, WB_LEN(blanks)}};

static int add_range(struct parser *p, uint32_t first, uint32_t last)
{
    if (!wb_vec_push(&p->ranges, ((struct wj_range){first, last}), WJ_REGEX_RANGES))
        return too_long(p, p->ranges.n, WJ_REGEX_RANGES, "ranges in classes");
    return 0;
}

/* Adds the set that \d, \D ... means. 1: it was one. 0: it is none. */
static int add_set(struct parser *p, uint32_t letter)
{
    for (size_t i = 0; i < WB_LEN(sets); i++) {
        bool negate = letter == (uint32_t)(sets[i].letter - 'a' + 'A');
        uint32_t from = 0;
        int r = 0;
        if (!negate && letter != (uint32_t)sets[i].letter)
            continue;
        for (size_t k = 0; k < sets[i].n && r == 0; k++) {
            const struct wj_range *g = &sets[i].ranges[k];
            if (!negate)
                r = add_range(p, g->first, g->last);
            else if (from < g->first)
                r = add_range(p, from, g->first - 1);
            from = g->last + 1;
        }
        if (negate && r == 0)
            r = add_range(p, from, WB_CHAR_MAX);
        return r < 0 ? r : 1;
    }
    return 0;
}

/* Sorts the ranges from `at` and merges adjacent ones, for the binary search when running. */
static void sort_ranges(struct parser *p, size_t at)
{
    size_t n = p->ranges.n - at, merged = 0;
    if (n == 0)
        return; /* and there may be no array yet */
    struct wj_range *g = p->ranges.p + at;
    for (size_t gap = n / 2; gap; gap /= 2) /* Shell sort: libc's qsort may allocate memory outside of our hooks */
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap && g[k - gap].first > g[k].first; k -= gap) {
                struct wj_range swap = g[k];
                g[k] = g[k - gap];
                g[k - gap] = swap;
            }
    for (size_t i = 0; i < n; i++) {
        if (merged && g[i].first <= g[merged - 1].last + 1)
            g[merged - 1].last = WB_MAX(g[merged - 1].last, g[i].last);
        else
            g[merged++] = g[i];
    }
    p->ranges.n = at + merged;
}

static int emit_class(struct parser *p, size_t at, bool negate)
{
    sort_ranges(p, at);
    return emit(
        p, (struct wj_step){.op = WJ_CLASS, .negate = negate, .a = (uint32_t)at, .n = (uint32_t)(p->ranges.n - at)});
}

/* ---- Escapes ---------------------------------------------------------------------------------------- */

/* The character of an escape whose backslash and letter are already consumed. */
static int escaped(struct parser *p, uint32_t c, uint32_t *ret)
{
    static const char controls[] = "t\tn\nv\vf\fr\r";
    int32_t hex;
    *ret = c;
    for (size_t i = 0; i + 1 < sizeof controls; i += 2)
        if (c == (uint32_t)controls[i]) {
            *ret = (uint32_t)controls[i + 1];
            return 0;
        }
    if (c == '0' && !is_digit(peek(p))) {
        *ret = 0;
        return 0;
    }
    if (is_digit(c) || c == 'k')
        return refuse(p, "backreferences are not supported");
    if ((c | 0x20) == 'p')
        return refuse(p, "classes by Unicode property (\\p) are not supported");
    if (c == 'u')
        return take_unicode(p, ret);
    if (c == 'x') {
        hex = take_hex(p, 2);
        if (hex < 0)
            return refuse(p, "expected two hexadecimal digits after \\x");
        *ret = (uint32_t)hex;
        return 0;
    }
    if (c == 'c' && is_letter(peek(p))) {
        *ret = take(p) & 31;
        return 0;
    }
    if (c == NO_CHAR)
        return refuse(p, "expected something after the backslash");
    if (is_letter(c) || c >= 0x80)
        return refuse(p, "there is no such escape");
    return 0; /* punctuation stands for itself */
}

/* Reads one class member: a character in *ret, or a set (*ret is then NO_CHAR). */
static int class_member(struct parser *p, uint32_t *ret)
{
    uint32_t c = take(p);
    if (c == NO_CHAR)
        return refuse(p, "expected ']' for this class");
    *ret = c;
    if (c != '\\')
        return 0;
    c = take(p);
    int r = add_set(p, c);
    if (r != 0) {
        *ret = NO_CHAR;
        return r < 0 ? r : 0;
    }
    if (c == 'b') {
        *ret = 8;
        return 0;
    }
    return escaped(p, c, ret);
}

static int parse_class(struct parser *p)
{
    size_t at = p->ranges.n;
    bool negate = accept(p, "^");
    while (!accept(p, "]")) {
        uint32_t first, last;
        int r = class_member(p, &first);
        if (r < 0)
            return r;
        last = first;
        if (first != NO_CHAR && peek(p) == '-' && !wb_str_starts(wb_str_sub(p->text, p->at, 2), UPP_STR("-]"))) {
            (void)take(p);
            r = class_member(p, &last);
            if (r < 0)
                return r;
            if (last == NO_CHAR) { /* [a-\d]: three members */
                r = add_range(p, '-', '-');
                last = first;
            } else if (last < first)
                return refuse(p, "a range in a class ends before it begins");
        }
        if (r == 0 && first != NO_CHAR)
            r = add_range(p, first, last);
        if (r < 0)
            return r;
    }
    return emit_class(p, at, negate);
}

static int parse_escape(struct parser *p)
{
    uint32_t c = take(p);
    size_t at = p->ranges.n;
    if (c == 'b' || c == 'B')
        return emit(p, (struct wj_step){.op = c == 'b' ? WJ_EDGE : WJ_NO_EDGE});
    int r = add_set(p, c);
    if (r < 0)
        return r;
    if (r > 0)
        return emit_class(p, at, false);
    r = escaped(p, c, &c);
    return r < 0 ? r : emit(p, (struct wj_step){.op = WJ_CHAR, .a = c});
}

/* ---- Groups, pieces, alternatives ------------------------------------------------------------------- */

static int parse_alternatives(struct parser *p);

/* After '('. */
static int parse_group(struct parser *p)
{
    if (accept(p, "?=") || accept(p, "?!") || accept(p, "?<=") || accept(p, "?<!"))
        return refuse(p, "lookaround is not supported");
    if (accept(p, "?<")) { /* a group name, unused */
        while (peek(p) != '>' && peek(p) != NO_CHAR)
            (void)take(p);
        if (!accept(p, ">"))
            return refuse(p, "expected '>' after the name of a group");
    } else if (!accept(p, "?:") && peek(p) == '?')
        return refuse(p, "this kind of group is not supported");
    if (++p->depth > WJ_REGEX_DEPTH)
        return upp_fail(p->err, UPP_ELIMIT, "the pattern has groups deeper than %d", WJ_REGEX_DEPTH);
    int r = parse_alternatives(p);
    p->depth--;
    if (r == 0 && !accept(p, ")"))
        r = refuse(p, "expected ')' for a group");
    return r;
}

/* Reads "{3}", "{3,}" or "{3,5}"; else consumes nothing: the brace is a character. */
static bool take_counts(struct parser *p, size_t *min, size_t *max)
{
    size_t mark = p->at, n[2] = {0, 0}, digits_of[2] = {0, 0}, i = 0;
    if (!accept(p, "{"))
        return false;
    for (;; (void)take(p)) {
        uint32_t c = peek(p);
        if (is_digit(c)) {
            n[i] = WB_MIN(n[i] * 10 + (c - '0'), (size_t)REPEAT_MAX + 1);
            digits_of[i]++;
        } else if (c == ',' && i == 0 && digits_of[0])
            i = 1;
        else
            break;
    }
    if (!digits_of[0] || !accept(p, "}")) {
        p->at = mark;
        return false;
    }
    *min = n[0];
    *max = i == 0 ? n[0] : digits_of[1] ? n[1] : SIZE_MAX;
    return true;
}

static int parse_quantifier(struct parser *p, size_t at, bool assertion)
{
    size_t min = 0, max = SIZE_MAX;
    if (accept(p, "+"))
        min = 1;
    else if (accept(p, "?"))
        max = 1;
    else if (!accept(p, "*") && !take_counts(p, &min, &max))
        return 0;
    if (assertion)
        return refuse(p, "there is nothing to repeat before this");
    (void)accept(p, "?"); /* lazy: matches the same texts */
    if (max < min)
        return refuse(p, "the most of a quantifier is less than its least");
    if (min > REPEAT_MAX || (max != SIZE_MAX && max > REPEAT_MAX))
        return upp_fail(p->err, UPP_ELIMIT, "the pattern repeats more than %d times", REPEAT_MAX);
    int r = make_repeat(p, at, min, max);
    if (r == 0 && (peek(p) == '*' || peek(p) == '+' || peek(p) == '?'))
        r = refuse(p, "there is nothing to repeat before this");
    return r;
}

static int parse_piece(struct parser *p)
{
    size_t at = p->steps.n;
    bool assertion = false;
    uint32_t c = peek(p);
    size_t min, max, mark = p->at;
    int r;
    if (c == '*' || c == '+' || c == '?' || take_counts(p, &min, &max)) {
        p->at = mark;
        return refuse(p, "there is nothing to repeat before this");
    }
    (void)take(p);
    switch (c) {
    case '(':
        r = parse_group(p);
        break;
    case '[':
        r = parse_class(p);
        break;
    case '.':
        r = emit(p, (struct wj_step){.op = WJ_ANY});
        break;
    case '^':
    case '$':
        assertion = true;
        r = emit(p, (struct wj_step){.op = c == '^' ? WJ_FRONT : WJ_END});
        break;
    case '\\':
        assertion = peek(p) == 'b' || peek(p) == 'B';
        r = parse_escape(p);
        break;
    default:
        r = emit(p, (struct wj_step){.op = WJ_CHAR, .a = c});
    }
    return r < 0 ? r : parse_quantifier(p, at, assertion);
}

/* a|b|c: a split before each alternative but the last, and after it a jump to the end. */
static int parse_alternatives(struct parser *p)
{
    size_t jump = SIZE_MAX, at; /* the last jump; until the end is known each stores the distance to the previous */
    int r = 0;
    for (;;) {
        at = p->steps.n;
        while (r == 0 && peek(p) != NO_CHAR && peek(p) != '|' && peek(p) != ')')
            r = parse_piece(p);
        if (r < 0 || !accept(p, "|"))
            break;
        size_t n = p->steps.n - at;
        r = insert(p, at, (struct wj_step){.op = WJ_SPLIT, .to = 1, .other = (int16_t)(n + 2)});
        if (r == 0)
            r = emit(p, (struct wj_step){.op = WJ_JUMP, .to = (int16_t)(jump == SIZE_MAX ? 0 : p->steps.n - jump)});
        if (r < 0)
            break;
        jump = p->steps.n - 1;
    }
    while (r == 0 && jump != SIZE_MAX) {
        size_t back = (size_t)p->steps.p[jump].to;
        p->steps.p[jump].to = (int16_t)(p->steps.n - jump);
        jump = back ? jump - back : SIZE_MAX;
    }
    return r;
}

static int store_program(struct parser *p, struct wb_arena *a, struct wj_regex *ret)
{
    struct wj_step *steps = wb_new_n(a, struct wj_step, p->steps.n);
    struct wj_range *ranges = wb_new_n(a, struct wj_range, p->ranges.n + 1);
    int r = wb_arena_check(a, p->err);
    if (r < 0)
        return r;
    memcpy(steps, p->steps.p, p->steps.n * sizeof *steps);
    if (p->ranges.n)
        memcpy(ranges, p->ranges.p, p->ranges.n * sizeof *ranges);
    *ret = (struct wj_regex){steps, ranges, (uint16_t)p->steps.n, steps[0].op == WJ_FRONT};
    return 0;
}

int wj_regex_new(struct wb_arena *a, struct upp_str pattern, struct wj_regex *ret, struct upp_err *err)
{
    struct parser p = {.text = pattern, .err = err};
    int r = parse_alternatives(&p);
    if (r == 0 && p.at < pattern.n)
        r = refuse(&p, peek(&p) == ')' ? "a ')' that closes nothing" : "expected UTF-8");
    if (r == 0)
        r = emit(&p, (struct wj_step){.op = WJ_MATCH});
    if (r == 0)
        r = store_program(&p, a, ret);
    wb_vec_done(&p.steps);
    wb_vec_done(&p.ranges);
    return r;
}
