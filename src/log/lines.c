/* log/lines.c — decodes entries from rows, last ones first.
 *
 * A tool message does not hold its results: they are in the TOOL_ENDED records of its own row and of earlier rows of
 * the same run. So reading continues past the first wanted entry until every such message has its results; entries read
 * on the way are not returned.
 */
#include "log/lines.h"

#include <stdlib.h>

#include "base/hooks.h"
#include "base/vec.h"

enum { BATCH_ROWS = 64, BATCH_AGAIN = 16, BATCH_BYTES = 256 << 10 };

/* A missing result. */
struct want {
    struct upp_str call;
    const struct wm_event *found;
};

/* A tool message that lacks results. */
struct open_message {
    struct wl_line *line;
    struct want *wants; /* sorted by call */
    size_t n, left;
    size_t rows; /* read so far */
};

struct reading {
    struct wb_arena *a;
    uint64_t node;
    uint32_t first, end; /* wanted */
    uint32_t at;         /* the entry after those already read: decreases */
    struct wl_line *lines;
    WB_VEC(struct open_message) open;
    struct upp_err *err;
};

static void reading_done(struct reading *in)
{
    wb_vec_done(&in->open);
}

static int broken(const struct reading *in, uint32_t index, const char *sentence)
{
    return upp_fail(in->err, UPP_ESTORE, "node %016llx, entry %u: %s", (unsigned long long)in->node, index, sentence);
}

static int by_call(const void *a, const void *b)
{
    const struct want *x = a, *y = b;
    return wb_str_cmp(x->call, y->call);
}

/* Shell sort: usually few items, never more than the parts of a message, and it allocates nothing. */
static void sort(struct want *p, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (size_t i = gap; i < n; i++) {
            struct want one = p[i];
            size_t k = i;
            for (; k >= gap && by_call(&p[k - gap], &one) > 0; k -= gap)
                p[k] = p[k - gap];
            p[k] = one;
        }
}

/* Records which results a tool message lacks. */
static int look_for(struct reading *in, struct wl_line *line)
{
    const struct wm_entry *e = &line->entry;
    struct open_message m = {.line = line, .wants = wb_new_n(in->a, struct want, e->n_refs)};
    if (!m.wants)
        return wb_arena_check(in->a, in->err);
    for (size_t i = 0; i < e->n_refs; i++)
        m.wants[i].call = e->refs[i];
    sort(m.wants, e->n_refs);
    for (size_t i = 0; i < e->n_refs; i++) /* a call named twice has one result */
        if (i == 0 || by_call(&m.wants[m.n - 1], &m.wants[i]) != 0)
            m.wants[m.n++] = m.wants[i];
    m.left = m.n;
    if (!wb_vec_push(&in->open, m, in->end - in->first))
        return upp_fail(in->err, UPP_ENOMEM, "no memory for the results of a message");
    return 0;
}

/* Rows come backwards: of two results for one call, the one found first is the later one, and wins. */
static void offer(struct open_message *m, const struct wm_event *ended)
{
    struct want key = {.call = ended->call.id};
    struct want *want = bsearch(&key, m->wants, m->n, sizeof key, by_call);
    if (want && !want->found) {
        want->found = ended;
        m->left--;
    }
}

static int join(struct reading *in, struct open_message *m)
{
    const struct wm_event **ended = wb_new_n(in->a, const struct wm_event *, m->n);
    if (!ended)
        return wb_arena_check(in->a, in->err);
    for (size_t i = 0; i < m->n; i++)
        ended[i] = m->wants[i].found;
    return wm_entry_join(in->a, &m->line->entry, ended, m->n, in->err);
}

/* Offers a row's records to the messages that lack results; complete messages leave the list. */
static int take_results(struct reading *in, const struct wl_row *row, const struct wm_row *parsed)
{
    size_t kept = 0;
    for (size_t i = 0; i < in->open.n; i++) {
        struct open_message *m = &in->open.p[i];
        int r = 0;
        if (!wb_uuid_eq(m->line->run, row->run) || m->rows++ > WL_JOIN_ROWS)
            return broken(in, m->line->index, "a result that it shows is not in the rows of its run");
        for (size_t k = parsed->n_records; k-- > 0 && m->left;)
            if (parsed->records[k].kind == WM_TOOL_ENDED)
                offer(m, &parsed->records[k]);
        if (!m->left)
            r = join(in, m);
        else
            in->open.p[kept++] = *m;
        if (r < 0)
            return r;
    }
    in->open.n = kept;
    return 0;
}

static int take_entries(struct reading *in, const struct wl_row *row, struct wm_row *parsed)
{
    uint32_t from = wl_pos_index(row->pos);
    for (size_t i = parsed->n_entries; i-- > 0;) {
        uint32_t index = from + (uint32_t)i;
        if (index >= in->end || index < in->first)
            continue;
        struct wl_line *line = &in->lines[index - in->first];
        *line = (struct wl_line){
            .node = in->node, .index = index, .run = row->run, .entry = parsed->entries[i], .grants = parsed->grants};
        line->id = wm_id_uuid(
            (struct wm_id){.node = in->node, .index = index, .noun = WM_NOUN_ENTRY, .attempt = line->entry.attempt});
        int r = line->entry.n_refs ? look_for(in, line) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* One row, going backwards. Decodes it only if something in it is needed. */
static int take_row(struct reading *in, const struct wl_row *row)
{
    uint32_t from = wl_pos_index(row->pos);
    uint64_t to = (uint64_t)from + row->n_entries;
    bool wanted = row->n_entries && to > in->first && from < in->end;
    struct wm_row parsed;
    if (to < in->at || (to > in->at && in->at != in->end)) /* the first row may extend beyond the end */
        return broken(in, in->at, "its rows have a gap");
    in->at = from;
    if (!wanted && !in->open.n)
        return 0;
    int r = wm_row_read_entries(in->a, row->format, row->body, &parsed, in->err);
    if (r < 0)
        return upp_wrap(in->err, r, "node %016llx, row %u.%u", (unsigned long long)in->node, from,
                        (unsigned)(row->pos & (WL_SUBS - 1)));
    if (parsed.n_entries != row->n_entries)
        return broken(in, from, "its row does not hold as many entries as it says");
    r = wanted ? take_entries(in, row, &parsed) : 0;
    return r < 0 || !in->open.n ? r : take_results(in, row, &parsed);
}

static int missing(const struct reading *in)
{
    if (in->open.n)
        return broken(in, in->open.p[0].line->index, "a result that it shows is not in the rows of its run");
    return upp_fail(in->err, UPP_ENOTFOUND, "node %016llx has no entry %u", (unsigned long long)in->node, in->end - 1);
}

/* First, as many rows as entries are wanted. If that was not enough, there are rows without entries among them, and
 * reading one at a time would be slow. */
static size_t batch_rows(const struct reading *in)
{
    size_t n = in->at > in->first ? in->at - in->first : BATCH_ROWS;
    return WB_MIN(in->at < in->end ? WB_MAX(n, (size_t)BATCH_AGAIN) : n, (size_t)BATCH_ROWS);
}

WEFT_SUSPENDS int wl__lines(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, uint32_t end,
                            struct wb_arena *a, struct wl_line *lines, size_t *bytes, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(WL__SCRATCH);
    WB_CLEANUP(reading_done)
    struct reading in = {.a = a, .node = node, .first = first, .end = end, .at = end, .lines = lines, .err = err};
    struct wl_range range = {.node = node, .to = wl__pos_end(end), .backwards = true, .max_bytes = BATCH_BYTES};
    struct wl_rows rows = {.more = true};
    while (in.at > first || in.open.n) {
        if (!rows.more)
            return missing(&in);
        wb_arena_reset(&scratch);
        range.max_rows = batch_rows(&in);
        int r = wl_store_rows(s, o, &range, &scratch, &rows, err);
        if (r < 0)
            return r;
        if (rows.n == 0)
            return missing(&in);
        for (size_t i = 0; bytes && i < rows.n; i++)
            *bytes += rows.p[i].body.n + rows.p[i].tape.n;
        for (size_t i = 0; i < rows.n && (in.at > first || in.open.n); i++) {
            /* If the node's last row ends before `end`, the entry does not exist. */
            if (in.at == end && (uint64_t)wl_pos_index(rows.p[i].pos) + rows.p[i].n_entries < end)
                return missing(&in);
            r = take_row(&in, &rows.p[i]);
            if (r < 0)
                return r;
        }
        range.to = rows.p[rows.n - 1].pos;
    }
    return 0;
}

WEFT_SUSPENDS int wl__last_row(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint64_t to,
                               struct wb_arena *scratch, struct wl_row *ret, struct upp_err *err)
{
    struct wl_range range = {.node = node, .to = to, .backwards = true, .max_rows = 1};
    struct wl_rows rows = {0};
    int r = wl_store_rows(s, o, &range, scratch, &rows, err);
    if (r < 0 || rows.n == 0)
        return r < 0 ? r : 0;
    *ret = rows.p[0];
    return 1;
}

int wl__row_write(struct wb_arena *a, const struct wm_row *from, struct wl_row *row, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(WM_ROW_MAX);
    int r = wm_row_write(from, &body, err);
    row->format = WM_FORMAT;
    row->body = wb_arena_dup(a, wb_buf_str(&body));
    row->tape = from->tape;
    if (r >= 0)
        r = wb_arena_check(a, err);
    return r < 0 ? r : 1;
}

int wl__event_row(struct wb_arena *a, const struct wl_owner *o, struct wm_entry *e, uint64_t node,
                  const struct wl_end *end, int64_t now, struct wl_row *ret, struct upp_err *err)
{
    const struct wm_row row = {.time_ms = WB_MAX(now, end->time_ms), .entries = e, .n_entries = 1};
    e->kind = WM_ENTRY_EVENT;
    e->origin = WM_ORIGIN_CLIENT;
    e->audience = WM_AUDIENCE_ALL;
    e->who = o->user.n ? o->user : (struct upp_str){0};
    e->message.time_ms = row.time_ms;
    *ret = (struct wl_row){.node = node, .pos = end->pos, .n_entries = 1};
    int r = wl__row_write(a, &row, ret, err);
    return r < 0 ? r : 0;
}
