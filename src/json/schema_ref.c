/* json/schema_ref.c — references within a schema: resolves them, and detects infinite loops. */
#include "base/hooks.h"
#include "json/number.h"
#include "json/schema_rules.h"
#include "json/syntax.h"

bool wj_schema_is_base(yyjson_val *v)
{
    yyjson_val *id = yyjson_is_obj(v) ? wj_member(v, UPP_STR("$id")) : NULL;
    return yyjson_is_str(id) && !wb_str_starts(wj_text(id), UPP_STR("#")); /* in draft 7 "#name" is an anchor */
}

/* The next byte of a JSON pointer in a URI fragment: %XX is a byte; then ~0 is '~' and ~1 is '/'. -1: invalid. */
static int next_byte(struct upp_str s, size_t *at)
{
    unsigned char c = (unsigned char)s.p[(*at)++];
    if (c != '%')
        return c;
    char hex[4] = {'0', '0', '0', '0'};
    if (s.n - *at < 2)
        return -1;
    memcpy(hex + 2, s.p + *at, 2);
    *at += 2;
    return wj_hex4(hex);
}

static int next_char(struct upp_str s, size_t *at)
{
    int c = next_byte(s, at);
    if (c != '~')
        return c;
    c = *at < s.n ? next_byte(s, at) : -1;
    return c == '0' ? '~' : c == '1' ? '/' : -1;
}

static bool token_is(struct upp_str token, struct upp_str name)
{
    size_t at = 0, i = 0;
    while (at < token.n && i < name.n)
        if (next_char(token, &at) != (unsigned char)name.p[i++])
            return false;
    return at == token.n && i == name.n;
}

static yyjson_val *step_down(yyjson_val *v, struct upp_str token, uint64_t *budget)
{
    uint64_t index;
    if (yyjson_is_arr(v)) {
        bool plain = wb_str_u64(token, &index) && (token.p[0] != '0' || token.n == 1);
        *budget -= WB_MIN(*budget, plain ? WB_MIN(index, unsafe_yyjson_get_len(v)) : 1);
        return plain ? yyjson_arr_get(v, index) : NULL;
    }
    if (!yyjson_is_obj(v))
        return NULL;
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n && *budget; n--, key = unsafe_yyjson_get_next(key + 1)) {
        --*budget;
        if (token_is(token, wj_text(key)))
            return key + 1;
    }
    return NULL;
}

/* Turns "id#rest" into "#rest" if id is the base's own. */
static struct upp_str without_id(struct upp_str ref, yyjson_val *base)
{
    yyjson_val *id = yyjson_is_obj(base) ? wj_member(base, UPP_STR("$id")) : NULL;
    if (!yyjson_is_str(id) || wb_str_starts(ref, UPP_STR("#")))
        return ref;
    struct upp_str own = wj_text(id);
    if (wb_str_ends(own, UPP_STR("#")))
        own.n--;
    if (!own.n || !wb_str_starts(ref, own))
        return ref;
    struct upp_str rest = wb_str_sub(ref, own.n, SIZE_MAX);
    return rest.n == 0 ? UPP_STR("#") : rest;
}

int wj_schema_find(struct upp_str ref, yyjson_val **base, yyjson_val **ret, uint64_t *budget, struct upp_err *err)
{
    char quoted[WJ_QUOTED];
    yyjson_val *v = *base;
    struct upp_str rest = without_id(ref, v), token;
    if (!wb_str_starts(rest, UPP_STR("#")))
        return upp_fail(err, UPP_EINVALID, "expected a reference into this schema (#/...), found %s",
                        wj_quote(ref, quoted, sizeof quoted));
    rest = wb_str_sub(rest, 1, SIZE_MAX);
    if (rest.n && rest.p[0] != '/')
        return upp_fail(err, UPP_EINVALID, "expected a reference by pointer (#/...), found the anchor %s",
                        wj_quote(ref, quoted, sizeof quoted));
    if (rest.n == 0 || !wb_str_split(&rest, '/', &token)) /* before the first slash there must be nothing */
        rest.p = NULL;
    while (wb_str_split(&rest, '/', &token)) {
        v = step_down(v, token, budget);
        if (!*budget)
            return upp_fail(err, UPP_ELIMIT, "the references of this schema take too long to follow");
        if (!v)
            return upp_fail(err, UPP_EINVALID, "nothing is at %s", wj_quote(ref, quoted, sizeof quoted));
        if (wj_schema_is_base(v))
            *base = v;
    }
    *ret = v;
    return 0;
}

enum { SINGLE = 5 };

/* The i-th schema that these rules apply to the same value; NULL: no more. */
static const struct wj_rules *same_value(const struct wj_rules *self, size_t i)
{
    const struct wj_rules_list *lists[] = {&self->all, &self->any, &self->one};
    const struct wj_rules *single[] = {self->ref, self->not_this, self->when, self->then, self->otherwise};
    if (i < SINGLE)
        return single[i];
    i -= SINGLE;
    for (size_t k = 0; k < WB_LEN(lists); i -= lists[k]->n, k++)
        if (i < lists[k]->n)
            return lists[k]->p[i];
    return NULL;
}

static size_t same_value_count(const struct wj_rules *r)
{
    return SINGLE + r->all.n + r->any.n + r->one.n;
}

struct visit {
    const struct wj_rules *rules;
    size_t next;
};

enum { NEW, OPEN, DONE };

/* Depth-first search from one schema, without recursion. Returns a schema that is reached again while open, or NULL. */
static const struct wj_rules *walk(const struct wj_rules *from, uint8_t *state, struct visit *stack)
{
    size_t n = 0;
    stack[n++] = (struct visit){from, 0};
    state[from->index] = OPEN;
    while (n) {
        struct visit *top = &stack[n - 1];
        if (top->next == same_value_count(top->rules)) {
            state[top->rules->index] = DONE;
            n--;
            continue;
        }
        const struct wj_rules *to = same_value(top->rules, top->next++);
        if (!to || state[to->index] == DONE)
            continue;
        if (state[to->index] == OPEN)
            return to;
        state[to->index] = OPEN;
        stack[n++] = (struct visit){to, 0};
    }
    return NULL;
}

int wj_schema_loops(const struct wj_rules *const *made, size_t n_values, uint32_t *index, struct upp_err *err)
{
    const struct wj_rules *loop = NULL;
    struct visit *stack = wb_calloc(WJ_SCHEMA_COUNT, sizeof *stack);
    uint8_t *state = wb_calloc(n_values, sizeof *state);
    int r = stack && state ? 0 : upp_fail(err, UPP_ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < n_values; i++)
        if (made[i] && state[i] == NEW) {
            loop = walk(made[i], state, stack);
            if (loop) {
                *index = loop->index;
                r = upp_fail(err, UPP_EINVALID, "a schema that refers to itself for the same value, without end");
            }
        }
    wb_free(stack);
    wb_free(state);
    return r;
}
