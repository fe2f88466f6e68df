/* log/fork.c — a second thread in the same tree: one pointer, however long the history.
 *
 * It points into the middle of a node, like a restored thread. It gets its own node with its first append: a fork that
 * is never written to costs one row.
 */
#include "base/clock.h"
#include "log/lines.h"

/* Does the thread's tree have this position? */
WEFT_SUSPENDS static int check_position(struct wl_store *s, const struct wl_thread *from, uint64_t key, uint32_t length,
                                        struct wl_node *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(WL__SCRATCH);
    struct wl_row row;
    int r = wl_get_node(s, &from->owner, key, ret, err);
    if (r < 0)
        return r;
    if (!wb_uuid_eq(ret->tree, from->tree))
        return upp_fail(err, UPP_EINVALID, "node %016llx is not in the thread's tree", (unsigned long long)key);
    if (length == 0)
        return 0;
    r = wl__last_row(s, &from->owner, key, wl__pos_end(length), &scratch, &row, err);
    if (r < 0)
        return r;
    if (r == 0 || (uint64_t)wl_pos_index(row.pos) + row.n_entries < length)
        return upp_fail(err, UPP_EINVALID, "node %016llx has fewer than %u entries", (unsigned long long)key, length);
    return 0;
}

/* 1: the id is taken. */
WEFT_SUSPENDS static int try_fork(struct wl_store *s, struct wl_thread *t, struct upp_err *err)
{
    const struct wl_change change = {.kind = WL_ADD_THREAD, .thread = t};
    struct wl_commit c = {.owner = t->owner, .changes = &change, .n = 1, .flags = WL_SYNCED};
    int r = wl_store_commit(s, &c, err);
    return r == -UPP_EBUSY ? 1 : r;
}

int wl_fork_make(const struct wl_thread *from, uint64_t node, uint32_t length, struct wb_arena *a,
                 struct wl_thread *ret, struct upp_err *err)
{
    int64_t now = wb_wall_ms();
    if (length == UINT32_MAX)
        return upp_fail(err, UPP_ELIMIT, "a node that is full cannot be forked at its end");
    struct wl_thread t = {
        .tree = from->tree,
        .parent = from->id,
        .owner = {wb_arena_dup(a, from->owner.tenant), wb_arena_dup(a, from->owner.user)},
        .head = node,
        .at = length + 1,
        .kind = WL_MAIN,
        .version = 1,
        .metadata = wb_arena_dup(a, from->metadata),
        .created_ms = now,
        .updated_ms = now,
    };
    int r = wb_arena_check(a, err);
    if (r >= 0)
        r = wl_id_new(wl_family(t.tree), &t.id, err);
    if (r >= 0)
        *ret = t;
    return r;
}

WEFT_SUSPENDS int wl_fork(struct wl_store *s, const struct wl_thread *from, uint64_t node, uint32_t length,
                          struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    struct wl_node under;
    struct wl_thread t;
    int r = check_position(s, from, node, length, &under, err);
    if (r >= 0)
        r = wl_fork_make(from, node, length, a, &t, err);
    if (r >= 0)
        t.updated_ms = wl_list_time(s, t.created_ms);
    for (unsigned i = 0; r >= 0 && i < WL_ID_TRIES; i++) {
        r = try_fork(s, &t, err);
        if (r == 0) {
            *ret = t;
            return 0;
        }
        if (r > 0)
            r = wl_id_new(wl_family(t.tree), &t.id, err);
    }
    return r < 0 ? r : upp_fail(err, UPP_EBUSY, "%d ids in a row were taken", WL_ID_TRIES);
}
