/* server/doors/v1/messages.c — the messages of a thread: created, listed, retrieved, deleted, and their metadata
 * modified. What was said stays as it is: new metadata is noted beside the log (log/note.h). */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "log/change.h"
#include "log/note.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/objects/message.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/options.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"
#include "thread/position.h"

enum { BATCH = 128 };

/* ---- One message ------------------------------------------------------------------------------------------------- */

/* Why a message is incomplete: its run tells. One whose run the sweep has removed can only have failed. */
WEFT_SUSPENDS static int why_incomplete(struct sv_exchange *x, const struct wl_line *line, const char **ret,
                                        struct upp_err *err)
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

WEFT_SUSPENDS int sv_put_message(struct sv_exchange *x, const struct wl_thread *t, struct wl_line *line,
                                 struct wj_writer *w, struct upp_err *err)
{
    const char *why;
    int r = why_incomplete(x, line, &why, err);
    if (r >= 0)
        r = sv_members_name_author(&x->arena, t, line, err);
    return r < 0 ? r : sv_write_message(w, &x->arena, t->id, line, why, err);
}

WEFT_SUSPENDS static int answer_message(struct sv_exchange *x, const struct wl_thread *t, struct wl_line *line,
                                        struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    int r = sv_put_message(x, t, line, &w, err);
    return r < 0 ? r : sv_finish(x, &w);
}

static int no_message(const struct sv_exchange *x, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "No message found with id '%.*s'.", UPP_FMT(x->params[1]));
}

static bool is_on(const struct wl_path *path, uint64_t node, uint32_t index)
{
    for (size_t i = 0; i < path->n; i++)
        if (path->spans[i].node == node && index < path->spans[i].length)
            return true;
    return false;
}

/* The message that {t}/{m} name, if the API shows it. */
WEFT_SUSPENDS static int find_message(struct sv_exchange *x, struct wl_thread *t, struct wl_line *ret,
                                      struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wb_uuid id;
    struct wl_path path;
    int r = sv_find_thread(x, t, err);
    if (r < 0)
        return r;
    if (!wl_id_parse(x->params[1], UPP_STR("msg_"), &id))
        return no_message(x, err);
    r = wl_entry_find(s, &x->owner, id, &x->arena, ret, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && (!asst_is_visible(&ret->entry) || !is_on(&path, ret->node, ret->index))))
        return no_message(x, err);
    return r < 0 ? r : wl_notes_read(s, &x->owner, ret, 1, &x->arena, err);
}

WEFT_SUSPENDS int sv_get_message(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_line line;
    int r = find_message(x, &t, &line, err);
    return r < 0 ? r : answer_message(x, &t, &line, err);
}

WEFT_SUSPENDS int sv_modify_message(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    struct wl_store *s = x->server->opts.store;
    struct wl_thread t;
    struct wl_line line;
    struct sv_body b;
    struct upp_str given, members;
    int r = find_message(x, &t, &line, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_metadata_read(&b, b.root, &x->arena, &given, err);
    if (r <= 0)
        return r < 0 ? r : answer_message(x, &t, &line, err);
    r = sv_message_metadata(&x->arena, given, &members, err);
    if (r >= 0)
        r = sv_may_write(x, &t, err);
    if (r >= 0)
        r = wl_note_put(s, &x->owner, &line, members, err);
    if (r >= 0)
        r = wl_notes_read(s, &x->owner, &line, 1, &x->arena, err);
    return r < 0 ? r : answer_message(x, &t, &line, err);
}

WEFT_SUSPENDS int sv_delete_message(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wb_uuid id;
    char name[WB_UUID_HEX + 5] = "msg_";
    int r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0 && !wl_id_parse(x->params[1], UPP_STR("msg_"), &id))
        r = upp_fail(err, UPP_ENOTFOUND, "there is no message '%.*s'", UPP_FMT(x->params[1]));
    if (r >= 0)
        r = wl_message_delete(x->server->opts.store, &x->owner, &t, id, UPP_STR("deleted"), err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    if (r < 0)
        return r;
    (void)wb_uuid_hex(id, name + 4);
    return sv_answer_deleted(x, wb_cstr(name), "thread.message.deleted", err);
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

/* The agent that messages are for: that of the URL, or the default. */
static const struct wr_agent_def *default_agent(const struct sv_exchange *x)
{
    return wr_agent(x->core->engine, x->agent);
}

/* The message that an earlier request has made. */
WEFT_SUSPENDS static int answer_earlier(struct sv_exchange *x, const struct wl_thread *t, struct wb_uuid id,
                                        struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_line line;
    int r = wl_entry_find(s, &x->owner, id, &x->arena, &line, err);
    if (r >= 0)
        r = wl_notes_read(s, &x->owner, &line, 1, &x->arena, err);
    return r < 0 ? r : answer_message(x, t, &line, err);
}

WEFT_SUSPENDS int sv_create_message(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"role", "content", "attachments", "metadata", "actor", NULL};
    struct sv_body b;
    struct wl_thread t;
    struct wl_line line = {0};
    struct sv_entries one = {&line.entry, 1, &b.root};
    struct sv_keyed k;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = sv_keyed_begin(x, SV_MAKES_ENTRIES, &k, err);
    if (r > 0)
        return answer_earlier(x, &t, k.object, err);
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
        return r < 0 ? r : answer_earlier(x, &t, k.object, err);
    line.node = t.head;
    line.id = wm_id_uuid(
        (struct wm_id){.node = t.head, .index = line.index, .noun = WM_NOUN_ENTRY, .attempt = line.entry.attempt});
    return answer_message(x, &t, &line, err);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct listing {
    struct sv_exchange *x;
    struct wl_thread thread;
    struct wl_path path;
    struct sv_page page;
    struct sv_between left; /* positions of the path that are still to be read, upwards or downwards */
    struct wb_uuid run;     /* only its messages; all zero: any */
    bool all;               /* entries of the log, not only the messages of the API */
    bool noted;
    struct wl_line *found; /* limit + 1 of them, in the order they were read */
    size_t n;
};

/* The position on the path. */
static int find_position(void *arg, struct upp_str text, void *ret, struct upp_err *err)
{
    const struct wl_path *path = arg;
    struct wb_uuid u;
    struct wm_id id;
    (void)err;
    if (!wl_id_parse(text, UPP_STR("msg_"), &u) || !wm_id_parse(u, &id))
        return 0;
    for (size_t i = 0; i < path->n; i++)
        if (path->spans[i].node == id.node && id.index < path->spans[i].length) {
            *(size_t *)ret = path->spans[i].before + id.index;
            return 1;
        }
    return 0;
}

WEFT_SUSPENDS static int read_listing(struct listing *l, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    const struct sv_cursors cursors = {find_position, &l->path, "message of this thread"};
    struct upp_str run;
    int r = sv_page_read(x, &l->page, err);
    if (r >= 0)
        r = sv_page_between(&l->page, &cursors, l->path.length, &l->left, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("run_id"), &run, err);
    if (r > 0 && (!wl_id_parse(run, UPP_STR("run_"), &l->run) || wb_uuid_is_nil(l->run)))
        return upp_fail(err, UPP_EINVALID, "'run_id' names no run: '%.*s'", UPP_FMT(run));
    if (r < 0)
        return r;
    l->found = wb_new_n(&x->arena, struct wl_line, l->page.limit + 1);
    return wb_arena_check(&x->arena, err);
}

static bool is_listed(const struct listing *l, const struct wl_line *line)
{
    return (l->all ? sv_is_entry(line) : asst_is_visible(&line->entry)) &&
           (wb_uuid_is_nil(l->run) || wb_uuid_eq(line->run, l->run));
}

/* Continues where begin_list stopped, with a limited number of batches. */
WEFT_SUSPENDS static int read_messages(struct wl_store *s, struct listing *l, size_t batches, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    struct sv_between *left = &l->left;
    bool up = sv_page_up(&l->page);
    for (; batches && left->first < left->end && l->n <= l->page.limit; batches--) {
        uint32_t n = (uint32_t)WB_MIN(left->end - left->first, (size_t)BATCH);
        uint32_t end = (uint32_t)(up ? left->first + n : left->end);
        struct wl_line *lines;
        size_t got;
        int r = wl_path_tail(s, &x->owner, &l->path, end, n, &x->arena, &lines, &got, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < got && l->n <= l->page.limit; i++) {
            const struct wl_line *line = &lines[up ? i : got - 1 - i];
            if (is_listed(l, line))
                l->found[l->n++] = *line;
        }
        if (up)
            left->first += n;
        else
            left->end -= n;
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

WEFT_SUSPENDS static int write_listed(const struct listing *l, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    struct wj_writer w;
    size_t n = WB_MIN(l->n, (size_t)l->page.limit);
    bool turned = l->page.backwards;
    struct wl_node node = {0};
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++) {
        struct wl_line *line = &l->found[turned ? n - 1 - i : i];
        int r = l->all ? write_entry(x, line, &node, &w, err) : sv_put_message(x, &l->thread, line, &w, err);
        if (r < 0)
            return r;
    }
    sv_list_end(&w, "msg_", n ? l->found[turned ? n - 1 : 0].id : WB_UUID_NIL,
                n ? l->found[turned ? 0 : n - 1].id : WB_UUID_NIL, l->n > l->page.limit);
    return sv_finish(x, &w);
}

/* What was noted about the messages later, once the page is full. */
WEFT_SUSPENDS static int add_notes(struct wl_store *s, struct listing *l, struct upp_err *err)
{
    if (l->noted || (l->left.first < l->left.end && l->n <= l->page.limit))
        return 0;
    l->noted = true;
    return wl_notes_read(s, &l->x->owner, l->found, l->n, &l->x->arena, err);
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
        r = read_listing(l, err);
    if (r >= 0)
        r = read_messages(s, l, 1, err);
    return r < 0 ? r : add_notes(s, l, err);
}

WEFT_SUSPENDS static int list_path(struct listing *l, struct upp_err *err)
{
    struct wl_store *s = l->x->server->opts.store;
    int r = wl_store_at_once(s, begin_list, l, err);
    if (r >= 0)
        r = read_messages(s, l, SIZE_MAX, err);
    if (r >= 0)
        r = add_notes(s, l, err);
    return r < 0 ? r : write_listed(l, err);
}

WEFT_SUSPENDS int sv_list_entries(struct sv_exchange *x, struct upp_err *err)
{
    return list_path(&(struct listing){.x = x, .all = true}, err);
}

WEFT_SUSPENDS int sv_list_messages(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str below;
    int r = sv_query(x, UPP_STR("include_subthreads"), &below, err);
    if (r > 0 && wb_str_eq(below, UPP_STR("true")))
        return sv_list_family(x, err);
    if (r > 0 && !wb_str_eq(below, UPP_STR("false")))
        return upp_fail(err, UPP_EINVALID, "include_subthreads is true or false");
    return r < 0 ? r : list_path(&(struct listing){.x = x}, err);
}
