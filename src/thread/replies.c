/* thread/replies.c — collects the replies of a thread from the records of its log. */
#include "thread/replies.h"

int wa_reply_of(struct wb_arena *a, const struct wm_event *ev, const struct wm_reply_info **ret, struct upp_err *err)
{
    struct wm_reply_info *reply = wb_new(a, struct wm_reply_info);
    if (!reply)
        return wb_arena_check(a, err);
    *reply = (struct wm_reply_info){.model = wb_arena_dup(a, ev->message.model),
                                    .provider = wb_arena_dup(a, ev->message.provider),
                                    .stop = ev->message.stop,
                                    .has_usage = ev->message.usage.input || ev->message.usage.output,
                                    .usage = ev->message.usage};
    *ret = reply;
    return wb_arena_check(a, err);
}

struct range {
    uint32_t first;
    size_t n;
    struct wb_arena *a;
    const struct wm_reply_info **to;
};

static int note_row(const struct range *g, const struct wl_row *stored, struct wb_arena *page, struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(page, stored->format, stored->body, stored->tape, &row, err);
    for (size_t k = 0; r >= 0 && k < row.n_records; k++) {
        const struct wm_event *ev = &row.records[k];
        if (ev->kind != WM_MESSAGE)
            continue;
        uint64_t at = wl_pos_index(stored->pos) + wa_reply_entry(&row, ev);
        if (at >= g->first && at - g->first < g->n)
            r = wa_reply_of(g->a, ev, &g->to[at - g->first], err);
    }
    return r;
}

int wa_replies_read(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, size_t n,
                    struct wb_arena *a, const struct wm_reply_info ***ret, struct upp_err *err)
{
    struct range g = {first, n, a, wb_new_n(a, const struct wm_reply_info *, n + 1)};
    struct wl_rows rows = {.more = g.to != NULL};
    int r = wb_arena_check(a, err);
    *ret = g.to;
    for (uint64_t from = wl_pos(first, 0); r >= 0 && n && rows.more;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena page = WB_ARENA(1u << 30);
        struct wl_range range = {.node = node, .from = from, .to = wl_pos(first + (uint32_t)n, 0)};
        r = wl_store_rows(s, o, &range, &page, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            from = rows.p[i].pos + 1;
            r = note_row(&g, &rows.p[i], &page, err);
        }
    }
    return r < 0 ? r : 0;
}
