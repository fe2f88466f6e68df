/* log/search_noted.c — reindexes rows whose search index was dropped because the row was set.
 *
 * A row is set in one commit and indexed in another, because the row could change in between. So the first commit
 * leaves a note, which is removed after the second.
 */
#include <stdio.h>

#include "log/lines.h"
#include "log/search.h"

enum { PAGE = 64, DIGITS = 16, TENANTS = 64, NAME = 1024 };

/* Name: node and position, 16 hex digits each. Value: the number of entries. */
int wl__reindex_note(const struct wl_row *row, struct wb_arena *a, struct wl_value *ret, struct upp_err *err)
{
    if (row->n_entries < 2)
        return 0;
    *ret = (struct wl_value){
        .space = UPP_STR(WL_REINDEX),
        .name = wb_arena_printf(a, "%016llx%016llx", (unsigned long long)row->node, (unsigned long long)row->pos),
        .bytes = wb_arena_printf(a, "%u", row->n_entries)};
    int r = wb_arena_check(a, err);
    return r < 0 ? r : 1;
}

static bool read_hex(struct upp_str text, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* A value that is not such a note, or names a row that is gone, is skipped and then removed. */
static WEFT_SUSPENDS int learn(struct wl_store *s, const struct wl_owner *o, const struct wl_value *v,
                               struct upp_err *err)
{
    uint64_t node, pos, n;
    if (v->name.n != 2 * DIGITS || !read_hex(wb_str(v->name.p, DIGITS), &node) ||
        !read_hex(wb_str(v->name.p + DIGITS, DIGITS), &pos) || !wb_str_u64(v->bytes, &n) || n > UINT32_MAX)
        return 0;
    uint32_t first = wl_pos_index(pos);
    int r = wl_reindex(s, o, node, first, first + (uint32_t)n, err);
    return r == -UPP_EREFUSED || r == -UPP_ENOTFOUND ? 0 : r;
}

/* A note that fails stays, and does not stop the others. */
WEFT_SUSPENDS int wl_reindex_pending(struct wl_store *s, const struct wl_owner *o, struct upp_err *err)
{
    char name[2 * DIGITS];
    struct upp_str after = {0};
    int failed = 0;
    for (size_t n = PAGE; n == PAGE;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WL__SCRATCH);
        struct wl_value *list;
        struct wl_change drop[PAGE];
        size_t learned = 0;
        int r = wl_list_values(s, o, UPP_STR(WL_REINDEX), after, PAGE, &a, &list, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            int one = learn(s, o, &list[i], failed < 0 ? NULL : err);
            if (one >= 0)
                drop[learned++] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &list[i]};
            else
                failed = failed < 0 ? failed : one;
        }
        struct wl_commit c = {.owner = *o, .changes = drop, .n = learned};
        if (r >= 0 && learned)
            r = wl_store_commit(s, &c, failed < 0 ? NULL : err);
        if (r < 0 || !n || list[n - 1].name.n > sizeof name)
            return failed < 0 ? failed : r;
        after = wb_str(memcpy(name, list[n - 1].name.p, list[n - 1].name.n), list[n - 1].name.n);
    }
    return failed;
}

WEFT_SUSPENDS int wl_reindex_pending_all(struct wl_store *s, struct upp_err *err)
{
    char name[NAME];
    struct upp_str after = {0};
    for (size_t n = TENANTS; n == TENANTS;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_str *list;
        int r = wl_list_tenants(s, after, TENANTS, &a, &list, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            r = wl_reindex_pending(s, &(struct wl_owner){.tenant = list[i]}, err);
        if (r < 0)
            return r;
        if (n && list[n - 1].n > sizeof name)
            return upp_fail(err, UPP_EBUG, "a tenant's name of %zu bytes", list[n - 1].n);
        if (n)
            after = wb_str(memcpy(name, list[n - 1].p, list[n - 1].n), list[n - 1].n);
    }
    return 0;
}
