/* thread/session_extras.c — what a SessionJSON has beside the log: authors, titles, replies and events. */
#include "thread/session_extras.h"

#include "base/defs.h"
#include "base/iso8601.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "model/upp_weft.h"
#include "thread/doc.h"

enum {
    EVENT_DEPTH = 5, /* levels of nesting between a message and an event's data */
    MAP_MAX = 128 << 20,
};

enum { AGENT, NAME, PARTS, EVENTS, TITLE, MODEL, PROVIDER, STOP, USAGE, PROMPT, N };
static const char *const names[] = {
    [AGENT] = "agent", [NAME] = "name",         [PARTS] = "parts", [EVENTS] = "events", [TITLE] = "title",
    [MODEL] = "model", [PROVIDER] = "provider", [STOP] = "stop",   [USAGE] = "usage",   [PROMPT] = "prompt"};

static yyjson_val *text_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    return yyjson_is_str(v) ? v : NULL;
}

/* The name of the tool that the call with this id names. */
static struct upp_str tool_of(const struct upp_message *caller, struct upp_str id)
{
    for (const struct upp_part *p = NULL; caller && (p = upp_part_next(caller, p, UPP_PARTS_CALLS));)
        if (wb_str_eq(p->id, id))
            return p->name;
    return (struct upp_str){0};
}

/* Parses a map; NULL: it has no member `weft`, or is empty. */
static int read_map(struct wb_arena *a, struct upp_str map, yyjson_val **ret, struct upp_err *err)
{
    *ret = NULL;
    if (!map.n || wb_str_find(map, UPP_STR("\"weft\""), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(a, map, UPP_OPTS(wj_read_opts, .max_bytes = MAP_MAX, .depth = WJ_DEPTH_MAX), ret, err);
    return r < 0 ? r : 0;
}

/* Writes the map without `weft`, then `weft` without the taken members, and leaves both open. */
static void open_map(struct wj_writer *w, struct upp_str map, yyjson_val *v, const bool taken_members[N])
{
    yyjson_val *weft = yyjson_is_obj(v) ? wm_weft_find(v) : NULL, *key, *value;
    size_t i, n;
    wj_write_open(w, '{');
    if (!weft)
        wj_put_members_text(w, map);
    yyjson_obj_foreach(weft ? v : NULL, i, n, key, value)
    {
        if (value != weft)
            wj_put_member(w, key);
    }
    wj_put_open(w, "weft", '{');
    yyjson_obj_foreach(weft, i, n, key, value)
    {
        bool ours = false;
        for (size_t k = 0; k < N; k++)
            ours |= taken_members[k] && wj_named(key, wb_cstr(names[k]));
        if (ours)
            continue;
        wj_put_member(w, key);
    }
}

/* ---- Reading from the log ---------------------------------------------------------------------------------- */

struct writing {
    struct wb_arena *a;
    const struct wa_doc_opts *opts;
    const struct wl_line *lines; /* to which events may refer */
    size_t n;
    struct wj_writer w;
};

/* Writes the imported id, or the one that the runtime knows; otherwise the name is all there is. */
static void write_author(struct writing *s, struct upp_str who, struct upp_str id)
{
    if (!who.n)
        return;
    if (!id.n && s->opts && s->opts->id_of)
        id = s->opts->id_of(s->opts->arg, who);
    wj_put_text(&s->w, names[AGENT], id.n ? id : who);
    if (id.n && !wb_str_eq(id, who))
        wj_put_text(&s->w, names[NAME], who);
}

/* Writes an object as it is. Other values, and those too deep for a message, are written as a string. */
static void write_json(struct writing *s, const char *name, struct upp_str json)
{
    struct wj_syntax seen;
    wj_write_name(&s->w, wb_cstr(name));
    if (json.n && json.p[0] == '{' && wj_syntax(json, WJ_MAX_DEPTH - EVENT_DEPTH, &seen, NULL) == 0)
        wj_write_raw(&s->w, json.p, json.n);
    else
        wj_write_str(&s->w, json.p ? json : UPP_STR(""));
}

static struct upp_str title_of(const struct writing *s, struct upp_str who)
{
    bool known = who.n && s->opts && s->opts->whole && s->opts->title_of;
    return known ? s->opts->title_of(s->opts->arg, who) : (struct upp_str){0};
}

static void write_reply(struct writing *s, const struct wm_reply_info *reply)
{
    wj_put_text(&s->w, names[MODEL], reply->model);
    wj_put_text(&s->w, names[PROVIDER], reply->provider);
    if (reply->stop && reply->stop < WB_LEN(wm_upp_stops))
        wj_put_text(&s->w, names[STOP], wb_cstr(wm_upp_stops[reply->stop]));
    if (!reply->has_usage)
        return;
    wj_write_name(&s->w, wb_cstr(names[USAGE]));
    wm_usage_write_all(&s->w, &reply->usage);
}

/* Sessions name agents as the configuration does. */
static int same_name(void *arg, struct upp_str agent, struct upp_str *ret, struct upp_err *err)
{
    (void)arg;
    (void)err;
    *ret = agent;
    return 0;
}

static int write_said(struct writing *s, struct upp_str data, struct upp_err *err)
{
    const struct wa_event_doc of = {.lines = s->lines, .n = s->n, .id_of = same_name};
    bool refers = s->opts && s->opts->whole && wb_str_find(data, UPP_STR("prompt.enriched"), 0) != SIZE_MAX;
    int r = refers ? wa_event_doc(&of, s->a, &data, err) : 0;
    write_json(s, "said", data);
    return r;
}

static int imported_id(struct writing *s, struct upp_str metadata, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v;
    int r = read_map(s->a, metadata, &v, err);
    *ret = wj_text_at(r >= 0 && yyjson_is_obj(v) ? wm_weft_find(v) : NULL, names[AGENT]);
    return r;
}

static int write_event(struct writing *s, const struct wl_line *line, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message;
    char id[WB_UUID_TEXT + 1], time[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(m->time_ms);
    struct upp_str agent;
    int r = imported_id(s, m->metadata, &agent, err);
    wj_write_open(&s->w, '{');
    wj_put_text(&s->w, "id", m->id.n ? m->id : wb_uuid_text(line->id, id));
    write_author(s, line->entry.who, agent);
    wj_put_text(&s->w, "timestamp", m->time_text.p ? m->time_text : wb_time_upp(&t, time));
    int q = write_said(s, line->entry.data, err);
    wj_write_close(&s->w, '}');
    return r < 0 ? r : q;
}

static bool is_event(const struct wl_line *line)
{
    return line->entry.kind == WM_ENTRY_EVENT && wm_is_visible(&line->entry);
}

static size_t count_events(const struct wl_line *lines, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += is_event(&lines[i]);
    return found;
}

static int write_events(struct writing *s, const struct wl_line *lines, size_t n, struct upp_err *err)
{
    int r = 0;
    if (!count_events(lines, n))
        return 0;
    wj_put_open(&s->w, names[EVENTS], '[');
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = is_event(&lines[i]) ? write_event(s, &lines[i], err) : 0;
    wj_write_close(&s->w, ']');
    return r;
}

/* What UPP's JSON of a part has no member for. */
struct extras {
    bool name, title, metadata;
};

static struct extras extras(const struct upp_part *p, const struct upp_message *caller)
{
    return (struct extras){
        .name = p->kind == UPP_PART_RESULT && p->name.p && !wb_str_eq(p->name, tool_of(caller, p->id)),
        .title = p->media && p->media->title.p && p->kind != UPP_PART_DOCUMENT,
        .metadata = p->metadata.n && p->kind != UPP_PART_BINARY,
    };
}

static bool has_extras(const struct upp_message *m, const struct upp_message *caller)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        struct extras u = extras(&m->parts[i], caller);
        if (u.name || u.title || u.metadata)
            return true;
    }
    return false;
}

static void write_parts(struct writing *s, const struct upp_message *m, const struct upp_message *caller)
{
    if (!has_extras(m, caller))
        return;
    wj_put_open(&s->w, names[PARTS], '{');
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        struct extras u = extras(p, caller);
        if (!u.name && !u.title && !u.metadata)
            continue;
        wj_write_name(&s->w, wb_arena_numbered(s->a, UPP_STR(""), i));
        wj_write_open(&s->w, '{');
        if (u.name)
            wj_put_text(&s->w, "name", p->name);
        if (u.title)
            wj_put_text(&s->w, "title", p->media->title);
        if (u.metadata)
            write_json(s, "metadata", p->metadata);
        wj_write_close(&s->w, '}');
    }
    wj_write_close(&s->w, '}');
}

static int end_map(struct writing *s, struct upp_str *ret)
{
    wj_write_close(&s->w, '}');
    wj_write_close(&s->w, '}');
    return wj_writer_text(&s->w, s->a, ret);
}

int wa_extras_message(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                      const struct wa_extras_around *around, struct upp_message *m, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAP_MAX);
    struct writing s = {.a = a, .opts = opts, .lines = around->lines, .n = around->n};
    struct upp_str who = lines->entry.who, title = title_of(&s, who);
    const struct upp_message *caller = around->caller;
    const struct wm_reply_info *reply = m->role == UPP_ROLE_ASSISTANT && opts->whole ? around->reply : NULL;
    const bool ours[N] = {[AGENT] = true,  [NAME] = true,      [PARTS] = true, [EVENTS] = true, [TITLE] = title.n,
                          [MODEL] = reply, [PROVIDER] = reply, [STOP] = reply, [USAGE] = reply, [PROMPT] = true};
    yyjson_val *v;
    bool prompt = wm_is_prompt(&lines->entry);
    if (!who.n && !reply && !prompt && !has_extras(m, caller) && !count_events(lines, n))
        return 0;
    int r = read_map(a, m->metadata, &v, err);
    if (r < 0)
        return r;
    wj_writer_init(&s.w, &b, err);
    open_map(&s.w, m->metadata, v, ours);
    if (title.n) /* first what an import leaves in the metadata: a document that comes back has the same order */
        wj_put_text(&s.w, names[TITLE], title);
    if (reply)
        write_reply(&s, reply);
    write_author(&s, who, wj_text_at(yyjson_is_obj(v) ? wm_weft_find(v) : NULL, names[AGENT]));
    if (prompt)
        wj_put_bool(&s.w, names[PROMPT], true);
    write_parts(&s, m, caller);
    r = write_events(&s, lines, n, err);
    return r < 0 ? r : end_map(&s, &m->metadata);
}

int wa_extras_events(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                     struct upp_str *map, struct upp_err *err)
{
    static const bool events[N] = {[EVENTS] = true};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAP_MAX);
    struct writing s = {.a = a, .opts = opts, .lines = lines, .n = n};
    yyjson_val *v;
    if (!count_events(lines, n))
        return 0;
    int r = read_map(a, *map, &v, err);
    if (r < 0)
        return r;
    wj_writer_init(&s.w, &b, err);
    open_map(&s.w, *map, v, events);
    r = write_events(&s, lines, n, err);
    return r < 0 ? r : end_map(&s, map);
}

/* ---- Writing to the log ------------------------------------------------------------------------------------- */

/* The author. The log stores only names: an id that comes with a name stays in the metadata. */
static struct upp_str who_of(yyjson_val *obj, bool taken_members[N])
{
    yyjson_val *id = text_at(obj, names[AGENT]), *name = text_at(obj, names[NAME]);
    taken_members[NAME] = name;
    taken_members[AGENT] = id && !name;
    return wj_text_of(name ? name : id);
}

/* The inverse of write_json; empty: not such a value. */
static int json_of(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    struct wj_syntax seen;
    *ret = (struct upp_str){0};
    if (yyjson_is_str(v)) {
        if (wj_text(v).n && wj_syntax(wj_text(v), WJ_MAX_DEPTH, &seen, NULL) == 0)
            *ret = wj_text(v);
        return 0;
    }
    if (!yyjson_is_obj(v))
        return 0;
    return wj_value_text(a, v, ret, err);
}

/* 1: it is an event. 0: its form is unknown. */
static int take_event(struct wb_arena *a, yyjson_val *v, struct wm_entry *e, struct upp_err *err)
{
    bool taken_members[N];
    struct wb_time t;
    struct upp_str time = wj_text_at(v, "timestamp");
    *e = (struct wm_entry){.kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL};
    int r = json_of(a, yyjson_obj_get(v, "said"), &e->data, err);
    if (r < 0 || !e->data.n || wb_time_parse(time, &t, NULL) < 0)
        return r;
    e->message.id = wj_text_at(v, "id");
    e->message.time_ms = wb_time_ms(&t);
    if (!wb_time_parse_upp(time, &e->message.time_ms)) /* not the canonical spelling: store the text too */
        e->message.time_text = time;
    e->who = who_of(v, taken_members);
    struct upp_str id = wj_text_at(v, names[AGENT]);
    if (taken_members[NAME] && id.n) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAP_MAX);
        struct wj_writer w;
        wj_writer_init(&w, &b, err);
        open_map(&w, (struct upp_str){0}, NULL, taken_members);
        wj_put_text(&w, names[AGENT], id);
        struct writing s = {.a = a, .w = w};
        r = end_map(&s, &e->message.metadata);
    }
    return r < 0 ? r : 1;
}

/* Takes all events or none. */
static int take_events(struct wb_arena *a, yyjson_val *list, struct wa_extras *ret, struct upp_err *err)
{
    size_t n = yyjson_is_arr(list) ? yyjson_arr_size(list) : 0, i, max;
    yyjson_val *v;
    struct wm_entry *events = n ? wb_new_n(a, struct wm_entry, n) : NULL;
    if (n && !events)
        return wb_arena_check(a, err);
    yyjson_arr_foreach(n ? list : NULL, i, max, v)
    {
        int r = take_event(a, v, &events[i], err);
        if (r <= 0)
            return r;
    }
    ret->events = events;
    ret->n = n;
    return n > 0;
}

static int take_part(struct wb_arena *a, yyjson_val *v, struct upp_part *p, struct upp_err *err)
{
    struct upp_str name = wj_text_at(v, "name"), title = wj_text_at(v, "title"), json;
    int r = json_of(a, yyjson_obj_get(v, "metadata"), &json, err);
    if (r < 0)
        return r;
    if (name.p && p->kind == UPP_PART_RESULT)
        p->name = name;
    if (json.n && p->kind != UPP_PART_BINARY)
        p->metadata = json;
    if (!title.p || !p->media)
        return 0;
    struct upp_media *media = wb_new(a, struct upp_media);
    if (!media)
        return wb_arena_check(a, err);
    *media = *p->media;
    media->title = title;
    p->media = media;
    return 0;
}

/* Tool names of results, and the data of `parts`. */
static int take_parts(struct wb_arena *a, yyjson_val *map, const struct upp_message *caller, struct upp_message *m,
                      struct upp_err *err)
{
    yyjson_val *key, *value;
    size_t i, n;
    int r = 0;
    if (!m->n_parts || (m->role != UPP_ROLE_TOOL && !map))
        return 0;
    struct upp_part *parts = wb_new_n(a, struct upp_part, m->n_parts);
    if (!parts)
        return wb_arena_check(a, err);
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    for (size_t k = 0; k < m->n_parts; k++)
        if (parts[k].kind == UPP_PART_RESULT && !parts[k].name.p)
            parts[k].name = tool_of(caller, parts[k].id);
    yyjson_obj_foreach(map, i, n, key, value)
    {
        uint64_t at;
        if (r >= 0 && wb_str_u64(wj_text(key), &at) && at < m->n_parts)
            r = take_part(a, value, &parts[at], err);
    }
    m->parts = parts;
    return r;
}

/* The map without the members that were taken; empty if nothing is left. */
static int rest_of(struct wb_arena *a, yyjson_val *v, const bool taken_members[N], struct upp_str *ret,
                   struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAP_MAX);
    yyjson_val *weft = wm_weft_find(v), *key, *value;
    struct wj_writer w;
    size_t i, n, taken = 0;
    for (size_t k = 0; k < N; k++)
        taken += taken_members[k];
    bool empty = unsafe_yyjson_get_len(weft) == taken;
    *ret = (struct upp_str){0};
    if (empty && unsafe_yyjson_get_len(v) == 1)
        return 0;
    wj_writer_init(&w, &b, err);
    if (empty) {
        wj_write_open(&w, '{');
        yyjson_obj_foreach(v, i, n, key, value)
        {
            if (value != weft)
                wj_put_member(&w, key);
        }
        wj_write_close(&w, '}');
    } else {
        open_map(&w, (struct upp_str){0}, v, taken_members);
        wj_write_close(&w, '}');
        wj_write_close(&w, '}');
    }
    return wj_writer_text(&w, a, ret);
}

int wa_extras_take(struct wb_arena *a, const struct upp_message *m, const struct upp_message *caller,
                   struct wa_extras *ret, struct upp_err *err)
{
    bool taken_members[N] = {false};
    yyjson_val *v;
    *ret = (struct wa_extras){
        .message = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL, .message = *m}};
    int r = read_map(a, m->metadata, &v, err);
    if (r < 0)
        return r;
    yyjson_val *weft = yyjson_is_obj(v) ? wm_weft_find(v) : NULL;
    yyjson_val *parts = weft ? yyjson_obj_get(weft, "parts") : NULL;
    parts = yyjson_is_obj(parts) ? parts : NULL;
    r = take_parts(a, parts, caller, &ret->message.message, err);
    if (r < 0 || !weft)
        return r;
    ret->message.who = who_of(weft, taken_members);
    r = take_events(a, yyjson_obj_get(weft, "events"), ret, err);
    taken_members[PARTS] = parts;
    taken_members[EVENTS] = r > 0;
    taken_members[PROMPT] = m->role == UPP_ROLE_USER && yyjson_is_true(yyjson_obj_get(weft, names[PROMPT]));
    if (taken_members[PROMPT])
        ret->message.phase = UPP_STR(WM_PHASE_PROMPT);
    return r < 0 ? r : rest_of(a, v, taken_members, &ret->message.message.metadata, err);
}

int wa_extras_take_events(struct wb_arena *a, struct upp_str *map, struct wa_extras *ret, struct upp_err *err)
{
    static const bool taken_members[N] = {[EVENTS] = true};
    yyjson_val *v;
    *ret = (struct wa_extras){0};
    int r = read_map(a, *map, &v, err);
    if (r < 0 || !yyjson_is_obj(v) || !wm_weft_find(v))
        return r;
    r = take_events(a, yyjson_obj_get(wm_weft_find(v), "events"), ret, err);
    return r <= 0 ? r : rest_of(a, v, taken_members, map, err);
}
