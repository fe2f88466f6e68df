/* server/doors/v1/entries.c — entries of the log as GET /v1/threads/{t}/entries shows them: messages with all their
 * parts (reasoning, calls, results), and what happened between them. A user interface needs these; the objects of the
 * Assistants API have only text and images.
 *
 * POST /v1/threads/{t}/events adds a system event of the client's application, as ThreadProtocol has it:
 * {"event_type": "state.update", "event_data": ..., "target_agents": [...]}. Only types of applications are taken:
 * those of the server (handoffs, grants of tools, who joined) say what has happened, and nobody may claim it.
 */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/read.h"
#include "json/write.h"
#include "log/note.h"
#include "model/upp_json.h"
#include "server/doors/keyed.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/routes.h"
#include "server/http/body.h"
#include "server/http/server.h"
#include "server/members/members.h"

enum { RESULT_ARENA = 80u << 20 };

struct upp_str sv_role_name(uint8_t role)
{
    static const struct upp_str names[] = {[UPP_ROLE_USER] = UPP_STR_INIT("user"),
                                           [UPP_ROLE_ASSISTANT] = UPP_STR_INIT("assistant"),
                                           [UPP_ROLE_TOOL] = UPP_STR_INIT("tool")};
    return role < WB_LEN(names) ? names[role] : (struct upp_str){NULL, 0};
}

/* A result that is not JSON is written as a string: what a tool has written must not make its thread unreadable. */
static void write_result(struct wj_writer *w, const struct upp_part *p)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RESULT_ARENA);
    yyjson_val *v = NULL;
    wj_write_open(w, '{');
    wj_put_str(w, "toolCallId", p->id.p ? p->id : UPP_STR(""));
    if (p->text.p && wj_read(&a, p->text, NULL, &v, NULL) >= 0)
        wj_put_value(w, "result", v);
    else
        wj_put_str(w, "result", p->text);
    wj_put_bool(w, "isError", p->is_error);
    wj_write_close(w, '}');
}

static void put_parts(struct wj_writer *w, const struct upp_message *m)
{
    wj_put_open(w, "parts", '[');
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_RESULT)
            write_result(w, &m->parts[i]);
        else
            wm_part_write(w, &m->parts[i]);
    wj_write_close(w, ']');
}

bool sv_is_entry(const struct wl_line *line)
{
    return line->entry.kind != WM_ENTRY_TURN && !wm_is_hidden(&line->entry);
}

void sv_write_entry(struct wj_writer *w, struct wb_uuid node, const struct wl_line *line)
{
    static const char *const types[] = {
        [WM_ENTRY_MESSAGE] = "message", [WM_ENTRY_EVENT] = "event", [WM_ENTRY_REPAIR] = "repair"};
    static const char *const origins[] = {
        [WM_ORIGIN_RUN] = "run", [WM_ORIGIN_CLIENT] = "client", [WM_ORIGIN_IMPORT] = "import"};
    const struct wm_entry *e = &line->entry;
    char id[WB_UUID_TEXT + 1];
    wj_write_open(w, '{');
    asst_put_id(w, "id", "msg_", line->id);
    wj_put_str(w, "object", UPP_STR("thread.entry"));
    wj_put_str(w, "type", e->kind < WB_LEN(types) && types[e->kind] ? wb_cstr(types[e->kind]) : UPP_STR("other"));
    wj_put_str(w, "role", sv_role_name(e->kind == WM_ENTRY_EVENT ? 0 : e->message.role));
    wj_put_str(w, "origin",
               e->origin < WB_LEN(origins) && origins[e->origin] ? wb_cstr(origins[e->origin]) : UPP_STR("client"));
    wj_put_i64(w, "created_at", e->message.time_ms / 1000);
    wj_put_i64(w, "time_ms", e->message.time_ms);
    wj_put_str(w, "agent", e->who.n ? e->who : (struct upp_str){NULL, 0});
    asst_put_id(w, "run_id", "run_", line->run);
    wj_put_u64(w, "step", e->step);
    wj_put_str(w, "phase", e->phase.n ? e->phase : (struct upp_str){NULL, 0});
    wj_put_str(w, "status", e->message.interrupted ? UPP_STR("incomplete") : UPP_STR("completed"));
    wj_put_bool(w, "internal", e->audience != WM_AUDIENCE_ALL);
    wj_put_bool(w, "deleted", wm_is_erased(e));
    wj_put_str(w, "node_id", wb_uuid_text(node, id));
    wj_put_u64(w, "index", line->index);
    if (e->kind == WM_ENTRY_EVENT)
        wj_put_raw(w, "event", e->data.n ? e->data.p : "{}", e->data.n ? e->data.n : 2);
    else
        put_parts(w, &e->message);
    wj_write_close(w, '}');
}

enum { TYPE_MAX = 128, DATA_MAX = 256 << 10, TARGETS_MAX = 64 };

static bool is_of_application(struct upp_str type)
{
    static const char *const prefixes[] = {"state.", "ui.", "context.", "app."};
    for (size_t i = 0; i < WB_LEN(prefixes); i++)
        if (wb_str_starts(type, wb_cstr(prefixes[i])) && type.n > strlen(prefixes[i]))
            return true;
    return false;
}

static int read_type(const struct sv_body *b, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *at = sv_member(b->root, UPP_STR("event_type"));
    int r = sv_body_str(b, b->root, UPP_STR("event_type"), ret, err);
    if (r < 0)
        return r;
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "event_type is missing");
    if (ret->n > TYPE_MAX)
        return sv_body_wrong(b, at, err, "an event_type has at most %d bytes", TYPE_MAX);
    return is_of_application(*ret) ? 0
                                   : sv_body_wrong(b, at, err,
                                                   "an event_type of a client begins with 'state.', 'ui.', 'context.' "
                                                   "or 'app.': others are the server's");
}

static int read_targets(const struct sv_body *b, yyjson_val **ret, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, n;
    *ret = NULL;
    int r = sv_body_array(b, b->root, UPP_STR("target_agents"), ret, err);
    if (r > 0 && yyjson_arr_size(*ret) > TARGETS_MAX)
        return sv_body_wrong(b, *ret, err, "an event has at most %d target_agents", TARGETS_MAX);
    if (r > 0)
        yyjson_arr_foreach(*ret, i, n, v)
        {
            if (!yyjson_is_str(v))
                return sv_body_wrong(b, v, err, "target_agents are names of agents");
        }
    return r;
}

/* {"type", "data", "targets"}, as the log has system events. */
static int write_event(struct sv_exchange *x, const struct sv_body *b, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * DATA_MAX);
    yyjson_val *data = sv_member(b->root, UPP_STR("event_data")), *targets;
    struct upp_str type;
    struct wj_writer w;
    int r = b->root ? read_type(b, &type, err) : upp_fail(err, UPP_EINVALID, "event_type is missing");
    if (r >= 0)
        r = read_targets(b, &targets, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", type);
    size_t before = out.n;
    wj_write_name(&w, UPP_STR("data"));
    if (data)
        wj_write_value(&w, data);
    else
        wj_write_null(&w);
    if (out.failed || out.n - before > DATA_MAX)
        return sv_body_wrong(b, data, err, "event_data has at most %d bytes", DATA_MAX);
    if (targets)
        wj_put_value(&w, "targets", targets);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &x->arena, ret);
}

WEFT_SUSPENDS static int answer_event(struct sv_exchange *x, const struct wl_line *line, struct upp_err *err)
{
    struct wl_node node;
    struct wj_writer w;
    int r = wl_get_node(x->server->opts.store, &x->owner, line->node, &node, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    sv_write_entry(&w, node.id, line);
    return sv_finish(x, &w);
}

/* The event that an earlier request with the same key has made. */
WEFT_SUSPENDS static int answer_earlier(struct sv_exchange *x, struct wb_uuid id, struct upp_err *err)
{
    struct wl_line line;
    int r = wl_entry_find(x->server->opts.store, &x->owner, id, &x->arena, &line, err);
    return r < 0 ? r : answer_event(x, &line, err);
}

WEFT_SUSPENDS int sv_create_event(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"event_type", "event_data", "target_agents", NULL};
    struct sv_body b;
    struct wl_thread t;
    struct wl_line line = {0};
    struct sv_keyed k;
    int r = sv_find_thread_to_change(x, &t, err);
    if (r >= 0)
        r = sv_keyed_begin(x, SV_MAKES_ENTRIES, &k, err);
    if (r > 0)
        return answer_earlier(x, k.object, err);
    line.entry = (struct wm_entry){.kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL};
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = write_event(x, &b, &line.entry.data, err);
    if (r >= 0)
        r = sv_members_author(x, &t, &line.entry.who, err);
    if (r >= 0)
        r = sv_keyed_end(&k, wl_append(&k.store, &x->owner, &t, &line.entry, 1, &line.index, err), err);
    if (r == -UPP_EBUSY)
        return sv_busy_error(x, &t, false, err);
    if (r != 0)
        return r < 0 ? r : answer_earlier(x, k.object, err);
    line.node = t.head;
    line.id = wm_id_uuid(
        (struct wm_id){.node = t.head, .index = line.index, .noun = WM_NOUN_ENTRY, .attempt = line.entry.attempt});
    return answer_event(x, &line, err);
}
