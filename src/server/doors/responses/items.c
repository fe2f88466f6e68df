/* server/doors/responses/items.c — reads the items of `input`: messages, calls, outputs, approvals and references. */
#include "server/doors/responses/responses.h"

#include "base/defs.h"
#include "dialects/core/data_url.h"
#include "json/value.h"
#include "log/change.h"
#include "log/log.h"
#include "model/file_url.h"
#include "model/id.h"
#include "server/doors/objects/message_files.h"
#include "server/http/server.h"

enum { PARTS_MAX = 1024 };

struct reading {
    struct sv_conversation_building b;
    struct sv_items *to;
    bool waits;
};

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

static int read_media(struct reading *rd, yyjson_val *v, const char *member, uint8_t kind, struct upp_part *ret,
                      struct upp_err *err)
{
    struct upp_str data = {NULL, 0}, name = {NULL, 0}, id;
    int r = sv_body_str(rd->b.body, v, wb_cstr(member), &data, err);
    if (r >= 0)
        r = sv_body_str(rd->b.body, v, UPP_STR("filename"), &name, err) < 0 ? -UPP_EINVALID : r;
    if (r < 0)
        return r;
    if (!data.n) {
        r = sv_read_file(rd->b.body, v, kind, &rd->b.x->arena, ret, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (!data.n || wm_file_url(data, &id))
        return sv_body_wrong(rd->b.body, v, err, "this part needs '%s' or 'file_id', a string", member);
    r = wd_url_media(&rd->b.x->arena, data, (struct upp_str){NULL, 0}, name, ret, err);
    if (r >= 0 && ret->media->source == UPP_SOURCE_URL)
        ret->kind = kind; /* an address does not tell */
    return r;
}

static int read_part(struct reading *rd, yyjson_val *v, struct upp_part *ret, struct upp_err *err)
{
    static const struct upp_str texts[] = {UPP_STR_INIT("input_text"), UPP_STR_INIT("output_text"),
                                           UPP_STR_INIT("text"), UPP_STR_INIT("refusal")};
    struct upp_str type = {NULL, 0}, text = {NULL, 0};
    char shown[WJ_QUOTED];
    if (!yyjson_is_obj(v))
        return sv_body_wrong(rd->b.body, v, err, "a part of a content is an object");
    int r = sv_body_str(rd->b.body, v, UPP_STR("type"), &type, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(texts); i++) {
        if (!wb_str_eq(type, texts[i]))
            continue;
        r = sv_body_str(rd->b.body, v, i == 3 ? texts[i] : UPP_STR("text"), &text, err);
        if (r == 0)
            return sv_body_wrong(rd->b.body, v, err, "a text part needs its text, a string");
        *ret = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
        return r < 0 ? r : 0;
    }
    if (r < 0)
        return r;
    if (wb_str_eq(type, UPP_STR("input_image")))
        return read_media(rd, v, "image_url", UPP_PART_IMAGE, ret, err);
    if (wb_str_eq(type, UPP_STR("input_file")))
        return read_media(rd, v, sv_member(v, UPP_STR("file_url")) ? "file_url" : "file_data", UPP_PART_DOCUMENT, ret,
                          err);
    yyjson_val *at = sv_member(v, UPP_STR("type"));
    return sv_body_wrong(rd->b.body, at ? at : v, err, "a part of type %s is not taken here",
                         type.p ? wj_quote(type, shown, sizeof shown) : "none");
}

/* A string, or parts. */
static int read_content(struct reading *rd, yyjson_val *at, yyjson_val *content, struct upp_message *m,
                        struct upp_err *err)
{
    bool string = yyjson_is_str(content);
    size_t i, max, n = string ? 1 : yyjson_arr_size(content);
    yyjson_val *part;
    if (!n || n > PARTS_MAX)
        return sv_body_wrong(rd->b.body, content ? content : at, err, "a content is a string or 1 to %d parts",
                             PARTS_MAX);
    m->parts = wb_new_n(&rd->b.x->arena, struct upp_part, n);
    if (!m->parts)
        return wb_arena_check(&rd->b.x->arena, err);
    m->n_parts = n;
    if (string)
        m->parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(content)};
    yyjson_arr_foreach(content, i, max, part)
    {
        int r = read_part(rd, part, &m->parts[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

static int read_message(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    struct upp_message m = {0};
    struct upp_str role = {NULL, 0};
    yyjson_val *at = sv_member(v, UPP_STR("role"));
    int r = sv_body_str(rd->b.body, v, UPP_STR("role"), &role, err);
    if (r < 0)
        return r;
    bool system = wb_str_eq(role, UPP_STR("system")) || wb_str_eq(role, UPP_STR("developer"));
    m.role = system || wb_str_eq(role, UPP_STR("user")) ? UPP_ROLE_USER
             : wb_str_eq(role, UPP_STR("assistant"))    ? UPP_ROLE_ASSISTANT
                                                        : 0;
    if (!m.role)
        return sv_body_wrong(rd->b.body, at ? at : v, err, "the role is user, assistant, system or developer");
    r = read_content(rd, v, sv_member(v, UPP_STR("content")), &m, err);
    if (r < 0)
        return r;
    return system ? sv_conversation_push_system(&rd->b, v, &m, err)
                  : sv_conversation_push(&rd->b, v, m.role, m.parts, m.n_parts, err);
}

static int read_call(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    struct upp_part *call = wb_new(&rd->b.x->arena, struct upp_part);
    if (!call)
        return wb_arena_check(&rd->b.x->arena, err);
    *call = (struct upp_part){.kind = UPP_PART_CALL};
    int r = sv_body_str(rd->b.body, v, UPP_STR("call_id"), &call->id, err);
    if (r > 0)
        r = sv_body_str(rd->b.body, v, UPP_STR("name"), &call->name, err);
    if (r > 0)
        r = sv_body_str(rd->b.body, v, UPP_STR("arguments"), &call->text, err);
    if (r == 0)
        return sv_body_wrong(rd->b.body, v, err, "a function_call has call_id, name and arguments");
    if (r < 0 || rd->waits)
        return r; /* the run knows its calls */
    return sv_conversation_push(&rd->b, v, UPP_ROLE_ASSISTANT, call, 1, err);
}

static int add_answer(struct reading *rd, yyjson_val *v, const struct wr_answer *a, struct upp_err *err)
{
    struct sv_answers *to = &rd->to->answers;
    if (to->n == SV_ANSWERS_MAX)
        return sv_body_wrong(rd->b.body, v, err, "at most %d outputs and approvals in one request", SV_ANSWERS_MAX);
    if (!to->p)
        to->p = wb_new_n(&rd->b.x->arena, struct wr_answer, SV_ANSWERS_MAX);
    if (!to->p)
        return wb_arena_check(&rd->b.x->arena, err);
    to->p[to->n++] = *a;
    return 0;
}

static int read_output(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SV_MAX_BODY);
    struct upp_message m = {0};
    struct upp_str call = {NULL, 0};
    struct upp_part *result = wb_new(&rd->b.x->arena, struct upp_part);
    if (!result)
        return wb_arena_check(&rd->b.x->arena, err);
    int r = sv_body_str(rd->b.body, v, UPP_STR("call_id"), &call, err);
    if (r == 0)
        return sv_body_wrong(rd->b.body, v, err, "a function_call_output needs a call_id");
    if (r >= 0)
        r = read_content(rd, v, sv_member(v, UPP_STR("output")), &m, err);
    if (r >= 0)
        r = sv_conversation_text(&text, &m, err);
    if (r >= 0)
        r = sv_conversation_result(&rd->b.x->arena, call, wb_buf_str(&text), result, err);
    if (r < 0)
        return r;
    return rd->waits ? add_answer(rd, v, &(struct wr_answer){.call = call, .result = result->text}, err)
                     : sv_conversation_push(&rd->b, v, UPP_ROLE_TOOL, result, 1, err);
}

static int read_approval(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    static const struct upp_str prefix = UPP_STR_INIT("mcpr_");
    struct wr_answer a = {0};
    struct upp_str id = {NULL, 0};
    int r = sv_body_str(rd->b.body, v, UPP_STR("approval_request_id"), &id, err);
    if (r > 0)
        r = sv_body_bool(rd->b.body, v, UPP_STR("approve"), &a.approved, err);
    if (r == 0)
        return sv_body_wrong(rd->b.body, v, err, "an approval has approval_request_id and approve");
    if (r > 0)
        r = sv_body_str(rd->b.body, v, UPP_STR("reason"), &a.reason, err);
    if (r < 0)
        return r;
    a.call = wb_str_starts(id, prefix) ? wb_str_sub(id, prefix.n, SIZE_MAX) : id;
    if (a.approved)
        a.reason = (struct upp_str){NULL, 0};
    return add_answer(rd, v, &a, err);
}

/* ---- References -------------------------------------------------------------------------------------------------- */

/* The entry that the id of an item leads to, in both spellings: of a stream, with the id of a call, and of a list. */
static bool item_entry(struct upp_str id, struct wb_uuid *entry, uint32_t *part)
{
    size_t at = wb_str_find(id, UPP_STR("_"), 0);
    struct wm_id place;
    *part = UINT32_MAX; /* all of its text */
    if (at < id.n && sv_call_entry(wb_str_sub(id, at + 1, SIZE_MAX), entry, part))
        return true;
    if (!sv_item_parse(id, &place))
        return false;
    if (place.noun == WM_NOUN_PART)
        *part = place.part;
    *entry = wm_id_within(wm_id_uuid(place), WM_NOUN_ENTRY, 0);
    return true;
}

/* Has the client a thread in the node's tree? -UPP_ENOTFOUND: no. */
WEFT_SUSPENDS static int find_own_thread(struct sv_exchange *x, uint64_t node, struct upp_err *err)
{
    enum { PAGE = 64 };
    struct wl_store *s = x->server->opts.store;
    struct wl_node of;
    struct wl_thread *page;
    struct wb_uuid after = {{0}};
    size_t n = PAGE;
    int r = wl_get_node(s, &x->owner, node, &of, err);
    while (r >= 0 && n == PAGE) {
        r = wl_list_family_threads(s, &x->owner, wl_family(of.tree), after, PAGE, &x->arena, &page, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            if (wb_uuid_eq(page[i].tree, of.tree) && wb_str_eq(page[i].owner.user, x->owner.user))
                return 0;
        if (n)
            after = page[n - 1].id;
    }
    return r < 0 ? r : -UPP_ENOTFOUND;
}

/* The thread of the run that wrote an entry is the client's. */
WEFT_SUSPENDS static int check_run(struct sv_exchange *x, struct wb_uuid id, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread t;
    struct wm_run run;
    int r = wl_get_run(s, &x->owner, id, &x->arena, &run, err);
    if (r >= 0)
        r = wl_get_thread(s, &x->owner, run.thread, &x->arena, &t, err);
    return r >= 0 && !wb_str_eq(t.owner.user, x->owner.user) ? -UPP_ENOTFOUND : r;
}

/* Reads an entry of a thread of this client. What was posted or imported has no run. */
WEFT_SUSPENDS static int find_entry(struct sv_exchange *x, struct wb_uuid id, struct wl_line *ret, struct upp_err *err)
{
    int r = wl_entry_find(x->server->opts.store, &x->owner, id, &x->arena, ret, err);
    if (r >= 0)
        r = wb_uuid_is_nil(ret->run) ? find_own_thread(x, ret->node, err) : check_run(x, ret->run, err);
    if (r >= 0 &&
        (ret->entry.kind != WM_ENTRY_MESSAGE || ret->entry.audience != WM_AUDIENCE_ALL || wm_is_erased(&ret->entry)))
        r = -UPP_ENOTFOUND;
    return r;
}

/* The text of a message, or one call or result: what the item of this id has. 1; 0: nothing. */
static int copy_item(struct reading *rd, const struct upp_message *m, uint32_t part, struct upp_part **ret, size_t *n,
                     struct upp_err *err)
{
    *n = 0;
    *ret = wb_new_n(&rd->b.x->arena, struct upp_part, m->n_parts + 1);
    if (!*ret)
        return wb_arena_check(&rd->b.x->arena, err);
    for (size_t i = 0; i < m->n_parts; i++) {
        uint8_t kind = m->parts[i].kind;
        bool call = kind == UPP_PART_CALL || kind == UPP_PART_RESULT;
        if (part == UINT32_MAX ? kind != UPP_PART_TEXT && !m->parts[i].media : i != part || !call)
            continue;
        struct upp_part *to = &(*ret)[(*n)++];
        *to = m->parts[i];
        to->metadata = (struct upp_str){NULL, 0}; /* a client says it once more: it is its own */
        if (kind == UPP_PART_CALL && !to->text.n)
            to->text = UPP_STR("{}");
    }
    return *n > 0;
}

/* An item that was sent or received before. Of those that only the server knows nothing is read. */
WEFT_SUSPENDS static int read_reference(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    struct upp_str id = {NULL, 0};
    struct upp_part *parts;
    struct wb_uuid entry;
    struct wl_line line;
    uint32_t part;
    size_t n = 0;
    int r = sv_body_str(rd->b.body, v, UPP_STR("id"), &id, err);
    if (r == 0)
        return sv_body_wrong(rd->b.body, v, err, "an item_reference has the id of an item");
    if (r < 0 || wb_str_starts(id, UPP_STR("rs_")) || wb_str_starts(id, UPP_STR("mcp_")) ||
        wb_str_starts(id, UPP_STR("mcpr_")))
        return r < 0 ? r : 0;
    if (rd->waits && !wb_str_starts(id, UPP_STR("msg_")))
        return 0; /* the run knows its calls */
    r = item_entry(id, &entry, &part) ? find_entry(rd->b.x, entry, &line, err) : -UPP_ENOTFOUND;
    if (r >= 0)
        r = copy_item(rd, &line.entry.message, part, &parts, &n, err);
    if (r == 0 || r == -UPP_ENOTFOUND)
        return sv_body_wrong(rd->b.body, v, err, "no item '%.*s'", UPP_FMT(id));
    return r < 0 ? r : sv_conversation_push(&rd->b, v, line.entry.message.role, parts, n, err);
}

/* Only the server knows what they are. */
static int skip(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    (void)rd, (void)v, (void)err;
    return 0;
}

static const struct kind {
    struct upp_str type;
    WEFT_SUSPENDS int (*read)(struct reading *rd, yyjson_val *v, struct upp_err *err);
} kinds[] = {
    {UPP_STR_INIT("message"), read_message},
    {UPP_STR_INIT("function_call"), read_call},
    {UPP_STR_INIT("function_call_output"), read_output},
    {UPP_STR_INIT("mcp_approval_response"), read_approval},
    {UPP_STR_INIT("item_reference"), read_reference},
    {UPP_STR_INIT("reasoning"), skip},
    {UPP_STR_INIT("mcp_call"), skip},
    {UPP_STR_INIT("mcp_list_tools"), skip},
    {UPP_STR_INIT("mcp_approval_request"), skip},
};

WEFT_SUSPENDS static int read_item(struct reading *rd, yyjson_val *v, struct upp_err *err)
{
    struct upp_str type = UPP_STR("message");
    yyjson_val *at = sv_member(v, UPP_STR("type"));
    if (yyjson_is_obj(v) && (!at || yyjson_is_null(at)) && !sv_member(v, UPP_STR("role")) &&
        sv_member(v, UPP_STR("id")))
        type = UPP_STR("item_reference"); /* its type may be left out */
    if (!yyjson_is_obj(v))
        return sv_body_wrong(rd->b.body, v, err, "an item is an object");
    int r = sv_body_str(rd->b.body, v, UPP_STR("type"), &type, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(kinds); i++)
        if (wb_str_eq(type, kinds[i].type))
            return kinds[i].read(rd, v, err);
    return r < 0 ? r : sv_body_wrong(rd->b.body, at, err, "an item of type '%.*s' is not taken here", UPP_FMT(type));
}

WEFT_SUSPENDS static int read_list(struct reading *rd, yyjson_val *list, struct upp_err *err)
{
    struct upp_part *text;
    yyjson_val *v;
    size_t i, max;
    if (yyjson_is_str(list)) {
        text = wb_new(&rd->b.x->arena, struct upp_part);
        if (!text)
            return wb_arena_check(&rd->b.x->arena, err);
        *text = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(list)};
        int r = sv_conversation_push(&rd->b, list, UPP_ROLE_USER, text, 1, err);
        return r < 0 ? r : sv_conversation_end(&rd->b, list, err);
    }
    yyjson_arr_foreach(list, i, max, v)
    {
        int r = read_item(rd, v, err);
        if (r < 0)
            return r;
    }
    return sv_conversation_end(&rd->b, list, err);
}

struct upp_str sv_items_first_output(const struct sv_body *b)
{
    yyjson_val *list = sv_member(b->root, UPP_STR("input")), *v;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, v)
    {
        if (wb_str_eq(wj_text_of(sv_member(v, UPP_STR("type"))), UPP_STR("function_call_output")))
            return wj_text_of(sv_member(v, UPP_STR("call_id")));
    }
    return (struct upp_str){NULL, 0};
}

int sv_items_read(struct sv_exchange *x, const struct sv_body *b, const char *name, const struct wr_agent_def *agent,
                  const struct sv_conversation_place *place, struct sv_items *ret, struct upp_err *err)
{
    struct reading rd = {.to = ret, .waits = place && !wb_uuid_is_nil(place->waits)};
    yyjson_val *list = sv_member(b->root, wb_cstr(name));
    size_t n = yyjson_is_str(list) ? 1 : yyjson_arr_size(list);
    *ret = (struct sv_items){0};
    if (!n || n > SV_CONVERSATION_MAX)
        return sv_body_wrong(b, list ? list : b->root, err, "'%s' is a text or a list of 1 to %d items", name,
                             SV_CONVERSATION_MAX);
    int r = sv_conversation_begin(&rd.b, x, b, agent, n, &ret->messages, err);
    rd.b.calls = place ? place->calls : NULL;
    if (r >= 0)
        r = read_list(&rd, list, err);
    sv_conversation_done(&rd.b);
    return r;
}
