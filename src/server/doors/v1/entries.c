/* server/doors/v1/entries.c — an entry of the log as GET /v1/threads/{t}/entries shows it: messages with all their
 * parts (reasoning, calls, results), and what happened between them. A user interface needs these; the objects of the
 * Assistants API have only text and images. */
#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/read.h"
#include "model/upp_json.h"
#include "server/doors/v1/objects.h"
#include "server/doors/v1/routes.h"

enum { RESULT_ARENA = 80u << 20 };

static struct upp_str role_of(const struct wm_entry *e)
{
    static const char *const names[] = {
        [UPP_ROLE_USER] = "user", [UPP_ROLE_ASSISTANT] = "assistant", [UPP_ROLE_TOOL] = "tool"};
    uint8_t role = e->message.role;
    return e->kind != WM_ENTRY_EVENT && role < WB_LEN(names) && names[role] ? wb_cstr(names[role])
                                                                            : (struct upp_str){NULL, 0};
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
    wj_put_str(w, "role", role_of(e));
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
