/* log/append.c — entries that no run wrote: what clients append to a thread.
 *
 * Compare-and-swap: the row carries the position that was the end of the node when it was read. If another writer was
 * first, this one reads again and retries. The same commit sets the thread, which verifies that its head has not moved,
 * and checks that no run holds the node.
 */
#include "base/clock.h"
#include "log/log.h"

enum { TRIES = 16 };

struct append {
    struct wl_store *store;
    const struct wl_owner *owner;
    struct wm_entry *entries;
    size_t n;
    wl_thread_edit *edit; /* NULL: none */
    void *arg;
    struct wb_buf body;
    struct wb_arena scratch;
};

static void append_done(struct append *p)
{
    wb_buf_done(&p->body);
    wb_arena_done(&p->scratch);
}

/* Imported times are never corrected. */
static void set_times(struct wm_entry *entries, size_t n, int64_t now)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].origin != WM_ORIGIN_IMPORT || !entries[i].message.time_ms)
            entries[i].message.time_ms = now;
}

int wl_row_of(struct wm_entry *entries, size_t n, uint64_t node, const struct wl_end *end, int64_t now,
              struct wb_buf *body, struct wl_row *ret, struct upp_err *err)
{
    const struct wm_row row = {.time_ms = now, .entries = entries, .n_entries = n};
    if (n > UINT32_MAX - end->length)
        return upp_fail(err, UPP_ELIMIT, "a node holds at most %u entries", UINT32_MAX);
    set_times(entries, n, now);
    wb_buf_clear(body);
    int r = wm_row_write(&row, body, err);
    if (r < 0)
        return r;
    *ret = (struct wl_row){
        .node = node, .pos = end->pos, .n_entries = (uint32_t)n, .format = WM_FORMAT, .body = wb_buf_str(body)};
    return 0;
}

static int under_way(struct upp_err *err)
{
    return upp_fail(err, UPP_EBUSY, "a run is under way on this thread");
}

/* If the thread was restored into the middle of its head, its new head is a branch from there. */
WEFT_SUSPENDS static int leave_head(struct append *p, struct wl_thread *t, struct wl_end *end, struct wl_node *branch,
                                    struct upp_err *err)
{
    struct wl_node head;
    struct wb_uuid busy;
    int r = wl_get_node(p->store, p->owner, t->head, &head, err);
    if (r >= 0)
        r = wl_thread_busy(p->store, t, &head, &busy, err);
    if (r >= 0 && !wb_uuid_is_nil(busy))
        r = under_way(err);
    if (r >= 0)
        r = wl_branch(p->store, p->owner, &head, wl_thread_length(t, end->length), branch, err);
    if (r < 0)
        return r;
    t->head = branch->key;
    t->at = 0;
    *end = (struct wl_end){.time_ms = end->time_ms};
    return 0;
}

/* 0: done. 1: another writer was first. */
WEFT_SUSPENDS static int try_once(struct append *p, struct wl_thread *thread, uint32_t *index, struct upp_err *err)
{
    struct wl_store *s = p->store;
    struct wl_thread t = {0};
    struct wl_end end;
    struct wl_row row;
    struct wl_node branch = {0};
    wb_arena_reset(&p->scratch);
    int r = wl_get_thread(s, p->owner, thread->id, &p->scratch, &t, err);
    if (r >= 0 && p->edit)
        r = p->edit(p->arg, &t, err);
    if (r >= 0)
        r = wl_node_end(s, p->owner, t.head, &end, err);
    if (r >= 0 && t.at)
        r = leave_head(p, &t, &end, &branch, err);
    if (r < 0)
        return r;
    int64_t wall = wb_wall_ms(), now = WB_MAX(wall, end.time_ms);
    t.updated_ms = WB_MAX(wl_list_time(s, now), t.updated_ms);
    r = wl_row_of(p->entries, p->n, t.head, &end, now, &p->body, &row, err);
    if (r < 0)
        return r;
    /* Nobody can hold a new branch. */
    const struct wl_change first = branch.key ? (struct wl_change){.kind = WL_ADD_NODE, .node = &branch}
                                              : (struct wl_change){.kind = WL_HOLD_NODE, .hold = {.node = t.head}};
    const struct wl_change changes[] = {
        first, {.kind = WL_SET_THREAD, .thread = &t}, {.kind = WL_ADD_ROW, .row = &row}};
    struct wl_commit c = {.owner = *p->owner, .changes = changes, .n = WB_LEN(changes), .flags = WL_SYNCED};
    r = wl_store_commit(s, &c, err);
    if (r == -UPP_EBUSY && c.conflict == 0 && !branch.key)
        return under_way(err);
    if (r == -UPP_EBUSY)
        return 1;
    if (r < 0)
        return r;
    *index = end.length;
    thread->head = t.head;
    thread->at = 0;
    if (p->edit)
        thread->metadata = t.metadata;
    return 0;
}

WEFT_SUSPENDS int wl_append_edit(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t,
                                 struct wm_entry *entries, size_t n, wl_thread_edit *edit, void *arg, uint32_t *index,
                                 struct upp_err *err)
{
    WB_CLEANUP(append_done)
    struct append p = {.store = s,
                       .owner = o,
                       .entries = entries,
                       .n = n,
                       .edit = edit,
                       .arg = arg,
                       .body = WB_BUF(WM_ROW_MAX),
                       .scratch = WB_ARENA(32u << 20)};
    if (n == 0)
        return upp_fail(err, UPP_EINVALID, "there is nothing to append");
    for (unsigned i = 0; i < TRIES; i++) {
        int r = try_once(&p, t, index, err);
        if (r <= 0)
            return r;
    }
    return upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
}

WEFT_SUSPENDS int wl_append(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, struct wm_entry *entries,
                            size_t n, uint32_t *index, struct upp_err *err)
{
    return wl_append_edit(s, o, t, entries, n, NULL, NULL, index, err);
}
