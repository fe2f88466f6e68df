/* server/doors/v1/messages.c — /v1/threads and the messages of a thread. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "log/note.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/message.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/objects/thread.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/position.h"

enum { BATCH = 128 };

/* The agent that messages are for: that of the URL, or the default. */
static const struct wr_agent_def *default_agent(const struct sv_exchange *x)
{
    return wr_agent(x->core->engine, x->agent);
}

/* ---- One message ------------------------------------------------------------------------------------------------- */

int sv_why_incomplete(struct sv_exchange *x, const struct wl_line *line, const char **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(80u << 20);
    struct wm_run run;
    *ret = asst_why_incomplete(WM_FAILED);
    if (!line->entry.message.interrupted)
        return 0;
    int r = wl_get_run(x->server->opts.store, &x->owner, line->run, &a, &run, err);
    if (r >= 0)
        *ret = asst_why_incomplete(run.cancel ? WM_CANCELED : run.status);
    return r == -UPP_ENOTFOUND ? 0 : r;
}

WEFT_SUSPENDS static int write_message(struct sv_exchange *x, const struct wl_thread *t, struct wl_line *line,
                                       struct wj_writer *w, struct upp_err *err)
{
    const char *why;
    int r = sv_why_incomplete(x, line, &why, err);
    if (r >= 0)
        r = sv_members_name_author(&x->arena, t, line, err);
    return r < 0 ? r : sv_write_message(w, &x->arena, t->id, line, why, err);
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS int sv_read_thread(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                 const struct wr_agent_def *agent, struct sv_system *system,
                                 struct wl_thread_opts *opts, struct sv_entries *entries, struct upp_err *err)
{
    *opts = (struct wl_thread_opts){.size = sizeof *opts, .child = true};
    int r = sv_read_thread_metadata(x, b, object, NULL, &opts->metadata, &opts->parent, err);
    if (r >= 0)
        r = sv_read_title(b, object, &opts->title, err);
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
        r = sv_read_thread(x, &b, b.root, default_agent(x), NULL, &opts, &entries, err);
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

/* The message that an earlier request has made. */
WEFT_SUSPENDS static int answer_made(struct sv_exchange *x, const struct wl_thread *t, struct wb_uuid id,
                                     struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_line line;
    struct wj_writer w;
    int r = wl_entry_find(s, &x->owner, id, &x->arena, &line, err);
    if (r >= 0)
        r = wl_notes_read(s, &x->owner, &line, 1, &x->arena, err);
    wj_writer_init(&w, &x->reply.body, err);
    if (r >= 0)
        r = write_message(x, t, &line, &w, err);
    return r < 0 ? r : sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_create_message(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"role", "content", "attachments", "metadata", "actor", NULL};
    struct sv_body b;
    struct wl_thread t;
    struct wl_line line = {0};
    struct sv_entries one = {&line.entry, 1, &b.root};
    struct sv_keyed k;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = sv_keyed_begin(x, SV_MAKES_ENTRIES, &k, err);
    if (r > 0)
        return answer_made(x, &t, k.object, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_read_message(&b, b.root, default_agent(x), &x->arena, NULL, &line.entry, err);
    if (r >= 0)
        r = sv_read_files(x, &b, b.root, default_agent(x), &line.entry.message, err);
    if (r >= 0)
        r = sv_members_receive(x, &b, &t, false, &one, err);
    if (r >= 0)
        r = sv_keyed_end(&k, wl_append(&k.store, &x->owner, &t, &line.entry, 1, &line.index, err), err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    if (r != 0)
        return r < 0 ? r : answer_made(x, &t, k.object, err);
    line.node = t.head;
    line.id = wm_id_uuid(
        (struct wm_id){.node = t.head, .index = line.index, .noun = WM_NOUN_ENTRY, .attempt = line.entry.attempt});
    wj_writer_init(&w, &x->reply.body, err);
    r = sv_write_message(&w, &x->arena, t.id, &line, NULL, err);
    return r < 0 ? r : sv_finish(x, &w);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* A page of a path: positions lo to hi (exclusive), read upwards or downwards until there are limit + 1 messages. */
struct page {
    uint32_t lo, hi;
    bool up;
    uint32_t limit;
    struct wb_uuid run;    /* only its messages; all zero: any */
    bool all;              /* entries of the log, not only the messages of the API */
    struct wl_line *found; /* limit + 1 of them, in the order they were read */
    size_t n;
};

/* The position on the path of the message that a parameter names. 1; 0: the parameter is absent. */
static int read_cursor(struct sv_exchange *x, const struct wl_path *path, struct upp_str name, uint32_t *ret,
                       struct upp_err *err)
{
    struct upp_str text;
    struct wb_uuid u;
    struct wm_id id;
    int r = sv_query(x, name, &text, err);
    if (r <= 0)
        return r;
    if (wl_id_parse(text, UPP_STR("msg_"), &u) && wm_id_parse(u, &id))
        for (size_t i = 0; i < path->n; i++)
            if (path->spans[i].node == id.node && id.index < path->spans[i].length) {
                *ret = path->spans[i].before + id.index;
                return 1;
            }
    return upp_fail(err, UPP_EINVALID, "'%.*s' names no message of this thread: '%.*s'", UPP_FMT(name), UPP_FMT(text));
}

/* The run whose messages are wanted. One that is unknown has none. */
static int read_run(struct sv_exchange *x, struct wb_uuid *ret, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(x, UPP_STR("run_id"), &text, err);
    if (r > 0 && (!wl_id_parse(text, UPP_STR("run_"), ret) || wb_uuid_is_nil(*ret)))
        return upp_fail(err, UPP_EINVALID, "'run_id' names no run: '%.*s'", UPP_FMT(text));
    return r;
}

static int read_page(struct sv_exchange *x, const struct wl_path *path, struct page *ret, bool *ascending,
                     struct upp_err *err)
{
    uint64_t limit;
    uint32_t after = 0, before = 0;
    int r = sv_read_limit(x, &limit, ascending, err);
    if (r < 0)
        return r;
    int has_after = read_cursor(x, path, UPP_STR("after"), &after, err);
    int has_before = has_after < 0 ? 0 : read_cursor(x, path, UPP_STR("before"), &before, err);
    if (has_after < 0 || has_before < 0)
        return has_after < 0 ? has_after : has_before;
    *ret = (struct page){.hi = path->length, .up = *ascending, .limit = (uint32_t)limit, .all = ret->all};
    r = read_run(x, &ret->run, err);
    if (r < 0)
        return r;
    /* Items after `after` and before `before`, in the chosen order. */
    if (has_after > 0)
        *(*ascending ? &ret->lo : &ret->hi) = *ascending ? after + 1 : after;
    if (has_before > 0)
        *(*ascending ? &ret->hi : &ret->lo) = *ascending ? before : before + 1;
    if (has_before > 0 && has_after == 0)
        ret->up = !ret->up; /* those nearest to the cursor */
    return 0;
}

/* Continues where begin_list stopped, with a limited number of batches. */
WEFT_SUSPENDS static int fill_page(struct wl_store *s, struct sv_exchange *x, const struct wl_path *path,
                                   struct page *p, size_t batches, struct upp_err *err)
{
    bool any = wb_uuid_is_nil(p->run);
    if (!p->found && !(p->found = wb_new_n(&x->arena, struct wl_line, p->limit + 1)))
        return wb_arena_check(&x->arena, err);
    for (; batches && p->lo < p->hi && p->n <= p->limit; batches--) {
        uint32_t n = WB_MIN(p->hi - p->lo, (uint32_t)BATCH);
        uint32_t end = p->up ? p->lo + n : p->hi;
        struct wl_line *lines;
        size_t got;
        int r = wl_path_tail(s, &x->owner, path, end, n, &x->arena, &lines, &got, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < got && p->n <= p->limit; i++) {
            const struct wl_line *line = &lines[p->up ? i : got - 1 - i];
            if ((p->all ? sv_is_entry(line) : asst_is_visible(&line->entry)) && (any || wb_uuid_eq(line->run, p->run)))
                p->found[p->n++] = *line;
        }
        if (p->up)
            p->lo += n;
        else
            p->hi -= n;
    }
    return 0;
}

/* An entry, with the id of its node, which is looked up once for a row of them. */
WEFT_SUSPENDS static int write_entry(struct sv_exchange *x, const struct wl_line *line, struct wl_node *node,
                                     struct wj_writer *w, struct upp_err *err)
{
    int r = node->key == line->node ? 0 : wl_get_node(x->server->opts.store, &x->owner, line->node, node, err);
    if (r >= 0)
        sv_write_entry(w, node->id, line);
    return r;
}

WEFT_SUSPENDS static int write_page(struct sv_exchange *x, const struct wl_thread *t, const struct page *p,
                                    bool ascending, struct upp_err *err)
{
    struct wj_writer w;
    size_t n = WB_MIN(p->n, p->limit);
    bool reverse = p->up != ascending;
    struct wl_node node = {0};
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        struct wl_line *line = &p->found[reverse ? n - 1 - i : i];
        int r = p->all ? write_entry(x, line, &node, &w, err) : write_message(x, t, line, &w, err);
        if (r < 0)
            return r;
    }
    sv_list_end(&w, "msg_", n ? p->found[reverse ? n - 1 : 0].id : WB_UUID_NIL,
                n ? p->found[reverse ? 0 : n - 1].id : WB_UUID_NIL, p->n > p->limit);
    return sv_finish(x, &w);
}

struct listing {
    struct sv_exchange *x;
    struct wl_thread thread;
    struct wl_path path;
    struct page page;
    bool ascending, noted;
};

/* What was noted about the messages later, once the page is full. */
WEFT_SUSPENDS static int add_notes(struct wl_store *s, struct listing *l, struct upp_err *err)
{
    struct page *p = &l->page;
    if (l->noted || (p->lo < p->hi && p->n <= p->limit))
        return 0;
    l->noted = true;
    return wl_notes_read(s, &l->x->owner, p->found, p->n, &l->x->arena, err);
}

/* The path to the end of another node of the tree, instead of the thread's own. */
WEFT_SUSPENDS static int read_node(struct wl_store *s, struct listing *l, struct upp_err *err)
{
    struct upp_str id;
    uint64_t node;
    int r = sv_query(l->x, UPP_STR("node_id"), &id, err);
    if (r <= 0)
        return r;
    r = wa_node_find(s, &l->x->owner, &l->thread, id, &node, err);
    if (r < 0)
        return r;
    l->thread.head = node;
    l->thread.at = 0;
    return 0;
}

/* Reads what nearly every page needs in one worker job, and only one batch: a thread with few messages to show must
 * not block the worker. */
WEFT_SUSPENDS static int begin_list(struct wl_store *s, void *arg, struct upp_err *err)
{
    struct listing *l = arg;
    struct sv_exchange *x = l->x;
    int r = wl_thread_find(s, &x->owner, x->params[0], &x->arena, &l->thread, err);
    if (r >= 0)
        r = read_node(s, l, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, &l->thread, &x->arena, &l->path, err);
    if (r >= 0)
        r = read_page(x, &l->path, &l->page, &l->ascending, err);
    if (r >= 0)
        r = fill_page(s, x, &l->path, &l->page, 1, err);
    return r < 0 ? r : add_notes(s, l, err);
}

WEFT_SUSPENDS static int list(struct listing *l, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    struct wl_store *s = x->server->opts.store;
    int r = wl_at_once(s, begin_list, l, err);
    if (r >= 0)
        r = fill_page(s, x, &l->path, &l->page, SIZE_MAX, err);
    if (r >= 0)
        r = add_notes(s, l, err);
    return r < 0 ? r : write_page(x, &l->thread, &l->page, l->ascending, err);
}

WEFT_SUSPENDS int sv_list_entries(struct sv_exchange *x, struct upp_err *err)
{
    return list(&(struct listing){.x = x, .page.all = true}, err);
}

WEFT_SUSPENDS int sv_list_messages(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str below;
    int r = sv_query(x, UPP_STR("include_subthreads"), &below, err);
    if (r > 0 && wb_str_eq(below, UPP_STR("true")))
        return sv_list_family(x, err);
    if (r > 0 && !wb_str_eq(below, UPP_STR("false")))
        return upp_fail(err, UPP_EINVALID, "include_subthreads is true or false");
    return r < 0 ? r : list(&(struct listing){.x = x}, err);
}
