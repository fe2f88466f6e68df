/* log/search.c — searches by the index or by scanning, and looks each match up in the threads of its tree.
 *
 * The store proposes candidates; each entry is read and compared here, and then looked up in the threads of its tree.
 * An entry on no thread's path was abandoned: then the run that wrote it names the thread. An entry that no thread of
 * this owner has, or had, is not found.
 */
#include "log/search.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "base/words.h"
#include "log/change.h"
#include "log/lines.h"
#include "log/pages.h"

enum {
    PAGE = 64,       /* hits per query to the store */
    PAGES = 64,      /* queries per search */
    FAMILIES = 64,   /* cached; of more the last one is replaced */
    RUN_ROWS = 16,   /* of a node, searched for a run */
    SCAN_ROWS = 256, /* scanned at a time, from the newest on: fewer of large ones */
    SCAN_BYTES = 1 << 20,
    SCRATCH = 1 << 30,
    BEFORE = 60, /* bytes of a snippet before and after the match */
    BEHIND = 120,
    SCAN_BITS = 12, /* of a hit's number when scanning: which entry of the row */
};

struct spot {
    uint64_t key, parent;
    uint32_t parent_length;
};

struct member {
    struct wb_uuid id, tree;
    uint64_t head;
    uint32_t at; /* as of a struct wl_thread */
};

struct family {
    uint32_t id;
    WB_VEC(struct spot) nodes;     /* by key */
    WB_VEC(struct member) threads; /* of this owner */
};

struct searching {
    struct wl_store *s;
    const struct wl_owner *o;
    const struct wl_search *q;
    struct upp_str words[WL_QUERY_WORDS];
    size_t n_words;
    struct upp_str folded;   /* all of them, separated by blanks */
    struct wl_thread thread; /* with q->thread */
    bool in_thread;
    bool whole;           /* match whole words, not parts */
    struct wb_arena *a;   /* the caller's */
    struct wb_arena own;  /* for the whole search */
    struct wb_arena line; /* for one entry */
    struct wb_buf text, lower, tools;
    struct family families[FAMILIES];
    size_t n_families;
    size_t bytes, max_bytes; /* read so far, and at most: then the caller continues with `next` */
    struct upp_err *err;
};

/* ---- The query ------------------------------------------------------------------------------------------- */

static int read_words(struct searching *x)
{
    struct upp_str all = x->q->words, word;
    if (all.n > WL_SEARCH_WORDS)
        return upp_fail(x->err, UPP_ELIMIT, "more than %d bytes to look for", WL_SEARCH_WORDS);
    all = wb_arena_dup(&x->own, all.p ? all : UPP_STR(""));
    int r = wb_arena_check(&x->own, x->err);
    if (r < 0)
        return r;
    wl__fold((char *)(uintptr_t)all.p, all.n); /* our own copy */
    x->folded = all;
    while (wb_str_split(&all, ' ', &word)) {
        if (!word.n)
            continue;
        if (x->n_words == WL_QUERY_WORDS)
            return upp_fail(x->err, UPP_ELIMIT, "more than %d words to look for", WL_QUERY_WORDS);
        x->words[x->n_words++] = word;
    }
    return 0;
}

static int check(struct searching *x)
{
    const struct wl_search *q = x->q;
    x->in_thread = !wb_uuid_is_nil(q->thread);
    int r = read_words(x);
    if (r < 0)
        return r;
    if (!x->n_words && !q->who.n && !q->tool.n && !q->since_ms && !q->until_ms && !x->in_thread)
        return upp_fail(x->err, UPP_EINVALID, "nothing is asked for");
    return 0;
}

/* ---- Matching an entry ----------------------------------------------------------------------------------- */

static bool has_tool(struct upp_str tools, struct upp_str name)
{
    struct upp_str one;
    while (wb_str_split(&tools, '\n', &one))
        if (wb_str_eq(one, name))
            return true;
    return false;
}

/* The first match; NULL: none. */
static const char *find_word(const struct searching *x, struct upp_str word)
{
    struct upp_str text = wb_buf_str(&x->lower);
    size_t at = 0;
    while (text.n - at >= word.n) {
        const char *p = memmem(text.p + at, text.n - at, word.p, word.n);
        if (!p)
            break;
        at = (size_t)(p - text.p);
        if (!x->whole || (wb_word_ends(text, at) && wb_word_ends(text, at + word.n)))
            return p;
        at++;
    }
    return NULL;
}

static bool has_words(const struct searching *x)
{
    for (size_t i = 0; i < x->n_words; i++)
        if (!x->lower.n || !find_word(x, x->words[i]))
            return false;
    return true;
}

/* 1: it matches; its text is in x->text, and folded in x->lower. */
static int matches(struct searching *x, const struct wl_line *line)
{
    const struct wl_search *q = x->q;
    int64_t t = line->entry.message.time_ms;
    if (!wl__is_public(&line->entry) || (q->who.n && !wb_str_eq(q->who, line->entry.who)) ||
        (q->since_ms && t < q->since_ms) || (q->until_ms && t >= q->until_ms))
        return 0;
    wb_buf_clear(&x->text);
    wb_buf_clear(&x->lower);
    wb_buf_clear(&x->tools);
    wl__text_of(&line->entry, &x->text, &x->tools);
    wb_buf_add(&x->lower, wb_buf_str(&x->text));
    int r = wb_buf_check(&x->lower, x->err);
    if (r >= 0)
        r = wb_buf_check(&x->text, x->err);
    if (r >= 0)
        r = wb_buf_check(&x->tools, x->err);
    if (r < 0)
        return r;
    if (x->lower.n)
        wl__fold(x->lower.p, x->lower.n);
    return has_words(x) && (!q->tool.n || has_tool(wb_buf_str(&x->tools), q->tool));
}

/* ---- The threads of an entry ----------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct spot *)a)->key, y = ((const struct spot *)b)->key;
    return (x > y) - (x < y);
}

/* The nodes of a family, ordered by key, and its threads that belong to this owner: without texts. */
WEFT_SUSPENDS static int read_nodes(struct searching *x, struct family *f)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p = WL_PAGES(x->s, .what = WL_LIST_FAMILY_NODES, .owner = x->o, .number = f->id);
    int r;
    while ((r = wl_pages_next(&p, x->err)) > 0) {
        const struct wl_node *list = p.list.p;
        for (size_t i = 0; i < p.list.n; i++)
            if (!wb_vec_push(&f->nodes, ((struct spot){list[i].key, list[i].parent, list[i].parent_length}), WL_FAMILY))
                return upp_fail(x->err, UPP_ENOMEM, "no memory for a family of more than %zu nodes", f->nodes.n);
    }
    if (r >= 0 && f->nodes.n)
        qsort(f->nodes.p, f->nodes.n, sizeof *f->nodes.p, by_key);
    return r;
}

WEFT_SUSPENDS static int read_threads(struct searching *x, struct family *f)
{
    WB_CLEANUP(wl_pages_done)
    struct wl_pages p = WL_PAGES(x->s, .what = WL_LIST_FAMILY_THREADS, .owner = x->o, .number = f->id);
    int r;
    while ((r = wl_pages_next(&p, x->err)) > 0) {
        const struct wl_thread *list = p.list.p;
        for (size_t i = 0; i < p.list.n; i++)
            if (wb_str_eq(list[i].owner.user, x->o->user) &&
                !wb_vec_push(&f->threads, ((struct member){list[i].id, list[i].tree, list[i].head, list[i].at}),
                             WL_FAMILY))
                return upp_fail(x->err, UPP_ENOMEM, "no memory for a family of more than %zu threads", f->threads.n);
    }
    return r;
}

static void family_done(struct family *f)
{
    wb_vec_done(&f->nodes);
    wb_vec_done(&f->threads);
}

/* A search that names a thread needs no other: of a family only this one is read. */
WEFT_SUSPENDS static int read_family(struct searching *x, struct family *f)
{
    const struct wl_thread *t = &x->thread;
    int r = read_nodes(x, f);
    if (r < 0 || !x->in_thread)
        return r < 0 ? r : read_threads(x, f);
    return wb_vec_push(&f->threads, ((struct member){t->id, t->tree, t->head, t->at}), WL_FAMILY)
               ? 0
               : upp_fail(x->err, UPP_ENOMEM, "no memory for a thread");
}

WEFT_SUSPENDS static int family_of(struct searching *x, uint32_t id, struct family **ret)
{
    for (size_t i = 0; i < x->n_families; i++)
        if (x->families[i].id == id) {
            *ret = &x->families[i];
            return 0;
        }
    struct family *f = &x->families[x->n_families < FAMILIES ? x->n_families : FAMILIES - 1];
    family_done(f);
    *f = (struct family){.id = id};
    int r = read_family(x, f);
    if (r < 0) {
        family_done(f);
        return r;
    }
    x->n_families += x->n_families < FAMILIES;
    *ret = f;
    return 0;
}

static const struct spot *find_spot(const struct family *f, uint64_t key)
{
    const struct spot wanted = {.key = key};
    return f->nodes.n ? bsearch(&wanted, f->nodes.p, f->nodes.n, sizeof *f->nodes.p, by_key) : NULL;
}

/* Is this entry, which exists, on the path from the root to the thread's end? */
static bool on_path(const struct family *f, const struct member *m, uint64_t node, uint32_t index)
{
    uint32_t length = m->at ? m->at - 1 : UINT32_MAX;
    uint64_t key = m->head;
    for (unsigned i = 0; key && i < WL_PATH_READ; i++) {
        if (key == node)
            return index < length;
        const struct spot *s = find_spot(f, key);
        if (!s)
            return false; /* dropped meanwhile */
        key = s->parent;
        length = s->parent_length;
    }
    return false;
}

/* The thread whose run wrote an entry. All zero: unknown. */
WEFT_SUSPENDS static int writer_of(struct searching *x, const struct wl_line *line, struct wb_uuid *ret)
{
    struct wb_uuid run = line->run;
    struct wl_range range = {.node = line->node, .to = UINT64_MAX, .max_rows = RUN_ROWS};
    struct wl_rows rows = {0};
    struct wm_run row;
    int r = 0;
    *ret = WB_UUID_NIL;
    if (wb_uuid_is_nil(run))
        r = wl_store_rows(x->s, x->o, &range, &x->line, &rows, x->err);
    for (size_t i = 0; r >= 0 && i < rows.n && wb_uuid_is_nil(run); i++)
        run = rows.p[i].run;
    if (r < 0 || wb_uuid_is_nil(run))
        return r;
    r = wl_get_run(x->s, x->o, run, &x->line, &row, x->err);
    if (r >= 0)
        *ret = row.thread;
    return r == -UPP_ENOTFOUND ? 0 : r;
}

static bool wants_thread(const struct searching *x, const struct member *m, struct wb_uuid tree)
{
    return wb_uuid_eq(m->tree, tree) && (!x->in_thread || wb_uuid_eq(m->id, x->q->thread));
}

/* Fills ret->in with the threads of an entry; none: it is not found. */
WEFT_SUSPENDS static int find_threads(struct searching *x, const struct wl_line *line, struct wl_found *ret)
{
    struct family *f;
    struct wl_node node;
    struct wb_uuid writer;
    ret->n_in = 0;
    ret->more = false;
    int r = wl_get_node(x->s, x->o, line->node, &node, x->err);
    if (r >= 0)
        r = family_of(x, wl_family(node.tree), &f);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    ret->in = wb_arena_zero(&x->line, sizeof *ret->in * WL_SEARCH_IN, _Alignof(struct wl_found));
    if (!ret->in)
        return wb_arena_check(&x->line, x->err);
    for (size_t i = 0; i < f->threads.n && !ret->more; i++) {
        const struct member *m = &f->threads.p[i];
        if (!wants_thread(x, m, node.tree) || !on_path(f, m, line->node, line->index))
            continue;
        ret->more = ret->n_in == WL_SEARCH_IN;
        if (!ret->more)
            ret->in[ret->n_in++].thread = m->id;
    }
    if (ret->n_in)
        return 0;
    r = writer_of(x, line, &writer);
    for (size_t i = 0; r >= 0 && i < f->threads.n && !ret->n_in; i++)
        if (wb_uuid_eq(f->threads.p[i].id, writer) && wants_thread(x, &f->threads.p[i], node.tree)) {
            ret->in[0].thread = writer;
            ret->in[0].abandoned = true;
            ret->n_in = 1;
        }
    return r;
}

/* ---- Results --------------------------------------------------------------------------------------------- */

static bool inside(const struct wb_buf *b, size_t at) /* in the middle of a character */
{
    return at < b->n && ((unsigned char)b->p[at] & 0xc0) == 0x80;
}

static void snip(struct searching *x, struct wl_found *ret)
{
    size_t at = 0, n = 0;
    if (x->n_words) {
        const char *hit = find_word(x, x->words[0]);
        at = (size_t)(hit - x->lower.p);
        n = x->words[0].n;
    }
    size_t from = at > BEFORE ? at - BEFORE : 0, to = WB_MIN(at + n + BEHIND, x->text.n);
    while (inside(&x->text, from))
        from++;
    while (inside(&x->text, to))
        to--;
    ret->snippet = wb_arena_dup(x->a, wb_str(x->text.p ? x->text.p + from : "", to - from));
    ret->match = at - from;
    ret->match_n = n;
}

/* 1: it is found. */
WEFT_SUSPENDS static int judge(struct searching *x, const struct wl_line *line, struct wl_found *ret)
{
    int r = matches(x, line);
    if (r <= 0)
        return r;
    *ret = (struct wl_found){.entry = line->id,
                             .node = line->node,
                             .index = line->index,
                             .role = line->entry.message.role,
                             .time_ms = line->entry.message.time_ms};
    r = find_threads(x, line, ret);
    return r < 0 ? r : ret->n_in > 0;
}

static int fill_result(struct searching *x, const struct wl_line *line, struct wl_found *ret)
{
    size_t size = ret->n_in * sizeof *ret->in;
    void *in = wb_arena_alloc(x->a, size, _Alignof(struct wl_found));
    if (in)
        ret->in = memcpy(in, ret->in, size);
    ret->who = wb_arena_dup(x->a, line->entry.who);
    snip(x, ret);
    return wb_arena_check(x->a, x->err);
}

/* One entry by its position. 1: it is found, and filled in. */
WEFT_SUSPENDS static int look_at(struct searching *x, uint64_t number, uint64_t node, uint32_t index,
                                 struct wl_found *ret)
{
    struct wl_line line;
    wb_arena_reset(&x->line);
    int r = wl__lines(x->s, x->o, node, index, index + 1, &x->line, &line, &x->bytes, x->err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r; /* dropped meanwhile */
    r = judge(x, &line, ret);
    if (r <= 0)
        return r;
    ret->number = number;
    r = fill_result(x, &line, ret);
    return r < 0 ? r : 1;
}

/* ---- By the index ----------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int by_index(struct searching *x, size_t max, struct wl_results *ret)
{
    const struct wl_search *q = x->q;
    struct wl_query query = {.words = x->folded,
                             .who = q->who,
                             .tool = q->tool,
                             .since_ms = q->since_ms,
                             .until_ms = q->until_ms,
                             .family = wl_family(x->thread.tree),
                             .in_family = x->in_thread,
                             .after = q->after,
                             .max = PAGE};
    for (unsigned page = 0;; page++) {
        struct wl_hit *hits;
        size_t n;
        int r = wl_store_search(x->s, x->o, &query, &x->own, &hits, &n, x->err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (ret->n == max) { /* the rest may match nothing; then the next page is empty */
                ret->next = query.after;
                return 0;
            }
            query.after = hits[i].number;
            r = look_at(x, hits[i].number, hits[i].node, hits[i].index, &ret->p[ret->n]);
            ret->n += r > 0;
            if (r >= 0 && x->bytes >= x->max_bytes) {
                ret->next = query.after;
                return 0;
            }
        }
        if (r < 0 || n < PAGE)
            return r < 0 ? r : 0;
        if (page + 1 == PAGES) {
            ret->next = query.after;
            return 0;
        }
    }
}

/* ---- By scanning the log ------------------------------------------------------------------------------------ */

/* The newest matches, in a ring. */
struct scan {
    struct {
        uint64_t number, node;
        uint32_t index;
    } * ring;
    size_t max, n; /* n: all matches */
    uint64_t last; /* the number of the last result */
};

WEFT_SUSPENDS static int scan_row(struct searching *x, const struct wl_followed *f, struct scan *sc)
{
    struct wl_line *lines;
    size_t n;
    if (!wb_str_eq(f->tenant, x->o->tenant) || !f->row.n_entries)
        return 0;
    wb_arena_reset(&x->line);
    int r = wl__row_lines(x->s, x->o, &f->row, &x->line, &lines, &n, x->err);
    for (size_t i = 0; r >= 0 && i < n && i < 1 << SCAN_BITS; i++) {
        struct wl_found found;
        uint64_t number = (f->number << SCAN_BITS | i) + 1;
        if (x->q->after && number >= x->q->after)
            break;
        r = judge(x, &lines[i], &found);
        if (r > 0) {
            sc->ring[sc->n % sc->max].number = number;
            sc->ring[sc->n % sc->max].node = lines[i].node;
            sc->ring[sc->n % sc->max].index = lines[i].index;
            sc->n++;
        }
    }
    return r < 0 ? r : 0;
}

/* The rows with numbers after `from`, up to `to`. */
WEFT_SUSPENDS static int scan_rows(struct searching *x, uint64_t from, uint64_t to, struct scan *sc)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena rows = WB_ARENA(SCRATCH);
    sc->n = 0;
    for (size_t n = 1; n && from < to;) {
        struct wl_followed *p;
        wb_arena_reset(&rows);
        int r = wl_store_follow(x->s, from, WB_MIN(to - from, (uint64_t)SCAN_ROWS), SCAN_BYTES, &rows, &p, &n, x->err);
        for (size_t i = 0; r >= 0 && i < n && p[i].number <= to; i++) {
            x->bytes += p[i].row.body.n + p[i].row.tape.n;
            r = scan_row(x, &p[i], sc);
        }
        if (r < 0)
            return r;
        if (n)
            from = p[n - 1].number;
    }
    return 0;
}

/* Newest first, as many as there is room for. */
WEFT_SUSPENDS static int add_scanned(struct searching *x, struct scan *sc, struct wl_results *ret)
{
    const size_t n = WB_MIN(sc->n, sc->max);
    for (size_t i = 0; i < n; i++) {
        size_t at = (sc->n - 1 - i) % sc->max;
        if (ret->n == sc->max || (i && x->bytes >= x->max_bytes)) {
            ret->next = sc->last;
            return 0;
        }
        sc->last = sc->ring[at].number;
        int r = look_at(x, sc->ring[at].number, sc->ring[at].node, sc->ring[at].index, &ret->p[ret->n]);
        if (r < 0)
            return r;
        ret->n += r > 0;
    }
    if (sc->n > n)
        ret->next = sc->last; /* the ring has lost the older ones */
    return 0;
}

/* From the newest rows on, so that a search that has read enough has missed none before `next`. */
WEFT_SUSPENDS static int by_scanning(struct searching *x, size_t max, struct wl_results *ret)
{
    const uint64_t limit = x->q->max_rows ? x->q->max_rows : WL_SEARCH_ROWS;
    uint64_t last = WB_MIN(x->q->after ? x->q->after >> SCAN_BITS : UINT64_MAX, ret->end), from, rows = 16;
    const uint64_t end = last > limit ? last - limit : 0;
    struct scan sc = {.max = max};
    x->whole = ret->whole = false;
    ret->scanned = true;
    ret->upto = ret->end;
    ret->cut = end > 0;
    sc.ring = wb_arena_zero(&x->own, max * sizeof *sc.ring, _Alignof(uint64_t));
    if (!sc.ring)
        return wb_arena_check(&x->own, x->err);
    for (; last > end && !ret->next; last = from) {
        size_t before = x->bytes;
        from = last - end > rows ? last - rows : end;
        int r = scan_rows(x, from, last, &sc);
        if (r >= 0)
            r = add_scanned(x, &sc, ret);
        if (r < 0)
            return r;
        if (x->bytes >= x->max_bytes && from > end && !ret->next)
            ret->next = ret->n == max ? sc.last : ((from + 1) << SCAN_BITS) + 1;
        rows = x->bytes - before > SCAN_BYTES ? WB_MAX(rows / 2, (uint64_t)1) : WB_MIN(2 * rows, (uint64_t)SCAN_ROWS);
    }
    return 0;
}

/* ---- Searching ------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int search(struct searching *x, struct wl_results *ret)
{
    size_t max = x->q->max ? WB_MIN(x->q->max, (size_t)WL_SEARCH_MAX) : 20;
    int r = wl__search_on(x->s, x->err);
    x->whole = ret->whole = wl_store_index(x->s) == WL_INDEX_WORDS;
    if (r >= 0)
        r = check(x);
    if (r >= 0 && x->in_thread)
        r = wl_get_thread(x->s, x->o, x->q->thread, &x->own, &x->thread, x->err);
    if (r >= 0 && x->in_thread && !wb_str_eq(x->thread.owner.user, x->o->user))
        r = upp_fail(x->err, UPP_ENOTFOUND, "there is no such thread");
    if (r < 0)
        return r;
    ret->p = wb_new_n(x->a, struct wl_found, max);
    if (!ret->p)
        return wb_arena_check(x->a, x->err);
    r = wl_get_index_progress(x->s, &ret->upto, &ret->end, x->err); /* first: what is indexed meanwhile may be missed */
    if (r >= 0)
        r = by_index(x, max, ret);
    if (r != -UPP_EREFUSED)
        return r;
    ret->n = 0; /* the index may have been found damaged on a later page */
    ret->next = 0;
    return by_scanning(x, max, ret);
}

WEFT_SUSPENDS int wl_search(struct wl_store *s, const struct wl_owner *o, const struct wl_search *q, struct wb_arena *a,
                            struct wl_results *ret, struct upp_err *err)
{
    struct wl_results found = {0};
    struct searching *x = wb_new(a, struct searching);
    if (!x)
        return wb_arena_check(a, err);
    *x = (struct searching){.s = s,
                            .o = o,
                            .q = q,
                            .a = a,
                            .own = WB_ARENA(SCRATCH),
                            .line = WB_ARENA(SCRATCH),
                            .text = WB_BUF(2 * WL_SEARCH_TEXT),
                            .lower = WB_BUF(2 * WL_SEARCH_TEXT),
                            .tools = WB_BUF(4 * WL_SEARCH_TEXT),
                            .max_bytes = q->max_bytes ? q->max_bytes : WL_SEARCH_BYTES,
                            .err = err};
    int r = search(x, &found);
    for (size_t i = 0; i < x->n_families; i++)
        family_done(&x->families[i]);
    wb_arena_done(&x->own);
    wb_arena_done(&x->line);
    wb_buf_done(&x->text);
    wb_buf_done(&x->lower);
    wb_buf_done(&x->tools);
    if (r >= 0)
        *ret = found;
    return r;
}
