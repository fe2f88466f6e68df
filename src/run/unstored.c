/* run/unstored.c — notes, erases and sweeps threads of `store: false`. The note is a value of the store; it goes
 * last, so that all of it can be repeated. */
#include "run/engine.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "log/forget.h"
#include "log/log.h"

#define SPACE "unstored"

enum { BATCH = 64, START_MS = 60000 /* a thread whose run has not started after this has been given up */ };

static struct upp_str name_of(struct wb_uuid thread, char text[WB_UUID_HEX + 1])
{
    (void)wb_uuid_hex(thread, text);
    return wb_str(text, WB_UUID_HEX);
}

static WEFT_SUSPENDS int change_note(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                     enum wl_change_kind kind, struct upp_err *err)
{
    char text[WB_UUID_HEX + 1], now[24];
    int len = snprintf(now, sizeof now, "%lld", (long long)wb_wall_ms());
    const struct wl_value v = {
        .space = UPP_STR(SPACE), .name = name_of(thread, text), .bytes = wb_str(now, (size_t)len)};
    const struct wl_change change = {.kind = kind, .value = &v};
    struct wl_commit c = {.owner = *o, .changes = &change, .n = 1};
    return wl_store_commit(s, &c, err);
}

int wr_unstored_note(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    return change_note(s, o, thread, WL_PUT_VALUE, err);
}

int wr_is_unstored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    char text[WB_UUID_HEX + 1];
    struct upp_str bytes;
    int r = wl_get_value(s, o, UPP_STR(SPACE), name_of(thread, text), &a, &bytes, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

/* Was it noted so long ago that its run would have started? */
static WEFT_SUSPENDS int is_given_up(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                     struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    char text[WB_UUID_HEX + 1];
    struct upp_str bytes;
    uint64_t at = 0;
    int r = wl_get_value(s, o, UPP_STR(SPACE), name_of(thread, text), &a, &bytes, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 1 : r;
    return !wb_str_u64(bytes, &at) || wb_wall_ms() - (int64_t)at >= START_MS;
}

static WEFT_SUSPENDS int erase_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id,
                                      struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread t;
    int r = wl_get_thread(s, o, id, &a, &t, err);
    if (r == -UPP_ENOTFOUND)
        return 1;
    if (r >= 0)
        r = wl_tree_forget(s, o, &t, err);
    return r == -UPP_EBUSY ? 0 : r < 0 ? r : 1;
}

/* One batch of its runs. *n: so many; 0 is returned if one of them has not ended. */
static WEFT_SUSPENDS int drop_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool only_look,
                                   size_t *n, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run *runs;
    int r = wl_list_runs(s, o, thread, false, BATCH, &a, &runs, n, err);
    for (size_t i = 0; r >= 0 && i < *n; i++)
        if (!wm_status_ended(runs[i].status))
            return 0;
    for (size_t i = 0; r >= 0 && !only_look && i < *n; i++) {
        const struct wl_change drop = {.kind = WL_DROP_RUN, .run = &runs[i]};
        struct wl_commit c = {.owner = *o, .changes = &drop, .n = 1};
        r = wl_store_commit(s, &c, err);
        r = r == -UPP_ENOTFOUND ? 0 : r;
    }
    return r < 0 ? r : 1;
}

/* Erases such a thread with its runs. 0: one of its runs has not ended, or is about to start. */
WEFT_SUSPENDS static int erase_unstored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                        struct upp_err *err)
{
    size_t n = 0;
    int r = drop_runs(s, o, thread, true, &n, err);
    if (r > 0 && !n)
        r = is_given_up(s, o, thread, err);
    if (r > 0)
        r = erase_thread(s, o, thread, err);
    for (n = BATCH; r > 0 && n == BATCH;)
        r = drop_runs(s, o, thread, false, &n, err);
    if (r <= 0)
        return r;
    r = change_note(s, o, thread, WL_DROP_VALUE, err);
    return r < 0 ? r : 1;
}

void wr_unstored_end(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread)
{
    struct upp_err why = {0};
    if (erase_unstored(s, o, thread, &why) < 0)
        wb_log(WB_WARN, "what is not to be stored could not be erased; it is tried again", WB_LZ("why", why.msg));
}

int wr_unstored_sweep(struct wl_store *s, const struct wl_owner *o, size_t *n, struct upp_err *err)
{
    char name[WB_UUID_HEX];
    size_t count = BATCH;
    int r = 0, failed = 0;
    *n = 0;
    for (struct upp_str after = {NULL, 0}; r >= 0 && count == BATCH;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
        struct wl_value *list;
        r = wl_list_values(s, o, UPP_STR(SPACE), after, BATCH, &a, &list, &count, err);
        for (size_t i = 0; r >= 0 && i < count; i++) {
            struct wb_uuid id;
            int erased = wb_uuid_parse(list[i].name, &id) ? erase_unstored(s, o, id, failed < 0 ? NULL : err) : 0;
            *n += erased > 0;
            if (erased < 0 && failed >= 0)
                failed = erased; /* perhaps of this thread alone: the others nevertheless */
            r = erased == -UPP_ECANCELED ? erased : weft_yield(erased < 0 ? NULL : err);
        }
        if (r < 0 || !count || list[count - 1].name.n > sizeof name)
            break;
        memcpy(name, list[count - 1].name.p, list[count - 1].name.n);
        after = wb_str(name, list[count - 1].name.n);
    }
    return r < 0 ? r : failed;
}
