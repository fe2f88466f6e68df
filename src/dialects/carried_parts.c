/* dialects/carried_parts.c — what the model has and ThreadProtocol's own members cannot say, in a thread.
 *
 *     "x_weft": {"model": [{"entry": 0, "id": "msg_1", "metadata": {...}, "interrupted": true},
 *                          {"entry": 0, "part": 2, "metadata": {...}, "cut": true}]}
 *
 * So a thread carries the whole model: what came from a dialect that says more of a part (metadata of any provider, a
 * file's name, where it was cut) comes back to it whole. Most parts need nothing of it.
 */
#include "base/err.h"
#include "dialects/lift.h"
#include "dialects/thread.h"
#include "json/read.h"
#include "json/value.h"

struct beside {
    struct wj_node node;
    uint64_t       entry, ms;
    struct upp_str part, id, message, text, title, time; /* part: a number; none: it is about the entry */
    yyjson_val    *metadata;
    bool           cut, interrupted;
};
static const struct wj_field rows[] = {
    F_U64(struct beside, entry, "entry", 0),
    F_NUM(struct beside, part, "part", 0),
    F_STR(struct beside, id, "id", 0),
    F_STR(struct beside, message, "message", 0),
    F_STR(struct beside, text, "text", 0),
    F_ANY(struct beside, metadata, "metadata", 0),
    F_STR(struct beside, title, "title", 0),
    F_BOOL(struct beside, cut, "cut", 0),
    F_BOOL(struct beside, interrupted, "interrupted", 0),
    F_STR(struct beside, time, "time", 0),
    F_U64(struct beside, ms, "ms", 0),
};
WJ_SHAPE(beside, struct beside, rows);

/* ---- What the members of a part say of its metadata -------------------------------------------------------- */

enum {
    SAID     = 1 << 0, /* a text of an answer */
    THOUGHT  = 1 << 1,
    CALL     = 1 << 2,
    RESULT   = 1 << 3,
    FILE_    = 1 << 4,
    ASKED    = 1 << 5, /* a medium of a prompt */
    FEEDBACK = 1 << 6, /* a text that is a retry-prompt */
    RETRY    = 1 << 7, /* a result that is one */
};

/* In the order in which pai_lift.c writes them. */
static const struct {
    const char *name;
    unsigned    kinds;
    char        type; /* 's' a text, 't' true, 'a' anything but null */
} members[] = {
    {"identifier", FILE_ | ASKED, 's'},
    {"force_download", FILE_ | ASKED, 'a'},
    {"vendor_metadata", FILE_ | ASKED, 'a'},
    {"id", SAID | THOUGHT | CALL | FILE_, 's'},
    {"signature", THOUGHT, 's'},
    {"provider_name", SAID | THOUGHT | CALL | FILE_, 's'},
    {"provider_details", SAID | THOUGHT | CALL | FILE_, 'a'},
    {"tool_kind", CALL | RESULT, 's'},
    {"raw_args", CALL, 't'},
    {"retry", FEEDBACK | RETRY, 't'},
    {"errors", FEEDBACK, 't'},
    {"outcome", RESULT, 's'},
    {"status", RESULT, 's'},
    {"metadata", RESULT, 'a'},
};

static unsigned kind_of(const struct upp_message *m, const struct upp_part *p, bool retry)
{
    bool prompt = m->role == UPP_ROLE_USER;
    if (p->media)
        return prompt ? ASKED : FILE_;
    switch (p->kind) {
    case UPP_PART_TEXT:
        return !prompt ? SAID : retry && m->n_parts == 1 ? FEEDBACK : 0;
    case UPP_PART_REASONING:
        return THOUGHT;
    case UPP_PART_CALL:
        return CALL;
    default:
        return retry ? RETRY : RESULT;
    }
}

static bool is_type(yyjson_val *v, char type)
{
    return type == 's' ? yyjson_is_str(v) : type == 't' ? yyjson_is_true(v) : !yyjson_is_null(v);
}

/* Will reading the thread make the very same metadata? */
static bool thread_says(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p)
{
    yyjson_val *v  = NULL, *own, *key;
    size_t      at = 0;
    if (!p->metadata.n)
        return true;
    wb_arena_reset(&l->scratch);
    v = wd_scratch_read(l, p->metadata);
    if (!yyjson_is_obj(v))
        return true; /* no metadata at all */
    own = yyjson_obj_get(v, "pydantic_ai");
    if (!yyjson_is_obj(own) || unsafe_yyjson_get_len(v) != 1 || !unsafe_yyjson_get_len(own))
        return false;
    unsigned kind = kind_of(m, p, yyjson_is_true(yyjson_obj_get(own, "retry")));
    key           = unsafe_yyjson_get_first(own);
    for (size_t n = unsafe_yyjson_get_len(own); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        while (at < WB_LEN(members) && !wb_str_eq(wj_text(key), wb_cstr(members[at].name)))
            at++;
        if (at == WB_LEN(members) || !(members[at].kinds & kind) || !is_type(key + 1, members[at].type))
            return false;
        at++;
    }
    return true;
}

/* A call whose arguments are a text, null or nothing at all would come back otherwise. */
static bool same_text(const struct upp_part *p)
{
    if (p->kind != UPP_PART_CALL)
        return true;
    if (!p->text.n)
        return !p->cut;
    return p->text.p[0] != '"' && !wb_str_eq(p->text, UPP_STR("null"));
}

static bool is_raw(struct upp_str metadata)
{
    return wb_str_find(metadata, UPP_STR("\"raw_args\":true"), 0) != SIZE_MAX;
}

struct needs {
    bool metadata, text, title, cut;
};

static struct needs needs_of(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p)
{
    bool text = !same_text(p) && !is_raw(p->metadata);
    return (struct needs){.metadata = text ? p->metadata.n : !thread_says(l, m, p),
                          .text     = text,
                          .title    = p->media && p->media->title.p,
                          .cut      = p->cut};
}

static bool any(struct needs n)
{
    return n.metadata || n.text || n.title || n.cut;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

/* Has it a time that the object, which has that of its first entry, does not say? */
static bool has_time(const struct wd_lowering *l, uint32_t first, uint32_t i)
{
    const struct upp_message *m = &l->doc->entries.p[i].e.message, *begin = &l->doc->entries.p[first].e.message;
    return m->time_ms != begin->time_ms || !wb_str_eq(m->time_text, begin->time_text);
}

/* Of the message itself. */
static bool has_more(const struct wd_lowering *l, uint32_t first, uint32_t i)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    return e->id.p || e->e.message.id.p || e->e.message.metadata.n || e->e.message.interrupted || has_time(l, first, i);
}

static void put_time(struct wd_lowering *l, const struct upp_message *m)
{
    wd_member(l, "time", m->time_text);
    if (!m->time_text.p && m->time_ms > 0)
        wd_member_u64(l, "ms", (uint64_t)m->time_ms);
}

bool wd_carries_parts(struct wd_lowering *l, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; !l->pure && first != WD_THREAD && i < first + n; i++) {
        const struct wm_doc_entry *e = &l->doc->entries.p[i];
        if (has_more(l, first, i))
            return true;
        for (size_t k = 0; k < e->e.message.n_parts; k++)
            if (any(needs_of(l, &e->e.message, &e->e.message.parts[k])))
                return true;
    }
    return false;
}

static void put_part(struct wd_lowering *l, uint32_t entry, size_t part, const struct upp_part *p, struct needs needs)
{
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "entry", entry);
    wd_member_u64(l, "part", part);
    if (needs.text)
        wd_member(l, "text", p->text.p ? p->text : UPP_STR(""));
    if (needs.metadata)
        wd_member_json(l, "metadata", p->metadata);
    if (needs.title)
        wd_member(l, "title", p->media->title);
    if (needs.cut) {
        wd_name(l, "cut");
        wj_write_bool(&l->w, true);
    }
    wj_write_close(&l->w, '}');
}

static void put_entry(struct wd_lowering *l, uint32_t entry, const struct wm_doc_entry *e, bool time)
{
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "entry", entry);
    wd_member(l, "id", e->id);
    wd_member(l, "message", e->e.message.id);
    if (time)
        put_time(l, &e->e.message);
    wd_member_json(l, "metadata", e->e.message.metadata);
    if (e->e.message.interrupted) {
        wd_name(l, "interrupted");
        wj_write_bool(&l->w, true);
    }
    wj_write_close(&l->w, '}');
}

void wd_carried_parts_write(struct wd_lowering *l, uint32_t first, uint32_t n)
{
    wd_name(l, "model");
    wj_write_open(&l->w, '[');
    for (uint32_t i = 0; i < n; i++) {
        const struct wm_doc_entry *e = &l->doc->entries.p[first + i];
        if (has_more(l, first, first + i))
            put_entry(l, i, e, has_time(l, first, first + i));
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            struct needs needs = needs_of(l, &e->e.message, &e->e.message.parts[k]);
            if (any(needs))
                put_part(l, i, k, &e->e.message.parts[k], needs);
        }
    }
    wj_write_close(&l->w, ']');
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

static int read_part(struct wd_lifting *l, const struct beside *b, struct upp_part *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(WD_DOC_BYTES);
    if (b->text.p && p->kind == UPP_PART_CALL) {
        p->text     = b->text;
        p->metadata = (struct upp_str){0}; /* that it came as a text, which it did not */
    }
    p->cut |= b->cut;
    if (b->title.p && p->media) {
        struct upp_media *media = wb_new(l->a, struct upp_media);
        if (media) {
            *media       = *p->media;
            media->title = b->title;
            p->media     = media;
        }
    }
    if (yyjson_is_obj(b->metadata)) {
        int r = wj_write(b->metadata, &json, err);
        if (r < 0)
            return r;
        p->metadata = wb_arena_dup(l->a, wb_buf_str(&json));
    }
    return wb_arena_check(l->a, err);
}

/* What is about nothing that is there stays in the document as any unknown member does. */
int wd_carried_parts_read(struct wd_lifting *l, yyjson_val *x_weft, uint32_t first, uint32_t n, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(x_weft, "model"), *one;
    size_t      i, max;
    yyjson_arr_foreach(list, i, max, one)
    {
        struct beside b;
        uint64_t      part = 0;
        if (!yyjson_is_obj(one) || WJ_DECODE(l->a, beside, one, NULL, &b, NULL) < 0 || b.entry >= n)
            continue;
        struct wm_doc_entry *e = &l->doc->entries.p[first + b.entry];
        if (!b.part.p) {
            e->id                    = b.id;
            e->e.message.id          = b.message;
            e->e.message.interrupted = b.interrupted;
            if (b.time.p)
                wd_entry_time(b.time, e->e.message.time_ms, &e->e.message);
            else if (b.ms && b.ms < (uint64_t)1 << 47) {
                e->e.message.time_ms   = (int64_t)b.ms;
                e->e.message.time_text = (struct upp_str){0};
            }
            int r = yyjson_is_obj(b.metadata) ? wd_value_text(l->a, b.metadata, &e->e.message.metadata, err) : 0;
            if (r < 0)
                return r;
        } else if (wb_str_u64(b.part, &part) && part < e->e.message.n_parts) {
            int r = read_part(l, &b, &e->e.message.parts[part], err);
            if (r < 0)
                return r;
        }
    }
    return wb_arena_check(l->a, err);
}
