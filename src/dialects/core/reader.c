/* dialects/core/reader.c — reading a document: its problems, anchors and residue. */
#include "base/err.h"
#include "dialects/core/writer.h"
#include "dialects/core/residue.h"
#include "json/pointer.h"
#include "json/value.h"

enum { LINEAR_TRIES = 4 };

void wd_lifting_done(struct wd_lifting *l)
{
    wb_vec_done(&l->anchors);
    wb_vec_done(&l->lost);
}

void wd_problem_at(struct wd_problems *p, enum wd_severity severity, const char *rule, const char *pointer,
                   const char *sentence)
{
    (severity == WD_ERROR) ? p->errors++ : p->warnings++;
    if (p->list.n >= WD_MAX_PROBLEMS)
        return;
    struct wd_problem problem = {.pointer = wb_arena_dup(p->a, wb_cstr(pointer)),
                                 .rule = rule,
                                 .severity = (uint8_t)severity,
                                 .sentence = wb_arena_dup(p->a, wb_cstr(sentence))};
    if (!wb_vec_push(&p->list, problem, (size_t)WD_MAX_PROBLEMS))
        p->failed = -UPP_ENOMEM;
}

void wd_problem(struct wd_problems *p, enum wd_severity severity, const char *rule, const yyjson_val *at,
                const char *fmt, ...)
{
    char text[512];
    struct wj_pointer pointer;
    struct upp_err formatted;
    va_list args;
    va_start(args, fmt);
    (void)wb_vfail(&formatted, UPP_EINVALID, fmt, args);
    va_end(args);
    wj_pointer_init(&pointer, text, sizeof text);
    if (at && p->list.n < WD_MAX_PROBLEMS) /* finding it takes a walk */
        wj_pointer_find(&pointer, p->root, at);
    wd_problem_at(p, severity, rule, text, formatted.msg);
}

static size_t value_index(const struct wd_lifting *l, const yyjson_val *v)
{
    return (size_t)(v - l->root);
}

int wd_anchor(struct wd_lifting *l, yyjson_val *wire, const char *slot, size_t entry, size_t n, struct upp_err *err)
{
    struct wd_anchor a = {.wire = wire, .slot = slot, .entry = (uint32_t)entry, .entries = (uint32_t)n};
    a.natural = a.entries;
    if (!l->elsewhere) {
        size_t values = wj_size(l->root);
        l->elsewhere = wb_new_n(l->a, uint8_t, values / 8 + 1);
    }
    if (!l->elsewhere || !wb_vec_push(&l->anchors, a, (size_t)WD_ANCHORS)) {
        int r = upp_fail(err, l->anchors.n < WD_ANCHORS ? UPP_ENOMEM : UPP_ELIMIT, "no room for %zu objects",
                         l->anchors.n + 1);
        wj_pointer_err(err, l->root, wire);
        return r;
    }
    l->elsewhere[value_index(l, wire) / 8] |= (uint8_t)(1u << value_index(l, wire) % 8);
    return 0;
}

static bool is_at(const struct wd_anchor *a, uint32_t entry, const char *slot)
{
    return a->entry == entry && (a->slot == slot || strcmp(a->slot, slot) == 0);
}

/* Links the anchors of each entry into a list: most entries have few. */
static bool make_first(struct wd_lifting *l)
{
    size_t n = l->doc->entries.n;
    l->first = wb_new_n(l->a, uint32_t, n + 1);
    for (size_t i = l->anchors.n; l->first && i--;) {
        struct wd_anchor *a = &l->anchors.p[i];
        size_t at = WB_MIN((size_t)a->entry, n);
        a->next = l->first[at];
        l->first[at] = (uint32_t)i + 1;
    }
    return l->first;
}

/* Where the search begins in the hash table. */
static size_t bucket_of(const struct wd_lifting *l, uint32_t entry, const char *slot)
{
    uint64_t h = (entry + 1ull) * 0x9e3779b97f4a7c15;
    for (; *slot; slot++)
        h = (h ^ (uint8_t)*slot) * 0x100000001b3;
    return (size_t)(h ^ h >> 32) & (l->index_n - 1);
}

/* Built at once: all anchors are added before the first lookup. At most half full. */
static bool make_index(struct wd_lifting *l)
{
    for (l->index_n = 16; l->index_n < 2 * l->anchors.n; l->index_n *= 2)
        ;
    l->index = wb_new_n(l->a, uint32_t, l->index_n);
    if (!l->index)
        return false;
    for (size_t i = 0; i < l->anchors.n; i++) {
        size_t k = bucket_of(l, l->anchors.p[i].entry, l->anchors.p[i].slot);
        while (l->index[k])
            k = (k + 1) & (l->index_n - 1);
        l->index[k] = (uint32_t)i + 1;
    }
    return true;
}

/* For entries with many anchors. */
static struct wd_anchor *find_in_index(struct wd_lifting *l, uint32_t entry, const char *slot)
{
    if (!l->index && !make_index(l)) {
        l->failed = -UPP_ENOMEM;
        return NULL;
    }
    for (size_t k = bucket_of(l, entry, slot); l->index[k]; k = (k + 1) & (l->index_n - 1))
        if (is_at(&l->anchors.p[l->index[k] - 1], entry, slot))
            return &l->anchors.p[l->index[k] - 1];
    return NULL;
}

/* Index + 1 of the entry's first anchor; 0: none. */
static uint32_t first_of(struct wd_lifting *l, uint32_t entry)
{
    if (l->first || make_first(l))
        return l->first[WB_MIN((size_t)entry, l->doc->entries.n)];
    l->failed = -UPP_ENOMEM;
    return 0;
}

const char *wd_anchor_like(struct wd_lifting *l, uint32_t entry, const char *prefix)
{
    uint32_t at = first_of(l, entry);
    while (at && strncmp(l->anchors.p[at - 1].slot, prefix, strlen(prefix)) != 0)
        at = l->anchors.p[at - 1].next;
    return at ? l->anchors.p[at - 1].slot : NULL;
}

struct wd_anchor *wd_anchor_find(struct wd_lifting *l, uint32_t entry, const char *slot)
{
    uint32_t at = first_of(l, entry);
    for (unsigned tries = 0; at && tries < LINEAR_TRIES; tries++, at = l->anchors.p[at - 1].next)
        if (is_at(&l->anchors.p[at - 1], entry, slot))
            return &l->anchors.p[at - 1];
    return at ? find_in_index(l, entry, slot) : NULL;
}

static void lost(void *arg, yyjson_val *value)
{
    struct wd_lifting *l = arg;
    if (l->lost.n >= WD_LOST)
        l->lost_more++;
    else if (!wb_vec_push(&l->lost, value, (size_t)WD_LOST))
        l->failed = -UPP_ENOMEM;
}

void wd_anchor_compare(struct wd_lifting *l, struct wd_anchor *anchor, yyjson_val *fresh, struct wj_writer *w)
{
    size_t from = w->out->n; /* the buffer's end is used temporarily */
    size_t i = value_index(l, anchor->wire);
    struct wd_elsewhere at = {.root = l->root, .bits = l->elsewhere};
    l->elsewhere[i / 8] &= (uint8_t) ~(1u << i % 8); /* the object itself is compared */
    int r = wd_residue_make(anchor->wire, fresh, &at, w->out, lost, l, w->err);
    l->elsewhere[i / 8] |= (uint8_t)(1u << i % 8);
    if (r > 0) {
        anchor->json = wb_arena_dup(l->a, wb_str_sub(wb_buf_str(w->out), from, SIZE_MAX));
        r = wb_arena_check(l->a, w->err);
        w->out->n = from;
    }
    if (r < 0)
        wj_writer_fail(w, r);
}

int wd_residue_attach(struct wd_lifting *l, const char *dialect, struct upp_err *err)
{
    for (size_t i = 0; i < l->anchors.n; i++) {
        const struct wd_anchor *a = &l->anchors.p[i];
        if (!a->json.n && a->entries == a->natural)
            continue;
        struct wm_residue **to = &l->doc->residue, *r = wb_new(l->a, struct wm_residue);
        if (!r)
            break;
        if (a->entry != WD_THREAD && a->entry < l->doc->entries.n)
            to = &l->doc->entries.p[a->entry].residue;
        *r = (struct wm_residue){
            .next = *to, .dialect = wb_cstr(dialect), .slot = wb_cstr(a->slot), .entries = a->entries, .json = a->json};
        *to = r;
    }
    return wb_arena_check(l->a, err);
}
