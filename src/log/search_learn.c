/* log/search_learn.c — follows the log and indexes its words.
 *
 * Words and the position up to which the log is indexed are one commit: if one is lost, both are. If a row is erased
 * between reading and indexing, the store refuses the commit and the range is read again.
 */
#include "base/buf.h"
#include "base/log.h"
#include "log/lines.h"
#include "log/search.h"

enum { ROWS = 256, BYTES = 1 << 20, TRIES = 8, LEARN_ARENA = 1 << 30 };

struct learning {
    struct wl_store *s;
    struct wb_arena a;
    struct wl_index_entry *list;
    size_t n, cap;
};

static int add_words(struct learning *x, const struct wl_followed *f, const struct wl_line *line, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(2 * WL_SEARCH_TEXT), tools = WB_BUF(4 * WL_SEARCH_TEXT);
    struct wl_index_entry w = {.tenant = f->tenant,
                               .node = line->node,
                               .index = line->index,
                               .time_ms = line->entry.message.time_ms,
                               .who = line->entry.who};
    wl__text_of(&line->entry, &text, &tools);
    int r = wb_buf_check(&text, err);
    if (r >= 0)
        r = wb_buf_check(&tools, err);
    if (r < 0)
        return r;
    w.text = wb_arena_dup(&x->a, wb_buf_str(&text));
    w.tool = wb_arena_dup(&x->a, wb_buf_str(&tools));
    r = wb_arena_check(&x->a, err);
    if (r < 0)
        return r;
    wl__fold((char *)(uintptr_t)w.text.p, w.text.n); /* our own copy */
    if (x->n == x->cap) {
        size_t cap = x->cap ? x->cap * 2 : 64;
        struct wl_index_entry *p = wb_new_n(&x->a, struct wl_index_entry, cap);
        if (!p)
            return wb_arena_check(&x->a, err);
        if (x->n)
            memcpy(p, x->list, x->n * sizeof *p);
        x->list = p;
        x->cap = cap;
    }
    x->list[x->n++] = w;
    return 0;
}

WEFT_SUSPENDS static int read_row(struct learning *x, const struct wl_followed *f, struct upp_err *err)
{
    struct wl_owner owner = {.tenant = f->tenant};
    struct wl_line *lines;
    size_t n;
    int r = wl__row_lines(x->s, &owner, &f->row, &x->a, &lines, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (wl__is_public(&lines[i].entry))
            r = add_words(x, f, &lines[i], err);
    return r;
}

/* In as many commits as it takes; only the last one advances the position. */
WEFT_SUSPENDS static int commit(struct learning *x, const struct wl_followed *last, uint64_t before,
                                struct upp_err *err)
{
    enum { EACH = 1024 };
    for (size_t at = 0;; at += EACH) {
        size_t some = WB_MIN(x->n - at, (size_t)EACH);
        bool end = at + some == x->n;
        struct wl_index_update l = {.list = some ? x->list + at : NULL,
                                    .n = some,
                                    .from = before,
                                    .upto = end ? last->number : before,
                                    .changes = last->changes};
        struct wl_change change = {.kind = WL_INDEX_ADD, .learned = &l};
        struct wl_commit c = {.owner = {.tenant = last->tenant}, .changes = &change, .n = 1};
        int r = wl_store_commit(x->s, &c, err);
        if (r < 0 || end)
            return r;
    }
}

WEFT_SUSPENDS static int learn_once(struct learning *x, size_t *rows, struct upp_err *err)
{
    struct wl_followed *p;
    uint64_t upto, end;
    size_t n;
    int r = wl_get_index_progress(x->s, &upto, &end, err);
    if (r >= 0)
        r = wl_store_follow(x->s, upto, ROWS, BYTES, &x->a, &p, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = read_row(x, &p[i], err);
    if (r >= 0 && n)
        r = commit(x, &p[n - 1], upto, err);
    if (r >= 0)
        *rows = n;
    return r;
}

/* Drops a damaged index. */
WEFT_SUSPENDS static int mend(struct wl_store *s, struct upp_err *err)
{
    if (wl_store_index_state(s) != WL_INDEX_DAMAGED)
        return 0;
    int r = wl_index_reset(s, err);
    if (r >= 0)
        wb_log(WB_WARN, "the damaged search index is dropped, and filled again from the log");
    return r;
}

WEFT_SUSPENDS int wl_index_rows(struct wl_store *s, size_t *rows, struct upp_err *err)
{
    struct learning x = {.s = s, .a = WB_ARENA(LEARN_ARENA)};
    int r = wl__search_on(s, err);
    *rows = 0;
    if (r < 0)
        return r;
    r = -UPP_EBUSY;
    for (int tries = 0; r == -UPP_EBUSY && tries < TRIES; tries++) {
        wb_arena_reset(&x.a);
        x.list = NULL;
        x.n = x.cap = 0;
        r = mend(s, err);
        if (r < 0)
            break;
        r = learn_once(&x, rows, err);
        if (r == -UPP_ESTORE && wl_store_index_state(s) == WL_INDEX_DAMAGED)
            r = -UPP_EBUSY; /* it was found damaged now: drop it */
    }
    wb_arena_done(&x.a);
    if (r >= 0 && !*rows)
        wl_store_index_filled(s);
    return r;
}

/* The newest row carries the number of row changes so far; read before the entries below are. */
WEFT_SUSPENDS static int again_once(struct learning *x, const struct wl_owner *o, uint64_t node, uint32_t first,
                                    uint32_t end, struct upp_err *err)
{
    struct wl_line *lines = wb_new_n(&x->a, struct wl_line, end - first);
    struct wl_followed *last;
    uint64_t upto, newest;
    size_t n;
    if (!lines)
        return wb_arena_check(&x->a, err);
    int r = wl_get_index_progress(x->s, &upto, &newest, err);
    if (r >= 0)
        r = wl_store_follow(x->s, newest ? newest - 1 : 0, 1, 1, &x->a, &last, &n, err);
    if (r < 0 || !n)
        return r < 0 ? r : 0;
    struct wl_followed at = {.tenant = o->tenant, .number = upto, .changes = last->changes};
    r = wl__lines(x->s, o, node, first, end, &x->a, lines, NULL, err);
    for (uint32_t i = 0; r >= 0 && i < end - first; i++)
        if (wl__is_public(&lines[i].entry))
            r = add_words(x, &at, &lines[i], err);
    return r < 0 || !x->n ? r : commit(x, &at, upto, err);
}

WEFT_SUSPENDS int wl_reindex(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, uint32_t end,
                             struct upp_err *err)
{
    struct learning x = {.s = s, .a = WB_ARENA(LEARN_ARENA)};
    int r = wl__search_on(s, err);
    if (r < 0)
        return r;
    r = first < end ? -UPP_EBUSY : 0;
    for (int tries = 0; r == -UPP_EBUSY && tries < TRIES; tries++) {
        wb_arena_reset(&x.a);
        x.list = NULL;
        x.n = x.cap = 0;
        r = again_once(&x, o, node, first, end, err);
    }
    wb_arena_done(&x.a);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int wl_index_reset(struct wl_store *s, struct upp_err *err)
{
    struct wl_index_update l = {.anew = true};
    struct wl_change change = {.kind = WL_INDEX_ADD, .learned = &l};
    struct wl_commit c = {.owner = {.tenant = UPP_STR("weft")}, .changes = &change, .n = 1, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}
