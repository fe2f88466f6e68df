/* server/doors/process/history.c — searches a thread and its streams for the messages of a request. */
#include "server/doors/process/process.h"

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "server/doors/run_stream.h"
#include "server/http/core.h"
#include "server/http/server.h"

struct search {
    struct sv_exchange *x;
    struct sv_history *to;
    struct upp_str *wanted; /* ids of the request that were not found yet; empty ones were */
    size_t n, left;
    size_t of_agents; /* how many of them are not the user's: only streams have shown those */
};

static bool has(const struct upp_str *list, size_t n, struct upp_str s)
{
    for (size_t i = 0; s.n && i < n; i++)
        if (wb_str_eq(list[i], s))
            return true;
    return false;
}

bool sv_history_has(const struct sv_history *h, struct upp_str id)
{
    return has(h->ids, h->n_ids, id);
}

bool sv_history_answered(const struct sv_history *h, struct upp_str call)
{
    return has(h->calls, h->n_calls, call);
}

static bool take_found(struct search *s, struct upp_str id)
{
    for (size_t i = 0; id.n && i < s->n; i++)
        if (wb_str_eq(s->wanted[i], id)) {
            s->to->ids[s->to->n_ids++] = s->wanted[i];
            s->wanted[i] = (struct upp_str){NULL, 0};
            s->left--;
            return true;
        }
    return false;
}

static bool is_entry(struct search *s, struct wb_uuid id)
{
    for (size_t i = 0; i < s->n; i++) {
        struct wb_uuid u;
        if (s->wanted[i].n && wl_id_parse(s->wanted[i], UPP_STR("msg_"), &u) && wb_uuid_eq(u, id))
            return take_found(s, s->wanted[i]);
    }
    return false;
}

static int look_at(struct search *s, const struct wl_line *line, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message;
    yyjson_val *v = NULL;
    if (line->entry.kind != WM_ENTRY_MESSAGE && line->entry.kind != WM_ENTRY_REPAIR)
        return 0;
    for (size_t i = 0; m->role == UPP_ROLE_TOOL && i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_RESULT && s->to->n_calls < SV_HISTORY_ENTRIES)
            s->to->calls[s->to->n_calls++] = m->parts[i].id;
    int r = s->left && m->metadata.n ? wj_read(&s->x->arena, m->metadata, NULL, &v, err) : 0;
    if (r < 0)
        return r;
    if ((take_found(s, wj_text_at(yyjson_obj_get(v, "agentapi"), "id")) || is_entry(s, line->id)) &&
        m->role == UPP_ROLE_USER)
        s->to->last = line->run;
    return 0;
}

/* As far back as the request could reach: usually it has one message. */
WEFT_SUSPENDS static int search_thread(struct search *s, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_store *store = s->x->server->opts.store;
    uint32_t max = (uint32_t)WB_MIN(SV_HISTORY_ENTRIES, 32 + 4 * s->n);
    struct wl_path path;
    struct wl_line *lines;
    size_t n = 0;
    int r = wl_thread_path(store, &s->x->owner, t, &s->x->arena, &path, err);
    if (r >= 0)
        r = wl_path_tail(store, &s->x->owner, &path, path.length, max, &s->x->arena, &lines, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = look_at(s, &lines[i], err);
    return r;
}

/* {"sequence_number":7,"object":"message",...,"id":"msg_...": nothing before the id can have quotes inside. */
static int see_frame(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame, struct upp_err *err)
{
    struct upp_str head = wb_str_sub(frame, 0, 200), id;
    size_t at = wb_str_find(head, UPP_STR("\"id\":\""), 0);
    (void)ev, (void)name;
    (void)err;
    if (at == SIZE_MAX || wb_str_find(head, UPP_STR("\"object\":\"message\""), 0) == SIZE_MAX)
        return 0;
    id = wb_str_sub(head, at + 6, SIZE_MAX);
    (void)take_found(arg, wb_str_sub(id, 0, wb_str_find(id, UPP_STR("\""), 0)));
    return 0;
}

WEFT_SUSPENDS static int search_streams(struct search *s, const struct wl_thread *t, struct upp_err *err)
{
    struct sv_run_stream as = {.ops = &wd_stream_agentapi, .opts.size = sizeof as.opts};
    struct wl_store *store = s->x->server->opts.store;
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(store, &s->x->owner, t->id, false, SV_HISTORY_RUNS, &s->x->arena, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n && s->left; i++)
        if (!runs[i].swept)
            r = sv_run_encode(s->x, runs[i].id, &as, false, see_frame, s, err);
    return r;
}

static void want_message(struct search *s, yyjson_val *message)
{
    struct upp_str id = wj_text_at(message, "id"), role = wj_text_at(message, "role");
    if (!id.n || has(s->wanted, s->n, id))
        return;
    s->wanted[s->n++] = id;
    s->left++;
    s->of_agents += role.n && !wb_str_eq(role, UPP_STR("user"));
}

int sv_history_read(struct sv_exchange *x, const struct wl_thread *t, yyjson_val *list, struct sv_history *ret,
                    struct upp_err *err)
{
    struct search s = {.x = x, .to = ret};
    yyjson_val *message;
    size_t i, n, size = yyjson_arr_size(list);
    *ret = (struct sv_history){0};
    ret->ids = wb_new_n(&x->arena, struct upp_str, size ? size : 1);
    ret->calls = wb_new_n(&x->arena, struct upp_str, SV_HISTORY_ENTRIES);
    s.wanted = wb_new_n(&x->arena, struct upp_str, size ? size : 1);
    int r = wb_arena_check(&x->arena, err);
    if (r < 0 || !size)
        return r;
    yyjson_arr_foreach(list, i, n, message) want_message(&s, message);
    r = search_thread(&s, t, err);
    struct wb_uuid run = x->run;
    if (r >= 0 && s.left && s.of_agents)
        r = search_streams(&s, t, err);
    x->run = run;
    return r;
}
