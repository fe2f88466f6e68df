/* server/doors/v1/threads.c — threads: created, retrieved, modified, deleted; and listed, the last changed ones first,
 * which is an extension.
 *
 * The envelope of the list, `limit` and `after` are those of every list; there is one order, because the store has one.
 * A thread's metadata may be a megabyte: a page contains only short ones, and the long ones are read a few at a time.
 */
#include <string.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "dialects/assistants/objects.h"
#include "json/write.h"
#include "log/change.h"
#include "log/log.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/message.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/routes.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"

/* ---- The list ---------------------------------------------------------------------------------------------------- */

enum {
    HANDFUL = 4,           /* threads whose whole metadata is in memory at once ... */
    OF_HANDFUL = 24 << 20, /* ... and their limit in bytes, encrypted and decrypted */

    LISTED_TITLE = 256, /* bytes of a title that a list shows */
    READ_MAX = 10000,   /* threads that one list reads, with those of sub-agents: then its client continues */
};

struct found {
    struct wl_thread thread;
    size_t metadata; /* bytes; more than SV_LISTED_METADATA is not in the thread */
};

struct thread_list {
    struct sv_exchange *x;
    uint64_t limit;
    struct wb_uuid after;
    struct found *found; /* limit + 1 of them */
    size_t n;
    size_t rows; /* read so far */
    bool over;   /* there are no more */
};

static int read_list(struct sv_exchange *x, struct thread_list *ret, struct upp_err *err)
{
    struct upp_str text;
    *ret = (struct thread_list){.x = x};
    int r = sv_read_limit(x, &ret->limit, NULL, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("order"), &text, err);
    if (r > 0 && !wb_str_eq(text, UPP_STR("desc")))
        return upp_fail(err, UPP_EINVALID, "threads are listed with order desc alone");
    if (r >= 0)
        r = sv_query(x, UPP_STR("before"), &text, err);
    if (r > 0)
        return upp_fail(err, UPP_EINVALID, "threads are listed from the newest on: there is after, and no before");
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &text, err);
    if (r > 0 && (!wl_id_parse(text, UPP_STR("thread_"), &ret->after) || wb_uuid_is_nil(ret->after)))
        return upp_fail(err, UPP_EINVALID, "'after' names no thread: '%.*s'", UPP_FMT(text));
    return r < 0 ? r : 0;
}

/* Threads of child runs are not listed. */
static void take_thread(struct thread_list *l, const struct wl_thread *t)
{
    struct found f = {.thread = *t, .metadata = t->metadata.n};
    if (t->kind != WL_MAIN || l->n > l->limit)
        return;
    if (f.metadata > SV_LISTED_METADATA)
        f.thread.metadata = (struct upp_str){NULL, 0};
    f.thread.metadata = wb_arena_dup(&l->x->arena, f.thread.metadata);
    f.thread.title = wb_arena_dup(&l->x->arena, wb_str_sub(t->title, 0, wb_utf8_cut(t->title, LISTED_TITLE)));
    f.thread.owner = (struct wl_owner){.tenant = {NULL, 0}}; /* not shown */
    l->found[l->n++] = f;
}

/* Reads as many as a page can have in one store call: their order does not change meanwhile. */
WEFT_SUSPENDS static int read_some(struct wl_store *s, void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(OF_HANDFUL);
    struct thread_list *l = arg;
    for (size_t some = 0; some < SV_LIST_MAX && l->n <= l->limit && !l->over; some += HANDFUL) {
        struct wl_thread *t;
        size_t got;
        wb_arena_done(&a);
        int r = wl_list_threads(s, &l->x->owner, l->after, HANDFUL, &a, &t, &got, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < got; i++)
            take_thread(l, &t[i]);
        l->rows += got;
        if (got)
            l->after = t[got - 1].id;
        l->over = got < HANDFUL;
    }
    return wb_arena_check(&l->x->arena, err);
}

WEFT_SUSPENDS static int read_threads(struct thread_list *l, struct upp_err *err)
{
    l->found = wb_new_n(&l->x->arena, struct found, l->limit + 1);
    int r = wb_arena_check(&l->x->arena, err);
    while (r >= 0 && l->n <= l->limit && !l->over && l->rows < READ_MAX)
        r = wl_store_at_once(l->x->server->opts.store, read_some, l, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_EINVALID, "'after' names no thread of yours") : r;
}

WEFT_SUSPENDS int sv_list_threads(struct sv_exchange *x, struct upp_err *err)
{
    struct thread_list l;
    struct wj_writer w;
    int r = read_list(x, &l, err);
    if (r >= 0)
        r = read_threads(&l, err);
    if (r < 0)
        return r;
    size_t n = WB_MIN(l.n, (size_t)l.limit);
    bool cut = l.n <= l.limit && !l.over; /* it has read enough */
    struct wb_uuid last = n ? l.found[n - 1].thread.id : WB_UUID_NIL;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++)
        sv_write_listed(&w, &l.found[i].thread, l.found[i].metadata);
    sv_list_end(&w, "thread_", n ? l.found[0].thread.id : WB_UUID_NIL, cut ? l.after : last, cut || l.n > l.limit);
    return sv_finish(x, &w);
}

/* ---- One thread -------------------------------------------------------------------------------------------------- */

/* The title of a new or modified thread; an empty one removes it. */
static int read_title(const struct sv_body *b, yyjson_val *object, struct upp_str *ret, struct upp_err *err)
{
    int r = sv_body_str(b, object, UPP_STR("title"), ret, err);
    if (r > 0 && ret->n > WL_TITLE_MAX)
        return sv_body_wrong(b, sv_member(object, UPP_STR("title")), err, "a title has at most %d bytes", WL_TITLE_MAX);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_read_thread(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                 const struct wr_agent_def *agent, struct sv_system *system,
                                 struct wl_thread_opts *opts, struct sv_entries *entries, struct upp_err *err)
{
    *opts = (struct wl_thread_opts){.size = sizeof *opts, .child = true};
    int r = sv_read_thread_metadata(x, b, object, NULL, &opts->metadata, &opts->parent, err);
    if (r >= 0)
        r = read_title(b, object, &opts->title, err);
    if (r >= 0)
        r = sv_read_messages(x, b, object, UPP_STR("messages"), agent, system, entries, err);
    const struct wl_thread made = {.metadata = opts->metadata, .parent = opts->parent};
    return r < 0 ? r : sv_members_receive(x, b, &made, true, entries, err);
}

WEFT_SUSPENDS static int make_thread(struct sv_exchange *x, struct wl_store *s, struct wl_thread *ret,
                                     struct upp_err *err)
{
    static const char *const known[] = {"messages", "metadata", "tool_resources", "title", "actors", "parent_id", NULL};
    struct wl_thread_opts opts;
    struct sv_entries entries;
    struct sv_body b;
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_read_thread(x, &b, b.root, wr_agent(x->core->engine, x->agent), NULL, &opts, &entries, err);
    return r < 0 ? r : wl_thread_new_with(s, &x->owner, &opts, entries.p, entries.n, &x->arena, ret, err);
}

WEFT_SUSPENDS int sv_create_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_keyed k;
    struct wl_thread t;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0)
        r = make_thread(x, &k.store, &t, err);
    r = sv_keyed_thread(&k, r, &t, err);
    return r < 0 ? r : sv_answer_thread(x, &t, err);
}

WEFT_SUSPENDS int sv_get_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    int r = sv_find_thread(x, &t, err);
    return r < 0 ? r : sv_answer_thread(x, &t, err);
}

enum { TRIES = 16 };

/* With an empty body it retrieves, as AITP's transport T01 does. Others may write at the same time: read, set, and once
 * more if somebody else was first. */
WEFT_SUSPENDS int sv_modify_thread(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", "tool_resources", "title", NULL};
    struct wl_store *s = x->server->opts.store;
    struct upp_str metadata, title = {NULL, 0};
    struct wl_thread t;
    struct sv_body b;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_title(&b, b.root, &title, err);
    for (unsigned i = 0; r >= 0; i++) {
        metadata = t.metadata;
        r = sv_read_thread_metadata(x, &b, b.root, &t, &metadata, NULL, err);
        if (title.p && r >= 0) {
            t.title = title;
            r = 1;
        }
        if (r > 0 && (r = sv_may_write(x, &t, err)) >= 0)
            r = wl_thread_set(s, &x->owner, &t, metadata, err);
        if (r <= 0)
            break;
        r = i < TRIES ? wl_thread_find(s, &x->owner, x->params[0], &x->arena, &t, err)
                      : upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
    }
    return r < 0 ? r : sv_answer_thread(x, &t, err);
}

/* `?erase=tree` also erases what other threads share with the thread, and lists those threads. */
WEFT_SUSPENDS int sv_delete_thread(struct sv_exchange *x, struct upp_err *err)
{
    struct wr_erase erase = {.memory = &x->arena};
    struct upp_str what;
    struct wl_thread t;
    struct wj_writer w;
    int r = sv_query(x, UPP_STR("erase"), &what, err), erases = r;
    if (r > 0 && !wb_str_eq(what, UPP_STR("tree")))
        return upp_fail(err, UPP_EINVALID, "erase is tree, or is not there");
    if (r > 0)
        r = sv_admin_begin(x, "thread.erase", x->params[0], err);
    if (r >= 0)
        r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0)
        r = wr_thread_delete(x->core->engine, &x->owner, &t, erases > 0 ? &erase : NULL, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    asst_put_id(&w, "id", "thread_", t.id);
    wj_put_str(&w, "object", UPP_STR("thread.deleted"));
    wj_put_bool(&w, "deleted", true);
    if (erases > 0) {
        wj_put_open(&w, "erased_threads", '[');
        for (size_t i = 0; i < erase.n; i++)
            asst_id(&w, "thread_", erase.lost[i]);
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
