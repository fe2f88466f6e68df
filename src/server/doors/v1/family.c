/* server/doors/v1/family.c — GET /v1/threads/{t}/messages?include_subthreads=true: with the messages of all threads
 * below it, by time.
 *
 * Messages that a fork shares with its parent are listed once. The order is total: by time, then by thread, then as in
 * the thread. Positions are read first, without content; then the messages of one page.
 */
#include <stdlib.h>

#include "base/defs.h"
#include "base/vec.h"
#include "base/vec_add.h"
#include "dialects/assistants/objects.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { THREADS_MAX = 256, MESSAGES_MAX = 65536, BATCH = 128, PAGE = 64 };

struct item {
    int64_t time_ms;
    uint32_t thread, position;
    struct wb_uuid id;
};

struct family {
    struct sv_exchange *x;
    WB_VEC(struct wl_thread) threads; /* the first one is the thread itself */
    WB_VEC(struct item) items;
    struct upp_err *err;
};

static void family_done(struct family *f)
{
    wb_vec_done(&f->threads);
    wb_vec_done(&f->items);
}

static bool is_in(const struct family *f, struct wb_uuid id)
{
    for (size_t i = 0; i < f->threads.n; i++)
        if (wb_uuid_eq(f->threads.p[i].id, id))
            return true;
    return false;
}

/* One round over the family: adds threads whose parent is in. *more: there were some. */
WEFT_SUSPENDS static int add_children(struct family *f, bool *more)
{
    struct wl_store *s = f->x->server->opts.store;
    struct wb_uuid after = {{0}};
    int r = 0;
    *more = false;
    for (size_t n = PAGE; r >= 0 && n == PAGE;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(128u << 20);
        struct wl_thread *list;
        r = wl_list_family_threads(s, &f->x->owner, wl_family(f->threads.p[0].id), after, PAGE, &a, &list, &n, f->err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            struct wl_thread t = list[i];
            after = t.id;
            if (t.kind != WL_MAIN || !wb_str_eq(t.owner.user, f->x->owner.user) || is_in(f, t.id) ||
                !is_in(f, t.parent))
                continue;
            t.owner = f->x->owner;
            t.title = (struct upp_str){NULL, 0};
            t.metadata = wb_arena_dup(&f->x->arena, t.metadata);
            *more = true;
            r = wb_vec_add(&f->threads, t, THREADS_MAX, "threads are below this one", f->err);
        }
    }
    return r < 0 ? r : wb_arena_check(&f->x->arena, f->err);
}

WEFT_SUSPENDS static int add_items(struct family *f, uint32_t thread)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20), paths = WB_ARENA(64u << 20);
    struct wl_store *s = f->x->server->opts.store;
    struct wl_path path;
    int r = wl_thread_path(s, &f->x->owner, &f->threads.p[thread], &paths, &path, f->err);
    for (uint32_t at = 0; r >= 0 && at < path.length;) {
        uint32_t some = WB_MIN(path.length - at, (uint32_t)BATCH), first = at;
        struct wl_line *lines;
        size_t n;
        wb_arena_reset(&a);
        at += some;
        r = wl_path_tail(s, &f->x->owner, &path, at, some, &a, &lines, &n, f->err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            struct item one = {lines[i].entry.message.time_ms, thread, first + (uint32_t)i, lines[i].id};
            if (!asst_is_visible(&lines[i].entry))
                continue;
            r = wb_vec_add(&f->items, one, MESSAGES_MAX, "messages are below this thread", f->err);
        }
    }
    return r;
}

static int by_id(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = memcmp(x->id.b, y->id.b, sizeof x->id.b);
    return c ? c : (x->thread > y->thread) - (x->thread < y->thread);
}

static int by_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* Shared messages once, with the thread that is nearest to the first. */
static void settle_order(struct family *f)
{
    size_t kept = 0;
    if (!f->items.n)
        return;
    qsort(f->items.p, f->items.n, sizeof *f->items.p, by_id);
    for (size_t i = 0; i < f->items.n; i++)
        if (!i || !wb_uuid_eq(f->items.p[i].id, f->items.p[kept - 1].id))
            f->items.p[kept++] = f->items.p[i];
    f->items.n = kept;
    qsort(f->items.p, kept, sizeof *f->items.p, by_time);
}

static int find_item(void *arg, struct upp_str id, void *ret, struct upp_err *err)
{
    const struct family *f = arg;
    struct wb_uuid u;
    (void)err;
    for (size_t i = 0; wl_id_parse(id, UPP_STR("msg_"), &u) && i < f->items.n; i++)
        if (wb_uuid_eq(f->items.p[i].id, u)) {
            *(size_t *)ret = i;
            return 1;
        }
    return 0;
}

WEFT_SUSPENDS static int write_page(struct family *f, const struct sv_between *b, bool ascending, bool more)
{
    struct sv_exchange *x = f->x;
    struct wj_writer w;
    size_t n = b->end - b->first;
    const struct item *items = f->items.p + b->first;
    wj_writer_init(&w, &x->reply.body, f->err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        const struct item *one = &items[ascending ? i : n - 1 - i];
        struct wl_line line;
        int r = wl_entry_find(x->server->opts.store, &x->owner, one->id, &x->arena, &line, f->err);
        if (r >= 0)
            r = sv_put_message(x, &f->threads.p[one->thread], &line, &w, f->err);
        if (r < 0)
            return r;
    }
    sv_list_end(&w, "msg_", n ? items[ascending ? 0 : n - 1].id : WB_UUID_NIL,
                n ? items[ascending ? n - 1 : 0].id : WB_UUID_NIL, more);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS static int list_family(struct family *f)
{
    const struct sv_cursors cursors = {find_item, f, "message of these threads"};
    struct sv_page p;
    struct sv_between b;
    bool more = true;
    int r = sv_page_read(f->x, &p, f->err);
    while (r >= 0 && more)
        r = add_children(f, &more);
    for (uint32_t i = 0; r >= 0 && i < f->threads.n; i++)
        r = add_items(f, i);
    if (r < 0)
        return r;
    settle_order(f);
    r = sv_page_between(&p, &cursors, f->items.n, &b, f->err);
    if (r < 0)
        return r;
    more = sv_page_cut(&p, &b);
    return write_page(f, &b, p.ascending, more);
}

WEFT_SUSPENDS int sv_list_family(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(family_done) struct family f = {.x = x, .err = err};
    struct wl_thread t;
    int r = sv_find_thread(x, &t, err);
    if (r < 0)
        return r;
    return wb_vec_push(&f.threads, t, THREADS_MAX) ? list_family(&f)
                                                   : upp_fail(err, UPP_ENOMEM, "no memory for a thread");
}
