/* thread/session_known.c — see session_known.h. */
#include "thread/session_known.h"

#include "base/defs.h"
#include "base/iso8601.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_weft.h"

enum {
    AROUND  = 5, /* levels between a message and what an event says */
    MAP_MAX = 128 << 20,
};

enum { AGENT, NAME, PARTS, EVENTS, N };
static const char *const names[] = {[AGENT] = "agent", [NAME] = "name", [PARTS] = "parts", [EVENTS] = "events"};

static yyjson_val *text_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    return yyjson_is_str(v) ? v : NULL;
}

/* The last assistant's call of that id names the tool. */
static struct upp_str tool_of(const struct upp_message *asked, struct upp_str id)
{
    for (const struct upp_part *p = NULL; asked && (p = upp_part_next(asked, p, UPP_PARTS_CALLS));)
        if (wb_str_eq(p->id, id))
            return p->name;
    return (struct upp_str){0};
}

/* A map as a value; NULL: it has no member of ours, or is none. */
static int read_map(struct wb_arena *a, struct upp_str map, yyjson_val **ret, struct upp_err *err)
{
    *ret = NULL;
    if (!map.n || wb_str_find(map, UPP_STR("\"weft\""), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(a, map, UPP_OPTS(wj_read_opts, .max_bytes = MAP_MAX, .depth = WJ_DEPTH_MAX), ret, err);
    return r < 0 ? r : 0;
}

/* The members of a map but ours, which is left open for what comes; `gone`: those of ours that are not written. */
static void open_map(struct wj_writer *w, struct upp_str map, yyjson_val *v, const bool gone[N])
{
    yyjson_val *weft = yyjson_is_obj(v) ? wm_weft_find(v) : NULL, *key, *value;
    size_t      i, n;
    wj_write_open(w, '{');
    struct upp_str inside = map.n > 2 && !weft ? wb_str_trim(wb_str_sub(map, 1, map.n - 2)) : (struct upp_str){0};
    if (inside.n)
        wj_write_raw(w, inside.p, inside.n);
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
            ours |= gone[k] && wj_named(key, wb_cstr(names[k]));
        if (ours)
            continue;
        wj_put_member(w, key);
    }
}

/* ---- Out of the log ---------------------------------------------------------------------------------------- */

struct saying {
    struct wb_arena          *a;
    const struct wa_doc_opts *opts;
    struct wj_writer          w;
};

/* The id that came with it, or the one that the runtime knows; else the name is all there is. */
static void say_who(struct saying *s, struct upp_str who, struct upp_str id)
{
    if (!who.n)
        return;
    if (!id.n && s->opts && s->opts->id_of)
        id = s->opts->id_of(s->opts->arg, who);
    wj_put_text(&s->w, names[AGENT], id.n ? id : who);
    if (id.n && !wb_str_eq(id, who))
        wj_put_text(&s->w, names[NAME], who);
}

/* JSON as it is, or as a text where it is no object or too deep to stand in a message. */
static void say_json(struct saying *s, const char *name, struct upp_str json)
{
    struct wj_syntax seen;
    wj_write_name(&s->w, wb_cstr(name));
    if (json.n && json.p[0] == '{' && wj_syntax(json, WJ_MAX_DEPTH - AROUND, &seen, NULL) == 0)
        wj_write_raw(&s->w, json.p, json.n);
    else
        wj_write_str(&s->w, json.p ? json : UPP_STR(""));
}

static int kept_id(struct saying *s, struct upp_str metadata, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v;
    int         r = read_map(s->a, metadata, &v, err);
    *ret          = wj_text_at(r >= 0 && yyjson_is_obj(v) ? wm_weft_find(v) : NULL, names[AGENT]);
    return r;
}

static int say_event(struct saying *s, const struct wl_line *line, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message;
    char                      id[WB_UUID_TEXT + 1], time[WB_TIME_TEXT];
    struct wb_time            t = wb_time_from_ms(m->time_ms);
    struct upp_str            agent;
    int                       r = kept_id(s, m->metadata, &agent, err);
    wj_write_open(&s->w, '{');
    wj_put_text(&s->w, "id", m->id.n ? m->id : wb_uuid_text(line->id, id));
    say_who(s, line->entry.who, agent);
    wj_put_text(&s->w, "timestamp", m->time_text.p ? m->time_text : wb_time_upp(&t, time));
    say_json(s, "said", line->entry.data);
    wj_write_close(&s->w, '}');
    return r;
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

static int say_events(struct saying *s, const struct wl_line *lines, size_t n, struct upp_err *err)
{
    int r = 0;
    if (!count_events(lines, n))
        return 0;
    wj_put_open(&s->w, names[EVENTS], '[');
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = is_event(&lines[i]) ? say_event(s, &lines[i], err) : 0;
    wj_write_close(&s->w, ']');
    return r;
}

/* What of a part UPP's block, call or result does not say. */
struct unsaid {
    bool name, title, metadata;
};

static struct unsaid unsaid(const struct upp_part *p, const struct upp_message *asked)
{
    return (struct unsaid){
        .name     = p->kind == UPP_PART_RESULT && p->name.p && !wb_str_eq(p->name, tool_of(asked, p->id)),
        .title    = p->media && p->media->title.p && p->kind != UPP_PART_DOCUMENT,
        .metadata = p->metadata.n && p->kind != UPP_PART_BINARY,
    };
}

static bool any_unsaid(const struct upp_message *m, const struct upp_message *asked)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        struct unsaid u = unsaid(&m->parts[i], asked);
        if (u.name || u.title || u.metadata)
            return true;
    }
    return false;
}

static void say_parts(struct saying *s, const struct upp_message *m, const struct upp_message *asked)
{
    if (!any_unsaid(m, asked))
        return;
    wj_put_open(&s->w, names[PARTS], '{');
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        struct unsaid          u = unsaid(p, asked);
        if (!u.name && !u.title && !u.metadata)
            continue;
        wj_write_name(&s->w, wb_arena_numbered(s->a, UPP_STR(""), i));
        wj_write_open(&s->w, '{');
        if (u.name)
            wj_put_text(&s->w, "name", p->name);
        if (u.title)
            wj_put_text(&s->w, "title", p->media->title);
        if (u.metadata)
            say_json(s, "metadata", p->metadata);
        wj_write_close(&s->w, '}');
    }
    wj_write_close(&s->w, '}');
}

static int end_map(struct saying *s, struct upp_str *ret)
{
    wj_write_close(&s->w, '}');
    wj_write_close(&s->w, '}');
    return wj_writer_text(&s->w, s->a, ret);
}

int wa_known_message(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                     const struct upp_message *asked, struct upp_message *m, struct upp_err *err)
{
    static const bool                     all[N] = {true, true, true, true};
    WB_CLEANUP(wb_buf_done) struct wb_buf b      = WB_BUF(MAP_MAX);
    struct saying                         s      = {.a = a, .opts = opts};
    struct upp_str                        who    = lines->entry.who;
    yyjson_val                           *v;
    if (!who.n && !any_unsaid(m, asked) && !count_events(lines, n))
        return 0;
    int r = read_map(a, m->metadata, &v, err);
    if (r < 0)
        return r;
    wj_writer_init(&s.w, &b, err);
    open_map(&s.w, m->metadata, v, all);
    say_who(&s, who, wj_text_at(yyjson_is_obj(v) ? wm_weft_find(v) : NULL, names[AGENT]));
    say_parts(&s, m, asked);
    r = say_events(&s, lines, n, err);
    return r < 0 ? r : end_map(&s, &m->metadata);
}

int wa_known_events(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                    struct upp_str *map, struct upp_err *err)
{
    static const bool                     events[N] = {[EVENTS] = true};
    WB_CLEANUP(wb_buf_done) struct wb_buf b         = WB_BUF(MAP_MAX);
    struct saying                         s         = {.a = a, .opts = opts};
    yyjson_val                           *v;
    if (!count_events(lines, n))
        return 0;
    int r = read_map(a, *map, &v, err);
    if (r < 0)
        return r;
    wj_writer_init(&s.w, &b, err);
    open_map(&s.w, *map, v, events);
    r = say_events(&s, lines, n, err);
    return r < 0 ? r : end_map(&s, map);
}

/* ---- Into the log ------------------------------------------------------------------------------------------- */

/* Whose it is. The id of one who has a name besides stays where it was: the log has names alone. */
static struct upp_str who_of(yyjson_val *obj, bool gone[N])
{
    yyjson_val *id = text_at(obj, names[AGENT]), *name = text_at(obj, names[NAME]);
    gone[NAME]  = name;
    gone[AGENT] = id && !name;
    return wj_text_of(name ? name : id);
}

/* What say_json wrote; no text: it is none. */
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

/* 1: it is an event. 0: it is none that we know. */
static int take_event(struct wb_arena *a, yyjson_val *v, struct wm_entry *e, struct upp_err *err)
{
    bool           gone[N];
    struct wb_time t;
    struct upp_str time = wj_text_at(v, "timestamp");
    *e    = (struct wm_entry){.kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL};
    int r = json_of(a, yyjson_obj_get(v, "said"), &e->data, err);
    if (r < 0 || !e->data.n || wb_time_parse(time, &t, NULL) < 0)
        return r;
    e->message.id      = wj_text_at(v, "id");
    e->message.time_ms = wb_time_ms(&t);
    if (!wb_time_parse_upp(time, &e->message.time_ms)) /* not as it would be written: its spelling is kept */
        e->message.time_text = time;
    e->who            = who_of(v, gone);
    struct upp_str id = wj_text_at(v, names[AGENT]);
    if (gone[NAME] && id.n) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAP_MAX);
        struct wj_writer                      w;
        wj_writer_init(&w, &b, err);
        open_map(&w, (struct upp_str){0}, NULL, gone);
        wj_put_text(&w, names[AGENT], id);
        struct saying s = {.a = a, .w = w};
        r               = end_map(&s, &e->message.metadata);
    }
    return r < 0 ? r : 1;
}

/* All of them, or none. */
static int take_events(struct wb_arena *a, yyjson_val *list, struct wa_known *ret, struct upp_err *err)
{
    size_t           n = yyjson_is_arr(list) ? yyjson_arr_size(list) : 0, i, max;
    yyjson_val      *v;
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
    ret->n      = n;
    return n > 0;
}

static int take_part(struct wb_arena *a, yyjson_val *v, struct upp_part *p, struct upp_err *err)
{
    struct upp_str name = wj_text_at(v, "name"), title = wj_text_at(v, "title"), json;
    int            r = json_of(a, yyjson_obj_get(v, "metadata"), &json, err);
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
    *media       = *p->media;
    media->title = title;
    p->media     = media;
    return 0;
}

/* Names of results, and what is said beside the parts. */
static int take_parts(struct wb_arena *a, yyjson_val *map, const struct upp_message *asked, struct upp_message *m,
                      struct upp_err *err)
{
    yyjson_val *key, *value;
    size_t      i, n;
    int         r = 0;
    if (!m->n_parts || (m->role != UPP_ROLE_TOOL && !map))
        return 0;
    struct upp_part *parts = wb_new_n(a, struct upp_part, m->n_parts);
    if (!parts)
        return wb_arena_check(a, err);
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    for (size_t k = 0; k < m->n_parts; k++)
        if (parts[k].kind == UPP_PART_RESULT && !parts[k].name.p)
            parts[k].name = tool_of(asked, parts[k].id);
    yyjson_obj_foreach(map, i, n, key, value)
    {
        uint64_t at;
        if (r >= 0 && wb_str_u64(wj_text(key), &at) && at < m->n_parts)
            r = take_part(a, value, &parts[at], err);
    }
    m->parts = parts;
    return r;
}

/* The map without what was taken; no text where nothing is left. */
static int rest_of(struct wb_arena *a, yyjson_val *v, const bool gone[N], struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b    = WB_BUF(MAP_MAX);
    yyjson_val                           *weft = wm_weft_find(v), *key, *value;
    struct wj_writer                      w;
    size_t                                i, n, taken = 0;
    for (size_t k = 0; k < N; k++)
        taken += gone[k];
    bool empty = unsafe_yyjson_get_len(weft) == taken;
    *ret       = (struct upp_str){0};
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
        open_map(&w, (struct upp_str){0}, v, gone);
        wj_write_close(&w, '}');
        wj_write_close(&w, '}');
    }
    return wj_writer_text(&w, a, ret);
}

int wa_known_take(struct wb_arena *a, const struct upp_message *m, const struct upp_message *asked,
                  struct wa_known *ret, struct upp_err *err)
{
    bool        gone[N] = {false};
    yyjson_val *v;
    *ret = (struct wa_known){
        .message = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL, .message = *m}};
    int r = read_map(a, m->metadata, &v, err);
    if (r < 0)
        return r;
    yyjson_val *weft  = yyjson_is_obj(v) ? wm_weft_find(v) : NULL;
    yyjson_val *parts = weft ? yyjson_obj_get(weft, "parts") : NULL;
    parts             = yyjson_is_obj(parts) ? parts : NULL;
    r                 = take_parts(a, parts, asked, &ret->message.message, err);
    if (r < 0 || !weft)
        return r;
    ret->message.who = who_of(weft, gone);
    r                = take_events(a, yyjson_obj_get(weft, "events"), ret, err);
    gone[PARTS]      = parts;
    gone[EVENTS]     = r > 0;
    return r < 0 ? r : rest_of(a, v, gone, &ret->message.message.metadata, err);
}

int wa_known_take_events(struct wb_arena *a, struct upp_str *map, struct wa_known *ret, struct upp_err *err)
{
    static const bool gone[N] = {[EVENTS] = true};
    yyjson_val       *v;
    *ret  = (struct wa_known){0};
    int r = read_map(a, *map, &v, err);
    if (r < 0 || !yyjson_is_obj(v) || !wm_weft_find(v))
        return r;
    r = take_events(a, yyjson_obj_get(wm_weft_find(v), "events"), ret, err);
    return r <= 0 ? r : rest_of(a, v, gone, map, err);
}
