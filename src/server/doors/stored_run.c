/* server/doors/stored_run.c — finds the run and the segment of an object by its id, and deletes their messages. */
#include "server/doors/stored_run.h"

#include "base/defs.h"
#include "dialects/core/frame.h"
#include "log/change.h"
#include "server/doors/start.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { BATCH = 64 };

bool sv_stored_id(struct upp_str id, const char *prefix, char separator, struct wb_uuid *run, uint32_t *segment)
{
    const char mark[] = {separator, 0};
    struct upp_str head = wb_cstr(prefix);
    uint64_t n = 1;
    if (!wb_str_starts(id, head))
        return false;
    struct upp_str rest = wb_str_sub(id, head.n, SIZE_MAX);
    size_t at = wb_str_find(rest, wb_cstr(mark), 0);
    if (at < rest.n && (!wb_str_u64(wb_str_sub(rest, at + 1, SIZE_MAX), &n) || n < 2 || n > UINT32_MAX))
        return false;
    *segment = (uint32_t)(n - 1);
    return wl_id_parse(wb_str_sub(rest, 0, at), UPP_STR("run_"), run);
}

int sv_stored_find(struct sv_exchange *x, struct wb_uuid id, struct wm_run *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread *t = wb_new(&x->arena, struct wl_thread);
    if (!t)
        return wb_arena_check(&x->arena, err);
    int r = wl_get_run(s, &x->owner, id, &x->arena, ret, err);
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, ret->thread, &x->arena, t, err);
    if (r >= 0 && !wb_str_eq(t->owner.user, x->owner.user))
        r = upp_fail(err, UPP_ENOTFOUND, "no such run");
    if (r >= 0)
        x->thread = t;
    return r;
}

/* The thread to the end of the run's node, wherever its head is now. */
static struct wl_thread thread_of(const struct sv_exchange *x, const struct wm_run *run)
{
    struct wl_thread of = *x->thread;
    of.head = run->node;
    of.at = 0;
    return of;
}

/* The place of the first message of the segment; index UINT32_MAX: it has none yet. */
WEFT_SUSPENDS static int find_output(struct sv_exchange *x, const struct sv_stored *it, struct wm_id *ret,
                                     struct upp_err *err)
{
    static const struct wr_from start;
    struct wr_reader *reader = NULL;
    uint32_t segment = 0;
    struct wm_event ev;
    bool found = false;
    int r = wr_reader_open(x->core->engine, &x->owner, it->run.id, &start, &reader, err);
    *ret = (struct wm_id){.node = it->run.node, .index = UINT32_MAX};
    while (r >= 0 && !found && (r = wr_reader_try(reader, true, &ev, NULL, NULL, err)) > 0) {
        bool own = ev.from->depth == 0;
        segment += own && ev.kind == WM_RUN && ev.run.status == WM_WAITING;
        found = own && segment == it->segment && ev.kind == WM_MESSAGE && ev.message.entry &&
                ev.message.entry->message.role == UPP_ROLE_ASSISTANT && wm_id_parse(ev.message.id, ret);
    }
    wr_reader_close(reader);
    return r == -UPP_EBUSY ? 0 : r < 0 ? r : 0;
}

int sv_stored_context(struct sv_exchange *x, const struct sv_stored *it, struct wl_path *ret, struct upp_err *err)
{
    const struct wl_thread of = thread_of(x, &it->run);
    struct wm_id at;
    int r = find_output(x, it, &at, err);
    if (r < 0)
        return r;
    return at.index == UINT32_MAX
               ? wl_thread_path(x->server->opts.store, &x->owner, &of, &x->arena, ret, err)
               : wl_path_open(x->server->opts.store, &x->owner, at.node, at.index, &x->arena, ret, err);
}

/* Erases the run's messages, its question included. One that was deleted before is no failure. */
WEFT_SUSPENDS static int erase_messages(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread of = thread_of(x, run);
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    int r = wl_thread_path(s, &x->owner, &of, &x->arena, &path, err);
    uint32_t at = r >= 0 && path.n ? path.spans[path.n - 1].before + run->input : 0;
    for (uint32_t end; r >= 0 && at < path.length; at = end) {
        end = WB_MIN(path.length, at + BATCH);
        r = wl_path_tail(s, &x->owner, &path, end, end - at, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && wb_uuid_eq(lines[i].run, run->id))
                r = wl_message_delete(s, &x->owner, &of, lines[i].id, UPP_STR("deleted"), err);
            r = r == -UPP_ENOTFOUND ? 0 : r;
        }
    }
    return r < 0 ? r : 0;
}

/* Is there another run on its thread, or a message that was not deleted? 1: yes. */
WEFT_SUSPENDS static int is_thread_used(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    struct wl_line *lines;
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(s, &x->owner, run->thread, false, 2, &x->arena, &runs, &n, err);
    if (r < 0 || n > 1)
        return r < 0 ? r : 1;
    r = wl_thread_path(s, &x->owner, x->thread, &x->arena, &path, err);
    for (uint32_t end = r >= 0 ? path.length : 0; r >= 0 && end; end -= WB_MIN(end, BATCH)) {
        r = wl_path_tail(s, &x->owner, &path, end, BATCH, &x->arena, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            if (lines[i].entry.kind == WM_ENTRY_MESSAGE && !wm_is_erased(&lines[i].entry))
                return 1;
    }
    return r < 0 ? r : 0;
}

/* Nobody asked for a thread: it goes with the last response in it, unless somebody uses it now. Before the run, which
 * names it. */
WEFT_SUSPENDS static int drop_thread(struct sv_exchange *x, const struct wm_run *run, struct upp_err *err)
{
    int r = sv_made_thread(x, run) ? is_thread_used(x, run, err) : 1;
    if (r == 0)
        r = wl_thread_delete(x->server->opts.store, &x->owner, x->thread, err);
    return r == -UPP_EBUSY || r == -UPP_ENOTFOUND || r > 0 ? 0 : r;
}

/* The messages first: a request that broke off is sent again. */
int sv_stored_delete(struct sv_exchange *x, const struct sv_stored *it, const char *what, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    const struct wl_change drop = {.kind = WL_DROP_RUN, .run = &it->run};
    struct wl_commit c = {.owner = x->owner, .changes = &drop, .n = 1};
    int r = sv_may_write(x, x->thread, err);
    if (r >= 0 && it->segment)
        r = upp_fail(err, UPP_EINVALID, "'%.*s' continues an earlier one: delete that", UPP_FMT(x->params[0]));
    if (r >= 0 && !wm_status_ended(it->run.status))
        r = upp_fail(err, UPP_EBUSY, "%s is %s: cancel it first", what, wd_status_word(it->run.status));
    if (r < 0)
        return r;
    r = erase_messages(x, &it->run, err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, x->thread, false, err);
    if (r >= 0)
        r = drop_thread(x, &it->run, err);
    return r < 0 ? r : wl_store_commit(s, &c, err);
}
