/* dialects/thread/extension_read.c — reads what a thread carries of the model (extension_write.c writes it) into its
 * entries.
 *
 * What the object's members express is never taken from here: an edit of the members counts. All new entries and parts
 * are inserted first, in one pass, so the cost is linear in the number of rows, whatever they contain.
 */
#include "base/err.h"
#include "dialects/thread/extension.h"
#include "model/upp_weft.h"
#include "json/syntax.h"
#include "json/value.h"

struct reply {
    struct wj_node node;
    struct upp_str model_name, provider_name, provider_response_id, finish_reason;
    struct wd_tp_usage *usage;
};
static const struct wj_field reply_rows[] = {
    F_STR(struct reply, model_name, "model_name", 0),
    F_STR(struct reply, provider_name, "provider_name", 0),
    F_STR(struct reply, provider_response_id, "provider_response_id", 0),
    F_OBJ(struct reply, usage, "usage", 0, wd_tp_usage),
    F_STR(struct reply, finish_reason, "finish_reason", 0),
};
WJ_SHAPE(reply, struct reply, reply_rows);

struct model_row {
    struct wj_node node;
    uint64_t entry;
    struct upp_str part; /* a number; NULL: the row is about the entry */
    bool is_new, cut, interrupted;
    struct upp_str kind, role, id, name, message, text, title, source, mime, data, time;
    struct upp_str ms, duration, width, height; /* numbers */
    yyjson_val *metadata, *event, *agent, *who, *error;
    struct reply *reply;
};
static const struct wj_field rows[] = {
    F_U64(struct model_row, entry, "entry", 0),
    F_NUM(struct model_row, part, "part", 0),
    F_BOOL(struct model_row, is_new, "new", 0),
    F_STR(struct model_row, kind, "kind", 0),
    F_ANY(struct model_row, event, "event", 0),
    F_STR(struct model_row, role, "role", 0),
    F_STR(struct model_row, id, "id", 0),
    F_STR(struct model_row, name, "name", 0),
    F_STR(struct model_row, message, "message", 0),
    F_ANY(struct model_row, agent, "agent", 0),
    F_ANY(struct model_row, who, "who", 0),
    F_STR(struct model_row, time, "time", 0),
    F_NUM(struct model_row, ms, "ms", 0),
    F_STR(struct model_row, text, "text", 0),
    F_ANY(struct model_row, metadata, "metadata", 0),
    F_OBJ(struct model_row, reply, "said", 0, reply),
    F_STR(struct model_row, source, "source", 0),
    F_STR(struct model_row, mime, "mime", 0),
    F_STR(struct model_row, title, "title", 0),
    F_STR(struct model_row, data, "data", 0),
    F_NUM(struct model_row, duration, "duration", 0),
    F_NUM(struct model_row, width, "width", 0),
    F_NUM(struct model_row, height, "height", 0),
    F_ANY(struct model_row, error, "error", 0),
    F_BOOL(struct model_row, cut, "cut", 0),
    F_BOOL(struct model_row, interrupted, "interrupted", 0),
};
WJ_SHAPE(model_row, struct model_row, rows);

struct reader {
    struct wd_lifting *l;
    struct wd_carry *c;
    struct upp_err *err;
    uint64_t *entries, *parts; /* positions of new ones, in the order of the rows; NULL: none */
    size_t n_entries, n_parts;
};

/* ---- Inserting new entries and parts ---------------------------------------------------------------------------- */

/* Does the row name a new entry or part? */
static bool is_new(yyjson_val *row, uint64_t *entry, bool *has_part, uint64_t *part)
{
    yyjson_val *e = yyjson_obj_get(row, "entry"), *p = yyjson_obj_get(row, "part");
    *has_part = p;
    if (!yyjson_is_true(yyjson_obj_get(row, "new")) || !e || !yyjson_is_raw(e) || !wb_str_u64(wj_text(e), entry))
        return false;
    return !p || (yyjson_is_raw(p) && wb_str_u64(wj_text(p), part));
}

/* New entries are in order, without gaps; rows about any other are ignored. */
static int find_entries(struct reader *t, yyjson_val *list)
{
    yyjson_val *row;
    size_t i, max;
    uint64_t entry, part;
    bool has_part;
    yyjson_arr_foreach(list, i, max, row)
    {
        if (!is_new(row, &entry, &has_part, &part) || has_part || entry > t->c->n + t->n_entries ||
            (t->n_entries && entry <= t->entries[t->n_entries - 1]))
            continue;
        if (!t->entries)
            t->entries = wb_new_n(t->l->a, uint64_t, max - i);
        if (!t->entries)
            return wb_arena_check(t->l->a, t->err);
        t->entries[t->n_entries++] = entry;
    }
    return 0;
}

static int add_entries(struct reader *t)
{
    struct wd_carry *c = t->c;
    struct wm_doc *doc = t->l->doc;
    for (size_t i = 0; i < t->n_entries; i++)
        if (!wd_entry_add(t->l, 0, c->agent, c->time, t->err))
            return wd_error_of(t->err);
    size_t from = c->n, to = c->n + t->n_entries;
    for (size_t k = t->n_entries; k; to--) { /* from the end, each to its position */
        struct wm_doc_entry *p = &doc->entries.p[c->first];
        if (t->entries[k - 1] != to - 1) {
            p[to - 1] = p[--from];
            continue;
        }
        k--;
        p[to - 1] = (struct wm_doc_entry){
            .agent = c->agent,
            .e = {.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_IMPORT, .audience = WM_AUDIENCE_ALL}};
        if (c->agent != WM_NO_AGENT)
            p[to - 1].e.who = doc->agents.p[c->agent].name;
        p[to - 1].e.message.role = UPP_ROLE_USER; /* until its row is read, if it can be */
        wd_entry_time(c->time, t->l->now_ms, &p[to - 1].e.message);
    }
    c->n += (uint32_t)t->n_entries;
    return 0;
}

/* Inserts n empty parts at these positions of a message. */
static int add_parts(struct reader *t, struct upp_message *m, const uint64_t *at, size_t n)
{
    struct upp_part *parts = n ? wb_new_n(t->l->a, struct upp_part, m->n_parts + n) : NULL;
    size_t from = 0, k = 0;
    if (!parts)
        return wb_arena_check(t->l->a, t->err);
    for (size_t i = 0; i < m->n_parts + n; i++)
        if (k < n && at[k] == i)
            parts[i] = (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR("")}, k++;
        else
            parts[i] = m->parts[from++];
    m->parts = parts;
    m->n_parts += n;
    return 0;
}

/* The same for parts, entry by entry. */
static int find_parts(struct reader *t, yyjson_val *list)
{
    yyjson_val *row;
    size_t i, max, begin = 0;
    uint64_t entry, part, last = 0;
    bool has_part;
    int r = 0;
    struct upp_message *m = NULL;
    yyjson_arr_foreach(list, i, max, row)
    {
        if (!is_new(row, &entry, &has_part, &part) || !has_part || entry >= t->c->n || (m && entry < last))
            continue;
        if (!t->parts)
            t->parts = wb_new_n(t->l->a, uint64_t, max - i);
        if (!t->parts)
            return wb_arena_check(t->l->a, t->err);
        if (m && entry > last) {
            r = add_parts(t, m, t->parts + begin, t->n_parts - begin);
            begin = t->n_parts;
        }
        if (r < 0)
            return r;
        last = entry;
        m = &t->l->doc->entries.p[t->c->first + entry].e.message;
        size_t so_far = t->n_parts - begin;
        bool in_order = !so_far || part > t->parts[t->n_parts - 1];
        if (in_order && part <= m->n_parts + so_far && part < WD_PARTS && m->n_parts + so_far < WD_PARTS)
            t->parts[t->n_parts++] = part;
    }
    return m ? add_parts(t, m, t->parts + begin, t->n_parts - begin) : 0;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

static int read_media(struct reader *t, const struct model_row *b, uint8_t kind, struct upp_part *p)
{
    uint8_t source = wm_upp_word(b->source, wd_carried_sources, WB_LEN(wd_carried_sources));
    bool medium = kind >= UPP_PART_IMAGE && kind <= UPP_PART_BINARY;
    bool text = medium && source == UPP_SOURCE_TEXT && p->kind == UPP_PART_TEXT;
    struct upp_media *m;
    if (!p->media && !text && !(b->is_new && b->source.p))
        return 0;
    m = wb_new(t->l->a, struct upp_media);
    if (!m)
        return wb_arena_check(t->l->a, t->err);
    *m = p->media ? *p->media : (struct upp_media){.data = text ? p->text : b->data, .mime = b->mime};
    if (text)
        p->text = (struct upp_str){0};
    if (b->data.p)
        m->data = b->data;
    if (b->title.p)
        m->title = b->title;
    if (source && (b->is_new || text || m->source == UPP_SOURCE_BASE64))
        m->source = source;
    m->duration = b->duration;
    m->width = b->width;
    m->height = b->height;
    if (medium)
        p->kind = kind;
    p->media = m;
    return 0;
}

/* A result is JSON; invalid JSON becomes a string. Empty means none. */
static int as_result(struct reader *t, struct upp_part *p)
{
    struct wj_syntax seen;
    if (!p->text.n) {
        p->text = (struct upp_str){0};
        return 0;
    }
    return wj_syntax(p->text, WD_DOC_DEPTH, &seen, NULL) == 0 ? 0 : wd_string_text(t->l->a, p->text, &p->text, t->err);
}

static int read_part(struct reader *t, const struct model_row *b, struct upp_part *p)
{
    uint8_t kind = wm_upp_word(b->kind, wd_carried_kinds, WB_LEN(wd_carried_kinds));
    if (b->is_new)
        *p = (struct upp_part){.kind = kind ? kind : UPP_PART_TEXT, .id = b->id, .name = b->name, .text = b->text};
    else if (b->text.p) {
        p->text = b->text;
        p->metadata = (struct upp_str){0}; /* raw_args: the arguments did not come as a string */
    }
    p->cut |= b->cut;
    if (p->kind == UPP_PART_RESULT && b->error && yyjson_is_bool(b->error))
        p->is_error = yyjson_is_true(b->error);
    int r = p->kind == UPP_PART_RESULT && b->text.p ? as_result(t, p) : 0;
    if (r >= 0)
        r = read_media(t, b, kind, p);
    return r < 0 || !yyjson_is_obj(b->metadata) ? r : wj_value_text(t->l->a, b->metadata, &p->metadata, t->err);
}

/* ---- Entries ------------------------------------------------------------------------------------------------- */

static int read_author(struct reader *t, const struct model_row *b, struct wm_doc_entry *e)
{
    if (b->agent && yyjson_is_null(b->agent)) {
        e->agent = WM_NO_AGENT;
        e->e.who = (struct upp_str){0};
    } else if (b->agent && yyjson_is_str(b->agent)) {
        int r = wd_agent_of(t->l, wj_text(b->agent), (struct upp_str){0}, &e->agent, t->err);
        if (r < 0)
            return r;
        e->e.who = t->l->doc->agents.p[e->agent].name;
    }
    if (b->who)
        e->e.who = yyjson_is_str(b->who) ? wj_text(b->who) : (struct upp_str){0};
    return 0;
}

static void read_reply(const struct reply *s, struct wm_reply_info *to)
{
    *to = (struct wm_reply_info){.model = s->model_name,
                                 .provider = s->provider_name,
                                 .response = s->provider_response_id,
                                 .stop = s->finish_reason.p ? wd_pai_stop(s->finish_reason) : 0};
    wd_tp_lift_usage(s->usage, &to->has_usage, &to->usage);
}

static int read_entry(struct reader *t, const struct model_row *b, struct wm_doc_entry *e)
{
    struct upp_message *m = &e->e.message;
    uint64_t ms = 0;
    if (b->is_new) {
        e->e.kind = yyjson_is_obj(b->event) ? WM_ENTRY_EVENT : WM_ENTRY_MESSAGE;
        m->role = e->e.kind == WM_ENTRY_EVENT ? 0 : wm_upp_role_of(b->role);
        if (e->e.kind == WM_ENTRY_MESSAGE && !m->role)
            m->role = UPP_ROLE_USER;
    }
    e->id = b->id;
    m->id = b->message;
    m->interrupted = b->interrupted;
    if (b->time.p)
        wd_entry_time(b->time, t->l->now_ms, m);
    else if (b->ms.p && wb_str_u64(b->ms, &ms) && ms < (uint64_t)1 << 47) {
        m->time_ms = (int64_t)ms;
        m->time_text = (struct upp_str){0};
    }
    if (b->reply)
        read_reply(b->reply, &e->said);
    int r = read_author(t, b, e);
    if (r >= 0 && e->e.kind == WM_ENTRY_EVENT && yyjson_is_obj(b->event))
        r = wj_value_text(t->l->a, b->event, &e->e.data, t->err);
    return r < 0 || !yyjson_is_obj(b->metadata) ? r : wj_value_text(t->l->a, b->metadata, &m->metadata, t->err);
}

/* Was it inserted? */
static bool is_next(const struct model_row *b, uint64_t at, const uint64_t *positions, size_t n, size_t *next)
{
    if (!b->is_new)
        return true;
    if (*next == n || positions[*next] != at)
        return false;
    ++*next;
    return true;
}

/* Rows about something that does not exist stay in the document like unknown members. */
int wd_carried_parts_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c, struct upp_err *err)
{
    struct reader t = {.l = l, .c = c, .err = err};
    yyjson_val *list = yyjson_obj_get(x_weft, "model"), *one;
    size_t i, max, next_entry = 0, next_part = 0;
    int r = find_entries(&t, list);
    if (r >= 0)
        r = add_entries(&t);
    if (r >= 0)
        r = find_parts(&t, list);
    yyjson_arr_foreach(list, i, max, one)
    {
        struct model_row b;
        uint64_t part = 0;
        if (r < 0)
            break;
        if (!yyjson_is_obj(one) || WJ_DECODE(l->a, model_row, one, NULL, &b, NULL) < 0 || b.entry >= c->n)
            continue;
        struct wm_doc_entry *e = &l->doc->entries.p[c->first + b.entry];
        if (!b.part.p) {
            if (is_next(&b, b.entry, t.entries, t.n_entries, &next_entry))
                r = read_entry(&t, &b, e);
        } else if (wb_str_u64(b.part, &part) && part < e->e.message.n_parts &&
                   is_next(&b, part, t.parts, t.n_parts, &next_part))
            r = read_part(&t, &b, &e->e.message.parts[part]);
    }
    return r < 0 ? r : wb_arena_check(l->a, err);
}
