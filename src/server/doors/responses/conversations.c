/* server/doors/responses/conversations.c — /v1/conversations: threads in the words of the Responses API.
 *
 * An item is a message's text, one reasoning part, one call or one result of the log. Its id contains the place, so
 * that a page can begin after any item.
 */
#include "server/doors/responses/conversations.h"

#include <stdio.h>

#include "base/defs.h"
#include "dialects/core/data_url.h"
#include "dialects/responses/response.h"
#include "json/value.h"
#include "log/change.h"
#include "log/log.h"
#include "model/file_url.h"
#include "model/id.h"
#include "server/doors/aitp/members.h"
#include "server/doors/responses/items.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"

enum { TRIES = 16, BATCH = 64, CREATED_MAX = 20 /* items of one request, as at OpenAI */ };

/* ---- Conversations ----------------------------------------------------------------------------------------------- */

static int answer(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct upp_str   metadata = t->metadata.n ? t->metadata : UPP_STR("{}");
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    sv_put_id(&w, "id", "conv_", t->id);
    wj_put_str(&w, "object", UPP_STR("conversation"));
    wj_put_i64(&w, "created_at", t->created_ms / 1000);
    wj_put_raw(&w, "metadata", metadata.p, metadata.n);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

/* The thread that {c} names; one of another owner and none at all get the same answer. */
WEFT_SUSPENDS static int find(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err)
{
    struct wb_uuid id;
    int            r = -UPP_ENOTFOUND;
    if (wl_id_parse(x->params[0], UPP_STR("conv_"), &id))
        r = wl_get_thread(x->server->opts.store, &x->owner, id, &x->arena, ret, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && !wb_str_eq(ret->owner.user, x->owner.user)))
        return upp_fail(err, UPP_ENOTFOUND, "no conversation '%.*s'", UPP_FMT(x->params[0]));
    return r;
}

/* Reads `items`; system messages have no place in a conversation here. */
WEFT_SUSPENDS static int read_items(struct sv_exchange *x, const struct sv_body *b, struct sv_items *ret,
                                    struct upp_err *err)
{
    const struct wr_agent_def *agent = wr_agent(x->core->engine, (struct upp_str){NULL, 0});
    yyjson_val                *list  = sv_member(b->root, UPP_STR("items"));
    if (yyjson_arr_size(list) > CREATED_MAX)
        return sv_body_wrong(b, list, err, "at most %d items in one request", CREATED_MAX);
    int r = sv_items_read(x, b, "items", agent, false, ret, err);
    if (r >= 0 && ret->messages.system)
        r = sv_body_wrong(b, ret->messages.system, err,
                          "a conversation has no system messages: the prompt is the agent's, or `instructions`");
    return r < 0 ? r : sv_check_files(x, b, list, ret->messages.list.p, 0, ret->messages.list.n, err);
}

WEFT_SUSPENDS static int create(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[]  = {"items", "metadata", NULL};
    struct wl_thread_opts    opts     = {.size = sizeof opts};
    struct sv_items          items    = {0};
    yyjson_val              *metadata = NULL;
    struct sv_body           b;
    struct wl_thread         t;
    uint32_t                 index;
    int                      r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_object(&b, b.root, UPP_STR("metadata"), &metadata, err);
    if (r >= 0)
        r = sv_body_text(&x->arena, metadata, &opts.metadata, err);
    if (r >= 0 && sv_member(b.root, UPP_STR("items")))
        r = read_items(x, &b, &items, err);
    if (r >= 0)
        r = wl_thread_new(x->server->opts.store, &x->owner, &opts, &x->arena, &t, err);
    if (r >= 0 && items.messages.list.n)
        r = wl_append(x->server->opts.store, &x->owner, &t, items.messages.list.p, items.messages.list.n, &index, err);
    return r < 0 ? r : answer(x, &t, err);
}

WEFT_SUSPENDS static int get_conversation(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    int              r = find(x, &t, err);
    return r < 0 ? r : answer(x, &t, err);
}

/* Others may write at the same time: read, set, and once more if somebody else was first. */
WEFT_SUSPENDS static int update(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    struct upp_str           metadata;
    struct wl_thread         t;
    struct sv_body           b;
    int                      r = sv_body_read(x, known, &b, err);
    for (unsigned i = 0; r >= 0 && i < TRIES; i++) {
        r = find(x, &t, err);
        if (r >= 0)
            r = sv_read_thread_metadata(x, &b, b.root, &t, &metadata, NULL, err);
        if (r == 0)
            return sv_body_wrong(&b, b.root, err, "a conversation is updated with 'metadata', an object");
        if (r > 0 && (r = sv_aitp_may_write(x, &t, err)) >= 0)
            r = wl_thread_set(x->server->opts.store, &x->owner, &t, metadata, err);
        if (r == 0)
            return answer(x, &t, err);
    }
    return r < 0 ? r : upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
}

WEFT_SUSPENDS static int delete_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct wl_thread *t = x->thread;
    struct wj_writer        w;
    int                     r = wr_thread_delete(x->core->engine, &x->owner, t, NULL, err);
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    sv_put_id(&w, "id", "conv_", t->id);
    wj_put_str(&w, "object", UPP_STR("conversation.deleted"));
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return r < 0 ? r : sv_finish(x, &w);
}

WEFT_SUSPENDS static int delete_conversation(struct sv_exchange *x, struct upp_err *err)
{
    x->thread = wb_new(&x->arena, struct wl_thread);
    int r     = x->thread ? find(x, x->thread, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = sv_aitp_may_write(x, x->thread, err);
    return r < 0 ? r
                 : sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, delete_here, err);
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

/* An item: of a message all its content, otherwise one part. */
struct item {
    const struct wl_line *line;
    uint32_t              part;
};

static bool is_content(const struct upp_part *p)
{
    return p->kind == UPP_PART_TEXT || p->media;
}

/* The parts of an entry that begin an item, in order; at most `max`. */
static size_t items_of(const struct wl_line *line, uint32_t *parts, size_t max)
{
    const struct wm_entry *e       = &line->entry;
    bool                   content = false;
    size_t                 n       = 0;
    if (e->kind != WM_ENTRY_MESSAGE || e->audience != WM_AUDIENCE_ALL || wm_is_erased(e))
        return 0;
    for (size_t i = 0; i < e->message.n_parts && n < max; i++) {
        if (is_content(&e->message.parts[i]) && content)
            continue;
        content    = content || is_content(&e->message.parts[i]);
        parts[n++] = (uint32_t)i;
    }
    return n;
}

static void put_input(struct wj_writer *w, const struct upp_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(64 << 20);
    wj_write_open(w, '{');
    if (!p->media) {
        wj_put_str(w, "type", UPP_STR("input_text"));
        wj_put_str_or_empty(w, "text", p->text);
    } else {
        struct upp_str id;
        bool           image = p->kind == UPP_PART_IMAGE, file = wm_part_file(p, &id);
        int r = p->media->source == UPP_SOURCE_URL ? 0 : wd_data_url(p->media, wd_media_type(p->media), &url, w->err);
        if (r < 0)
            wj_writer_fail(w, r);
        wj_put_str(w, "type", image ? UPP_STR("input_image") : UPP_STR("input_file"));
        wj_put_str(w,
                   file                                 ? "file_id"
                   : image                              ? "image_url"
                   : p->media->source == UPP_SOURCE_URL ? "file_url"
                                                        : "file_data",
                   file                                 ? id
                   : p->media->source == UPP_SOURCE_URL ? p->media->data
                                                        : wb_buf_str(&url));
        if (image)
            wj_put_str(w, "detail", UPP_STR("auto"));
        else
            wj_put_str(w, "filename", p->media->title);
    }
    wj_write_close(w, '}');
}

static void put_user(struct wj_writer *w, const struct wl_line *line)
{
    wj_write_open(w, '{');
    sv_put_id(w, "id", "msg_", line->id);
    wj_put_str(w, "type", UPP_STR("message"));
    wj_put_str(w, "status", UPP_STR("completed"));
    wj_put_open(w, "content", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(&line->entry.message, p, UPP_PARTS_CONTENT));)
        put_input(w, p);
    wj_write_close(w, ']');
    wj_put_str(w, "role", UPP_STR("user"));
    wj_write_close(w, '}');
}

static void put_call(struct wj_writer *w, struct wb_uuid id, const struct upp_part *p)
{
    bool call = p->kind == UPP_PART_CALL;
    wj_write_open(w, '{');
    sv_put_id(w, "id", call ? "fc_" : "fco_", id);
    wj_put_str(w, "type", call ? UPP_STR("function_call") : UPP_STR("function_call_output"));
    wj_put_str(w, "status", p->cut ? UPP_STR("incomplete") : UPP_STR("completed"));
    wj_put_str(w, "call_id", p->id);
    if (call) {
        wj_put_str(w, "name", p->name);
        wj_put_str_or_empty(w, "arguments", p->text);
    } else
        wj_put_str(w, "output", p->text);
    wj_write_close(w, '}');
}

static void put_item(struct wj_writer *w, const struct item *i)
{
    const struct upp_message *m  = &i->line->entry.message;
    const struct upp_part    *p  = &m->parts[i->part];
    struct wb_uuid            id = wm_id_within(i->line->id, WM_NOUN_PART, i->part);
    if (p->kind == UPP_PART_REASONING)
        resp_reasoning_item(w, id, p->text, "completed");
    else if (p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
        put_call(w, id, p);
    else if (m->role == UPP_ROLE_USER)
        put_user(w, i->line);
    else
        resp_message_item(w, i->line->id, m, m->interrupted ? "incomplete" : "completed");
}

static void put_item_id(struct wj_writer *w, const char *name, const struct item *i)
{
    const struct upp_part *p = i ? &i->line->entry.message.parts[i->part] : NULL;
    wj_write_name(w, wb_cstr(name));
    if (!i)
        wj_write_null(w);
    else if (is_content(p))
        sv_write_id(w, "msg_", i->line->id);
    else
        sv_write_id(w,
                    p->kind == UPP_PART_REASONING ? "rs_"
                    : p->kind == UPP_PART_CALL    ? "fc_"
                                                  : "fco_",
                    wm_id_within(i->line->id, WM_NOUN_PART, i->part));
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

struct page {
    uint64_t     limit;
    bool         up;
    uint32_t     lo, hi; /* positions on the path that are left */
    struct wm_id after;  /* node 0: from the beginning */
    struct item *found;  /* limit + 1 */
    size_t       n;
};

static bool parse_item(struct upp_str id, struct wm_id *ret)
{
    size_t         at = wb_str_find(id, UPP_STR("_"), 0);
    struct wb_uuid u;
    return at < id.n && wl_id_parse(wb_str_sub(id, at + 1, SIZE_MAX), UPP_STR("msg_"), &u) && wm_id_parse(u, ret);
}

static int read_page(struct sv_exchange *x, const struct wl_path *path, struct page *p, struct upp_err *err)
{
    struct upp_str after;
    *p    = (struct page){.hi = path->length};
    int r = sv_read_limit(x, &p->limit, &p->up, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &after, err);
    if (r > 0) {
        bool known = parse_item(after, &p->after);
        for (size_t i = 0; known && i <= path->n; i++) {
            if (i == path->n)
                known = false;
            else if (path->spans[i].node == p->after.node && p->after.index < path->spans[i].length) {
                uint32_t at                = path->spans[i].before + p->after.index;
                *(p->up ? &p->lo : &p->hi) = p->up ? at : at + 1;
                break;
            }
        }
        if (!known)
            return upp_fail(err, UPP_EINVALID, "'after' names no item of this conversation: '%.*s'", UPP_FMT(after));
    }
    p->found = wb_new_n(&x->arena, struct item, p->limit + 1);
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

/* Is it behind the cursor, in the order of the list? */
static bool is_left(const struct page *p, const struct wl_line *line, uint32_t part)
{
    bool at = p->after.node && line->node == p->after.node && line->index == p->after.index;
    if (!at)
        return true;
    if (p->after.noun != WM_NOUN_PART) { /* the message: its first content part */
        uint32_t i = 0;
        while (i < line->entry.message.n_parts && !is_content(&line->entry.message.parts[i]))
            i++;
        return p->up ? part > i : part < i;
    }
    return p->up ? part > p->after.part : part < p->after.part;
}

static int take_line(struct sv_exchange *x, struct page *p, const struct wl_line *line, struct upp_err *err)
{
    size_t    max   = line->entry.kind == WM_ENTRY_MESSAGE ? line->entry.message.n_parts : 0;
    uint32_t *parts = wb_new_n(&x->arena, uint32_t, max + 1);
    if (!parts)
        return wb_arena_check(&x->arena, err);
    size_t n = items_of(line, parts, max);
    for (size_t i = 0; i < n && p->n <= p->limit; i++) {
        uint32_t part = parts[p->up ? i : n - 1 - i];
        if (is_left(p, line, part))
            p->found[p->n++] = (struct item){line, part};
    }
    return 0;
}

static int write_list(struct sv_exchange *x, const struct item *items, size_t n, bool more, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++)
        put_item(&w, &items[i]);
    wj_write_close(&w, ']');
    put_item_id(&w, "first_id", n ? &items[0] : NULL);
    put_item_id(&w, "last_id", n ? &items[n - 1] : NULL);
    wj_put_bool(&w, "has_more", more);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

WEFT_SUSPENDS static int list_items(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread t;
    struct wl_path   path;
    struct page      p;
    struct wl_line  *lines;
    size_t           got;
    int              r = find(x, &t, err);
    if (r >= 0)
        r = wl_thread_path(s, &x->owner, &t, &x->arena, &path, err);
    if (r >= 0)
        r = read_page(x, &path, &p, err);
    while (r >= 0 && p.lo < p.hi && p.n <= p.limit) {
        uint32_t n = WB_MIN(p.hi - p.lo, (uint32_t)BATCH);
        r          = wl_path_tail(s, &x->owner, &path, p.up ? p.lo + n : p.hi, n, &x->arena, &lines, &got, err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = take_line(x, &p, &lines[p.up ? i : got - 1 - i], err);
        p.lo += p.up ? n : 0;
        p.hi -= p.up ? 0 : n;
    }
    if (r < 0)
        return r;
    return write_list(x, p.found, WB_MIN(p.n, (size_t)p.limit), p.n > p.limit, err);
}

/* The part that begins the item of this id. false: the entry has none, as one that was deleted or that only models see.
 */
static bool choose_part(const struct wl_line *line, const struct wm_id *id, uint32_t *ret)
{
    const struct upp_message *m    = &line->entry.message;
    bool                      part = id->noun == WM_NOUN_PART;
    uint32_t                  any;
    if (!items_of(line, &any, 1) || (part && id->part >= m->n_parts))
        return false;
    for (*ret = part ? id->part : 0; !part && *ret + 1 < m->n_parts && !is_content(&m->parts[*ret]);)
        ++*ret;
    return true;
}

WEFT_SUSPENDS static int find_item(struct sv_exchange *x, struct wl_thread *t, struct item *ret, struct upp_err *err)
{
    struct wl_line *line = wb_new(&x->arena, struct wl_line);
    struct wl_path  path;
    struct wm_id    id, entry;
    int             r = line ? find(x, t, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_thread_path(x->server->opts.store, &x->owner, t, &x->arena, &path, err);
    bool known = r >= 0 && parse_item(x->params[1], &id), on_path = false;
    for (size_t i = 0; known && i < path.n; i++)
        on_path = on_path || (path.spans[i].node == id.node && id.index < path.spans[i].length);
    if (r >= 0 && !on_path)
        r = -UPP_ENOTFOUND;
    if (r >= 0) {
        entry      = id;
        entry.noun = WM_NOUN_ENTRY;
        entry.part = 0;
        r          = wl_entry_find(x->server->opts.store, &x->owner, wm_id_uuid(entry), &x->arena, line, err);
    }
    if (r == -UPP_ENOTFOUND || (r >= 0 && !choose_part(line, &id, &ret->part)))
        return upp_fail(err, UPP_ENOTFOUND, "no item '%.*s' in this conversation", UPP_FMT(x->params[1]));
    ret->line = line;
    return r;
}

WEFT_SUSPENDS static int get_item(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct item      i;
    struct wj_writer w;
    int              r = find_item(x, &t, &i, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    put_item(&w, &i);
    return sv_finish(x, &w);
}

/* Erases a message; the answer is the conversation. */
WEFT_SUSPENDS static int delete_item(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct item      i;
    int              r = find_item(x, &t, &i, err);
    if (r >= 0)
        r = sv_aitp_may_write(x, &t, err);
    if (r >= 0 && !is_content(&i.line->entry.message.parts[i.part]))
        return upp_fail(err, UPP_EREFUSED, "only messages are deleted: calls, results and reasoning stay with theirs");
    if (r >= 0)
        r = wl_message_delete(x->server->opts.store, &x->owner, &t, i.line->id, UPP_STR("deleted"), err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    return r < 0 ? r : answer(x, &t, err);
}

/* The list of entries that were appended at `index`. */
static int answer_created(struct sv_exchange *x, const struct wl_thread *t, const struct sv_entries *e, uint32_t index,
                          struct upp_err *err)
{
    struct wl_line *lines = wb_new_n(&x->arena, struct wl_line, e->n + 1);
    struct page     p     = {.up = true};
    for (size_t i = 0; i < e->n; i++)
        p.limit += e->p[i].message.n_parts;
    p.found = wb_new_n(&x->arena, struct item, p.limit + 1);
    int r   = wb_arena_check(&x->arena, err);
    for (size_t i = 0; r >= 0 && i < e->n; i++) {
        lines[i]    = (struct wl_line){.node = t->head, .index = index + (uint32_t)i, .entry = e->p[i]};
        lines[i].id = wm_id_uuid((struct wm_id){
            .node = t->head, .index = lines[i].index, .noun = WM_NOUN_ENTRY, .attempt = e->p[i].attempt});
        r           = take_line(x, &p, &lines[i], err);
    }
    return r < 0 ? r : write_list(x, p.found, p.n, false, err);
}

WEFT_SUSPENDS static int create_items(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"items", NULL};
    struct sv_items          items;
    struct sv_body           b;
    struct wl_thread         t;
    uint32_t                 index = 0;
    int                      r     = find(x, &t, err);
    if (r >= 0)
        r = sv_aitp_may_write(x, &t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_items(x, &b, &items, err);
    if (r >= 0)
        r = sv_aitp_attribute(x, &t, &items.messages.list, err);
    if (r >= 0 && items.messages.list.n)
        r = wl_append(x->server->opts.store, &x->owner, &t, items.messages.list.p, items.messages.list.n, &index, err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    return r < 0 ? r : answer_created(x, &t, &items.messages.list, index, err);
}

static const struct sv_route rows[] = {
    {SV_POST, "/v1/conversations", create, 0, 0},
    {SV_GET, "/v1/conversations/{c}", get_conversation, 0, 0},
    {SV_POST, "/v1/conversations/{c}", update, 0, 0},
    {SV_DELETE, "/v1/conversations/{c}", delete_conversation, 0, 0},
    {SV_GET, "/v1/conversations/{c}/items", list_items, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/conversations/{c}/items", create_items, 0, 0},
    {SV_GET, "/v1/conversations/{c}/items/{i}", get_item, 0, 0},
    {SV_DELETE, "/v1/conversations/{c}/items/{i}", delete_item, 0, 0},
};
const struct sv_door sv_door_conversations = {
    .name = "conversations", .prefix = "/v1/conversations", .routes = rows, .n_routes = WB_LEN(rows), .agents = true};
