/* runtime/config_read.c — reports mistakes of a configuration, checks the keys of its maps, and suggests the right
 * ones. */
#include "runtime/config_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/value.h"

UPP_PRINTF(4, 0)
static void report(struct wc_reader *r, struct wc_mark at, bool warning, const char *fmt, va_list args)
{
    struct wc_report *p = r->report;
    char text[400];
    r->excused |= r->excuses && !warning;
    warning |= r->excuses;
    p->errors += !warning;
    if (p->n == WC_MAX_MISTAKES) {
        p->left_out++;
        return;
    }
    if (!p->list && !(p->list = wb_new_n(&p->arena, struct wc_mistake, WC_MAX_MISTAKES)))
        return;
    (void)vsnprintf(text, sizeof text, fmt, args);
    size_t n = strlen(text);
    p->list[p->n++] = (struct wc_mistake){at.line, at.column, warning,
                                          wb_arena_dup(&p->arena, wb_str(text, wb_utf8_cut(wb_str(text, n), n)))};
}

void wc_report_at(struct wc_reader *r, struct wc_mark at, bool warning, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(r, at, warning, fmt, args);
    va_end(args);
}

void wc_mistake(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(r, (struct wc_mark){at->line, at->column}, false, fmt, args);
    va_end(args);
}

void wc_warning(struct wc_reader *r, const struct wc_node *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(r, (struct wc_mark){at->line, at->column}, true, fmt, args);
    va_end(args);
}

void wc_fail(struct wc_reader *r, int code)
{
    if (code < 0 && r->failed == 0)
        r->failed = code;
}

void wc_report_done(struct wc_report *r)
{
    wb_arena_done(&r->arena);
    *r = (struct wc_report){0};
}

const struct wc_node *wc_get(const struct wc_node *map, const char *key)
{
    if (map && map->kind == WC_MAP)
        for (const struct wc_item *i = map->first; i; i = i->next)
            if (wb_str_eq(i->key->text, wb_cstr(key)))
                return i->value;
    return NULL;
}

bool wc_repeated(const struct wc_node *map, const struct wc_item *item)
{
    for (const struct wc_item *i = map->first; i != item; i = i->next)
        if (wb_str_eq(i->key->text, item->key->text))
            return true;
    return false;
}

static void unknown_key(struct wc_reader *r, const struct wc_node *key, const char *what, const struct wc_key *keys,
                        size_t n_keys)
{
    struct wc_guess guess = {0};
    char quoted[WJ_QUOTED];
    for (size_t i = 0; i < n_keys; i++)
        wc_guess(&guess, key->text, wb_cstr(keys[i].name));
    wc_mistake(r, key, "%s has no key %s%s", what, wj_quote(key->text, quoted, sizeof quoted), wc_guessed(&guess));
}

static const struct wc_key *find_key(struct upp_str name, const struct wc_key *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++)
        if (wb_str_eq(name, wb_cstr(keys[i].name)))
            return &keys[i];
    return NULL;
}

static void read_number(struct wc_reader *r, const struct wc_key *key, const struct wc_node *n, void *member)
{
    const char *what = key->what ? key->what : key->name;
    uint64_t v;
    double d;
    if (key->type == WC_F64) {
        if (wc_decimal(r, n, what, (double)key->min, (double)key->max, &d))
            memcpy(member, &d, sizeof d);
    } else if (key->type == WC_DURATION) {
        if (wc_duration(r, n, what, key->min, key->max, &v))
            memcpy(member, &v, sizeof v);
    } else if (wc_number(r, n, what, key->min, key->max, &v)) {
        uint32_t small = (uint32_t)v;
        if (key->type == WC_U32)
            memcpy(member, &small, sizeof small);
        else
            memcpy(member, &v, sizeof v);
    }
}

static void read_member(struct wc_reader *r, const struct wc_key *key, const struct wc_node *n, void *into)
{
    void *member = (char *)into + key->at;
    const char *what = key->what ? key->what : key->name;
    unsigned which;
    bool truth;
    switch (key->type) {
    case WC_TRUTH:
    case WC_UNTRUTH:
        if (wc_truth(r, n, what, &truth))
            *(bool *)member = truth != (key->type == WC_UNTRUTH);
        break;
    case WC_STR:
        (void)wc_text(r, n, what, member);
        break;
    case WC_CSTR:
        (void)wc_cstr(r, n, what, member);
        break;
    case WC_ENUM:
        if (wc_word(r, n, what, key->words, &which))
            *(uint8_t *)member = (uint8_t)(key->min + which);
        break;
    case WC_WORD:
        if (wc_word(r, n, what, key->words, &which))
            *(const char **)member = key->words[which];
        break;
    default:
        read_number(r, key, n, member);
    }
}

void wc_map(struct wc_reader *r, const struct wc_node *n, const char *what, const struct wc_key *keys, size_t n_keys,
            void *into)
{
    if (wc_describe_map(r, keys, n_keys) || !wc_is(r, n, WC_MAP, what))
        return;
    uint64_t seen = 0;
    for (const struct wc_item *i = n->first; i; i = i->next) {
        const struct wc_key *key = find_key(i->key->text, keys, n_keys);
        if (!key) {
            unknown_key(r, i->key, what, keys, n_keys);
            continue;
        }
        uint64_t bit = UINT64_C(1) << (key - keys);
        bool before = r->excuses;
        if (seen & bit) {
            wc_mistake(r, i->key, "'%s' is there a second time", key->name);
            continue;
        }
        r->excuses |= r->opts->only_store && (key->flags & WC_NOT_STORE);
        if (key->read)
            (r->key = key)->read(r, i->value, into);
        else if (key->type)
            read_member(r, key, i->value, into);
        else
            wc_warning(r, i->key, "'%s' is not supported yet and has no effect", key->name);
        r->excuses = before;
        seen |= bit;
    }
    for (size_t i = 0; i < n_keys; i++)
        if ((keys[i].flags & WC_REQUIRED) && !(seen & (UINT64_C(1) << i)))
            wc_mistake(r, n, "%s needs '%s'", what, keys[i].name);
}

/* dots: it may have some, but not in front: a path that names it must not lead elsewhere. */
static bool is_name(struct upp_str s, bool dots)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((dots && i && c == '.') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return s.n >= 1 && s.n <= 64;
}

static void read_named(struct wc_reader *r, const struct wc_node *n, const char *what, bool dots, wc_named_fn *fn,
                       void *into)
{
    char quoted[WJ_QUOTED];
    if (wc_describe_named(r, dots, fn, into) || !wc_is(r, n, WC_MAP, what))
        return;
    if (n->n > WC_MAX_NAMED) {
        wc_mistake(r, n, "%zu %s are more than %d", n->n, what, WC_MAX_NAMED);
        return;
    }
    for (const struct wc_item *i = n->first; i; i = i->next) {
        if (!is_name(i->key->text, dots))
            wc_mistake(r, i->key, "%s is no name: 1 to 64 letters, digits, '_' and '-'%s",
                       wj_quote(i->key->text, quoted, sizeof quoted), dots ? ", and '.' but not in front" : "");
        else if (wc_repeated(n, i))
            wc_mistake(r, i->key, "there are two %s called '%.*s'", what, UPP_FMT(i->key->text));
        else
            fn(r, i->key, i->value, into);
    }
}

void wc_named(struct wc_reader *r, const struct wc_node *n, const char *what, wc_named_fn *fn, void *into)
{
    read_named(r, n, what, false, fn, into);
}

void wc_named_dotted(struct wc_reader *r, const struct wc_node *n, const char *what, wc_named_fn *fn, void *into)
{
    read_named(r, n, what, true, fn, into);
}

struct wc_tool *wc_find_tool(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess)
{
    const struct wc_config *c = r->config;
    for (size_t i = 0; i < c->n_tools; i++) {
        wc_guess(guess, name, c->tools[i].tool.spec.name);
        if (wb_str_eq(c->tools[i].tool.spec.name, name))
            return &c->tools[i];
    }
    return NULL;
}

const struct wc_item *wc_find_agent(const struct wc_reader *r, struct upp_str name, struct wc_guess *guess)
{
    const struct wc_node *all = r->agents;
    for (const struct wc_item *i = all && all->kind == WC_MAP ? all->first : NULL; i; i = i->next) {
        wc_guess(guess, name, i->key->text);
        if (wb_str_eq(i->key->text, name))
            return i;
    }
    return NULL;
}

bool wc_no_such(struct wc_reader *r, const struct wc_node *at, const char *what, const struct wc_guess *guess)
{
    char quoted[WJ_QUOTED];
    wc_mistake(r, at, "there is no %s %s%s", what, wj_quote(at->text, quoted, sizeof quoted), wc_guessed(guess));
    return false;
}
