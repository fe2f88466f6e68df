/* stores/memory/follow.c — rows of all tenants as they came. Words are not kept: who searches reads the log. */
#include "stores/memory/store.h"

static const struct ws_mem_row *row_at(const struct ws_memory *m, const struct ws_mem_place *p)
{
    const struct ws_mem_node *n = ws_mem_node(m, p->tenant, p->node);
    size_t                    i = n ? ws_mem_row_at(n, p->pos) : 0;
    return n && i < n->rows.n && n->rows.p[i]->number == p->number ? n->rows.p[i] : NULL;
}

/* Takes the places out whose rows are gone, once they are the larger part. */
static void tidy(struct ws_memory *m)
{
    size_t kept = 0;
    if (m->gone * 2 <= m->log.n)
        return;
    for (size_t i = 0; i < m->log.n; i++)
        if (row_at(m, &m->log.p[i]))
            m->log.p[kept++] = m->log.p[i];
    m->log.n = kept;
    m->gone  = 0;
}

static size_t first_after(const struct ws_memory *m, uint64_t number)
{
    size_t from = 0, to = m->log.n;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (m->log.p[half].number <= number)
            from = half + 1;
        else
            to = half;
    }
    return from;
}

int ws_mem_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                  struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory   *m     = ws_mem(s);
    struct wl_range     limit = ws_range(&(struct wl_range){.max_rows = max_rows, .max_bytes = max_bytes});
    struct wl_followed *p     = wb_new_n(a, struct wl_followed, limit.max_rows);
    size_t              count = 0, bytes = 0;
    ws_mem_lock(m);
    tidy(m);
    for (size_t i = first_after(m, after); p && i < m->log.n && count < limit.max_rows; i++) {
        const struct ws_mem_row *row = row_at(m, &m->log.p[i]);
        if (!row)
            continue;
        bytes += row->v.body.n + row->v.tape.n;
        if (count && bytes > limit.max_bytes)
            break;
        p[count]          = (struct wl_followed){.number = row->number, .row = row->v};
        p[count].tenant   = wb_arena_dup(a, m->log.p[i].tenant->name);
        p[count].row.body = wb_arena_dup(a, row->v.body);
        p[count].row.tape = wb_arena_dup(a, row->v.tape);
        count++;
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

int ws_mem_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    (void)err;
    ws_mem_lock(m);
    *upto = 0;
    *end  = m->log.n ? m->log.p[m->log.n - 1].number : 0;
    ws_mem_unlock(m);
    return 0;
}
