/* server/doors/responses/conversations.c — /v1/conversations: threads in the words of the Responses API. */
#include "server/doors/responses/responses.h"

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/value.h"
#include "log/change.h"
#include "log/log.h"
#include "model/id.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/objects/thread.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { TRIES = 16 };

static int answer(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct upp_str metadata = t->metadata.n ? t->metadata : UPP_STR("{}");
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    asst_put_id(&w, "id", "conv_", t->id);
    wj_put_str(&w, "object", UPP_STR("conversation"));
    wj_put_i64(&w, "created_at", t->created_ms / 1000);
    wj_put_raw(&w, "metadata", metadata.p, metadata.n);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

int sv_conversation_find(struct sv_exchange *x, struct upp_str id, struct wl_thread *ret, struct upp_err *err)
{
    char name[WB_UUID_TEXT + 1];
    struct wb_uuid uuid;
    struct upp_str thread = wl_id_parse(id, UPP_STR("conv_"), &uuid) ? wb_uuid_text(uuid, name) : id;
    int r = wl_thread_find(x->server->opts.store, &x->owner, thread, &x->arena, ret, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "no conversation '%.*s'", UPP_FMT(id)) : r;
}

WEFT_SUSPENDS static int find_conversation(struct sv_exchange *x, struct wl_thread *ret, struct upp_err *err)
{
    return sv_conversation_find(x, x->params[0], ret, err);
}

/* Reads `items`; system messages have no place in a conversation here. */
WEFT_SUSPENDS static int read_items(struct sv_exchange *x, const struct sv_body *b, struct sv_items *ret,
                                    struct upp_err *err)
{
    const struct wr_agent_def *agent = wr_agent(x->core->engine, (struct upp_str){NULL, 0});
    yyjson_val *list = sv_member(b->root, UPP_STR("items"));
    if (yyjson_is_arr(list) && !yyjson_arr_size(list)) {
        *ret = (struct sv_items){0};
        return 0;
    }
    int r = sv_items_read(x, b, "items", agent, NULL, ret, err);
    if (r >= 0 && ret->answers.n)
        r = sv_body_wrong(b, list, err, "approvals are for a response that waits: POST /v1/responses");
    if (r >= 0 && ret->messages.system)
        r = sv_body_wrong(b, ret->messages.system, err,
                          "a conversation has no system messages: the prompt is the agent's, or `instructions`");
    return r < 0 ? r : sv_check_files(x, b, list, ret->messages.list.p, 0, ret->messages.list.n, err);
}

WEFT_SUSPENDS static int make(struct sv_exchange *x, struct wl_store *s, struct wl_thread *ret, struct upp_err *err)
{
    static const char *const known[] = {"items", "metadata", NULL};
    struct wl_thread_opts opts = {.size = sizeof opts};
    struct sv_items items = {0};
    yyjson_val *metadata = NULL;
    struct sv_body b;
    int r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_body_object(&b, b.root, UPP_STR("metadata"), &metadata, err);
    if (r >= 0)
        r = sv_body_text(&x->arena, metadata, &opts.metadata, err);
    if (r >= 0 && sv_member(b.root, UPP_STR("items")))
        r = read_items(x, &b, &items, err);
    return r < 0 ? r
                 : wl_thread_new_with(s, &x->owner, &opts, items.messages.list.p, items.messages.list.n, &x->arena, ret,
                                      err);
}

WEFT_SUSPENDS static int create(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_keyed k;
    struct wl_thread t;
    int r = sv_keyed_begin(x, SV_MAKES_THREAD, &k, err);
    if (r == 0)
        r = make(x, &k.store, &t, err);
    r = sv_keyed_thread(&k, r, &t, err);
    return r < 0 ? r : answer(x, &t, err);
}

WEFT_SUSPENDS static int get_conversation(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    int r = find_conversation(x, &t, err);
    return r < 0 ? r : answer(x, &t, err);
}

/* Others may write at the same time: read, set, and once more if somebody else was first. */
WEFT_SUSPENDS static int update(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"metadata", NULL};
    struct upp_str metadata;
    struct wl_thread t;
    struct sv_body b;
    int r = sv_body_read(x, known, &b, err);
    for (unsigned i = 0; r >= 0 && i < TRIES; i++) {
        r = find_conversation(x, &t, err);
        if (r >= 0)
            r = sv_read_thread_metadata(x, &b, b.root, &t, &metadata, NULL, err);
        if (r == 0)
            return sv_body_wrong(&b, b.root, err, "a conversation is updated with 'metadata', an object");
        if (r > 0 && (r = sv_may_write(x, &t, err)) >= 0)
            r = wl_thread_set(x->server->opts.store, &x->owner, &t, metadata, err);
        if (r == 0)
            return answer(x, &t, err);
    }
    return r < 0 ? r : upp_fail(err, UPP_EBUSY, "somebody else was first, %d times", TRIES);
}

WEFT_SUSPENDS static int delete_here(struct sv_exchange *x, struct upp_err *err)
{
    const struct wl_thread *t = x->thread;
    struct wj_writer w;
    int r = wr_thread_delete(x->core->engine, &x->owner, t, NULL, err);
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    asst_put_id(&w, "id", "conv_", t->id);
    wj_put_str(&w, "object", UPP_STR("conversation.deleted"));
    wj_put_bool(&w, "deleted", true);
    wj_write_close(&w, '}');
    return r < 0 ? r : sv_finish(x, &w);
}

WEFT_SUSPENDS static int delete_conversation(struct sv_exchange *x, struct upp_err *err)
{
    x->thread = wb_new(&x->arena, struct wl_thread);
    int r = x->thread ? find_conversation(x, x->thread, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = sv_may_write(x, x->thread, err);
    return r < 0 ? r
                 : sv_core_run(&x->server->cores[wr_home(x->thread->tree, x->server->n_cores)], x, delete_here, err);
}

WEFT_SUSPENDS static int list_items(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct wl_path path;
    int r = find_conversation(x, &t, err);
    if (r >= 0)
        r = wl_thread_path(x->server->opts.store, &x->owner, &t, &x->arena, &path, err);
    return r < 0 ? r : sv_items_list(x, &path, err);
}

/* The part that begins the item of this id. false: the entry has none, as one that was deleted or that only models see.
 */
static bool choose_part(const struct wl_line *line, const struct wm_id *id, uint32_t *ret)
{
    const struct upp_message *m = &line->entry.message;
    bool part = id->noun == WM_NOUN_PART;
    uint32_t any;
    if (!sv_items_of(line, &any, 1) || (part && id->part >= m->n_parts))
        return false;
    for (*ret = part ? id->part : 0; !part && *ret + 1 < m->n_parts && !sv_item_is_content(&m->parts[*ret]);)
        ++*ret;
    return true;
}

WEFT_SUSPENDS static int find_item(struct sv_exchange *x, struct wl_thread *t, struct sv_item *ret, struct upp_err *err)
{
    struct wl_line *line = wb_new(&x->arena, struct wl_line);
    struct wl_path path;
    struct wm_id id, entry;
    int r = line ? find_conversation(x, t, err) : wb_arena_check(&x->arena, err);
    if (r >= 0)
        r = wl_thread_path(x->server->opts.store, &x->owner, t, &x->arena, &path, err);
    bool known = r >= 0 && sv_item_parse(x->params[1], &id), on_path = false;
    for (size_t i = 0; known && i < path.n; i++)
        on_path = on_path || (path.spans[i].node == id.node && id.index < path.spans[i].length);
    if (r >= 0 && !on_path)
        r = -UPP_ENOTFOUND;
    if (r >= 0) {
        entry = id;
        entry.noun = WM_NOUN_ENTRY;
        entry.part = 0;
        r = wl_entry_find(x->server->opts.store, &x->owner, wm_id_uuid(entry), &x->arena, line, err);
    }
    if (r == -UPP_ENOTFOUND || (r >= 0 && !choose_part(line, &id, &ret->part)))
        return upp_fail(err, UPP_ENOTFOUND, "no item '%.*s' in this conversation", UPP_FMT(x->params[1]));
    ret->line = line;
    return r;
}

WEFT_SUSPENDS static int get_item(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct sv_item i;
    struct wj_writer w;
    int r = find_item(x, &t, &i, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_item_put(&w, &i);
    return sv_finish(x, &w);
}

/* Erases a message; the answer is the conversation. */
WEFT_SUSPENDS static int delete_item(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_thread t;
    struct sv_item i;
    int r = find_item(x, &t, &i, err);
    if (r >= 0)
        r = sv_may_write(x, &t, err);
    if (r >= 0 && !sv_item_is_content(&i.line->entry.message.parts[i.part]))
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
    struct sv_item_page p = {.up = true};
    for (size_t i = 0; i < e->n; i++)
        p.limit += e->p[i].message.n_parts;
    p.found = wb_new_n(&x->arena, struct sv_item, p.limit + 1);
    int r = wb_arena_check(&x->arena, err);
    for (size_t i = 0; r >= 0 && i < e->n; i++) {
        lines[i] = (struct wl_line){.node = t->head, .index = index + (uint32_t)i, .entry = e->p[i]};
        lines[i].id = wm_id_uuid((struct wm_id){
            .node = t->head, .index = lines[i].index, .noun = WM_NOUN_ENTRY, .attempt = e->p[i].attempt});
        r = sv_item_take(x, &p, &lines[i], err);
    }
    return r < 0 ? r : sv_items_write(x, p.found, p.n, false, err);
}

WEFT_SUSPENDS static int create_items(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"items", NULL};
    struct sv_items items;
    struct sv_body b;
    struct wl_thread t;
    uint32_t index = 0;
    struct sv_keyed k;
    struct wm_id first;
    int r = find_conversation(x, &t, err);
    if (r >= 0)
        r = sv_may_write(x, &t, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = read_items(x, &b, &items, err);
    if (r >= 0)
        r = sv_members_attribute(x, &t, &items.messages.list, err);
    if (r >= 0)
        r = sv_keyed_begin(x, SV_MAKES_ENTRIES, &k, err);
    if (r == 0 && items.messages.list.n) {
        r = wl_append(&k.store, &x->owner, &t, items.messages.list.p, items.messages.list.n, &index, err);
        r = sv_keyed_end(&k, r, err);
    }
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    if (r > 0 && wm_id_parse(k.object, &first)) { /* the items are those of this request */
        t.head = first.node;
        index = first.index;
    }
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
