/* server/doors/chat/stored_messages.c — GET /v1/chat/completions/{completion}/messages: what a stored completion
 * answers.
 *
 * These are all messages before it, as its thread has them. A message's id is that of the completion and its position,
 * so that a page can begin after any of them; a message with several results is one message for each.
 */
#include "server/doors/chat/chat.h"

#include "base/defs.h"
#include "dialects/core/data_url.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/file_url.h"
#include "server/doors/objects/list_page.h"
#include "server/http/server.h"

enum { BATCH = 64, MEDIA_MAX = 64 << 20, PARTS_MAX = 1 << 16 };

struct list {
    struct sv_exchange *x;
    struct wj_writer w;
    uint64_t limit;
    bool up;
    uint32_t lo, hi;      /* positions that are left */
    uint64_t after;       /* key_of the message that the client has; UINT64_MAX: none */
    uint64_t first, last; /* keys of those that were written */
    size_t n;
    bool more;
};

/* A message's place in the list. */
static uint64_t key_of(uint32_t at, size_t part)
{
    return (uint64_t)at << 16 | part;
}

static struct upp_str id_of(const struct list *l, uint64_t key)
{
    struct upp_str of = l->x->params[0];
    unsigned at = (unsigned)(key >> 16), part = key & 0xffff;
    return part ? wb_arena_printf(&l->x->arena, "%.*s-%u.%u", UPP_FMT(of), at, part)
                : wb_arena_printf(&l->x->arena, "%.*s-%u", UPP_FMT(of), at);
}

static bool parse_id(const struct list *l, struct upp_str id, uint64_t *ret)
{
    struct upp_str of = l->x->params[0], rest = wb_str_sub(id, of.n + 1, SIZE_MAX), at;
    uint64_t n, part = 0;
    if (!wb_str_starts(id, of) || id.n < of.n + 2 || id.p[of.n] != '-' || !wb_str_split(&rest, '.', &at))
        return false;
    if (!wb_str_u64(at, &n) || n >= UINT32_MAX || (rest.p && (!wb_str_u64(rest, &part) || part >= PARTS_MAX)))
        return false;
    *ret = key_of((uint32_t)n, (size_t)part);
    return true;
}

static int put_media(struct wj_writer *w, const struct upp_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(MEDIA_MAX);
    bool image = p->kind == UPP_PART_IMAGE;
    struct upp_str id, data;
    bool file = wm_part_file(p, &id);
    bool is = p->media->source == UPP_SOURCE_URL;
    int r = is ? 0 : wd_data_url(p->media, wd_media_type(p->media), &url, w->err);
    data = is ? p->media->data : wb_buf_str(&url);
    wj_put_str(w, "type", image ? UPP_STR("image_url") : UPP_STR("file"));
    wj_put_open(w, image ? "image_url" : "file", '{');
    if (image)
        wj_put_str(w, "url", data);
    else
        wj_put_str(w, file ? "file_id" : "file_data", file ? id : data);
    wj_write_close(w, '}');
    return r;
}

static int put_part(struct wj_writer *w, const struct upp_part *p)
{
    int r = 0;
    wj_write_open(w, '{');
    if (p->media)
        r = put_media(w, p);
    else {
        wj_put_str(w, "type", UPP_STR("text"));
        wj_put_str_or_empty(w, "text", p->text);
    }
    wj_write_close(w, '}');
    return r;
}

/* The text, or null without one; content with more than text also as its parts. */
static int put_content(struct wj_writer *w, const struct upp_message *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(MEDIA_MAX);
    const struct upp_part *p = NULL;
    bool others = false;
    int r = 0;
    while ((p = upp_part_next(m, p, UPP_PARTS_CONTENT))) {
        others = others || p->media;
        wb_buf_add(&text, p->text);
    }
    wj_put_str(w, "content", text.n ? wb_buf_str(&text) : (struct upp_str){NULL, 0});
    if (!others) {
        wj_put_null(w, "content_parts");
        return wb_buf_check(&text, w->err);
    }
    wj_put_open(w, "content_parts", '[');
    while (r >= 0 && (p = upp_part_next(m, p, UPP_PARTS_CONTENT)))
        r = put_part(w, p);
    wj_write_close(w, ']');
    return r < 0 ? r : wb_buf_check(&text, w->err);
}

static void put_calls(struct wj_writer *w, const struct upp_message *m)
{
    const struct upp_part *p = upp_part_next(m, NULL, UPP_PARTS_CALLS);
    if (!p)
        return;
    wj_put_open(w, "tool_calls", '[');
    for (; p; p = upp_part_next(m, p, UPP_PARTS_CALLS)) {
        wj_write_open(w, '{');
        wj_put_str(w, "id", p->id);
        wj_put_str(w, "type", UPP_STR("function"));
        wj_put_open(w, "function", '{');
        wj_put_str(w, "name", p->name);
        wj_put_str(w, "arguments", p->text.n ? p->text : UPP_STR("{}"));
        wj_write_close(w, '}');
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

/* A client's result is a JSON string in the log, and its text here; of any other value the JSON is. */
static int put_result(struct list *l, const struct upp_part *result)
{
    struct upp_str text = result->text;
    yyjson_val *v = NULL;
    int r = text.n && text.p[0] == '"' ? wj_read(&l->x->arena, text, NULL, &v, l->w.err) : 0;
    if (r < 0)
        return r;
    wj_put_str(&l->w, "tool_call_id", result->id);
    wj_put_str_or_empty(&l->w, "content", v ? wj_text_of(v) : text);
    wj_put_null(&l->w, "content_parts");
    return 0;
}

static int put_message(struct list *l, uint64_t key, const struct upp_message *m, const struct upp_part *result)
{
    struct wj_writer *w = &l->w;
    int r = 0;
    wj_write_open(w, '{');
    wj_put_str(w, "id", id_of(l, key));
    wj_put_str(w, "role",
               result                          ? UPP_STR("tool")
               : m->role == UPP_ROLE_ASSISTANT ? UPP_STR("assistant")
                                               : UPP_STR("user"));
    if (result) {
        r = put_result(l, result);
    } else {
        r = put_content(w, m);
        put_calls(w, m);
    }
    wj_put_null(w, "name");
    wj_put_null(w, "refusal");
    wj_write_close(w, '}');
    return r;
}

static int take_message(struct list *l, uint64_t key, const struct upp_message *m, const struct upp_part *result)
{
    if (l->after != UINT64_MAX && (l->up ? key <= l->after : key >= l->after))
        return 0;
    l->more = l->n == l->limit;
    if (l->more)
        return 0;
    l->last = key;
    if (!l->n++)
        l->first = key;
    return put_message(l, key, m, result);
}

static int take_line(struct list *l, const struct wl_line *line, uint32_t at)
{
    const struct wm_entry *e = &line->entry;
    const struct upp_message *m = &e->message;
    int r = 0;
    if (e->kind != WM_ENTRY_MESSAGE || e->audience != WM_AUDIENCE_ALL || wm_is_erased(e) || wm_is_prompt(e))
        return 0;
    if (m->role != UPP_ROLE_TOOL)
        return take_message(l, key_of(at, 0), m, NULL);
    for (size_t k = 0; r >= 0 && k < m->n_parts && k < PARTS_MAX && !l->more; k++) {
        size_t i = l->up ? k : m->n_parts - 1 - k;
        if (m->parts[i].kind == UPP_PART_RESULT)
            r = take_message(l, key_of(at, i), m, &m->parts[i]);
    }
    return r;
}

WEFT_SUSPENDS static int write_lines(struct list *l, const struct wl_path *path, struct upp_err *err)
{
    struct sv_exchange *x = l->x;
    while (l->lo < l->hi && !l->more) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
        uint32_t n = WB_MIN(l->hi - l->lo, (uint32_t)BATCH);
        uint32_t end = l->up ? l->lo + n : l->hi;
        struct wl_line *lines;
        size_t got;
        int r = wl_path_tail(x->server->opts.store, &x->owner, path, end, n, &a, &lines, &got, err);
        for (size_t k = 0; r >= 0 && k < got && !l->more; k++) {
            size_t i = l->up ? k : got - 1 - k;
            r = take_line(l, &lines[i], end - n + (uint32_t)i);
        }
        if (r < 0)
            return r;
        l->lo += l->up ? n : 0;
        l->hi -= l->up ? 0 : n;
    }
    return 0;
}

static int read_page(struct list *l, const struct wl_path *path, struct upp_err *err)
{
    struct upp_str after;
    int r = sv_chat_limit(l->x, &l->limit, &l->up, err);
    l->hi = path->length;
    l->after = UINT64_MAX;
    if (r >= 0)
        r = sv_query(l->x, UPP_STR("after"), &after, err);
    if (r <= 0)
        return r;
    if (!parse_id(l, after, &l->after) || l->after >> 16 >= path->length)
        return upp_fail(err, UPP_EINVALID, "'after' names no message of this completion: '%.*s'", UPP_FMT(after));
    uint32_t at = (uint32_t)(l->after >> 16);
    if (l->up)
        l->lo = at;
    else
        l->hi = at + 1;
    return 0;
}

WEFT_SUSPENDS static int list_here(struct sv_exchange *x, struct upp_err *err)
{
    struct list l = {.x = x};
    struct wl_path path;
    int r = sv_stored_context(x, x->work, &path, err);
    if (r >= 0)
        r = read_page(&l, &path, err);
    if (r < 0)
        return r;
    wj_writer_init(&l.w, &x->reply.body, err);
    sv_list_begin(&l.w);
    r = write_lines(&l, &path, err);
    if (r < 0)
        return r;
    const struct upp_str none = {NULL, 0};
    sv_list_end_text(&l.w, l.n ? id_of(&l, l.first) : none, l.n ? id_of(&l, l.last) : none, l.more);
    r = wb_arena_check(&x->arena, err);
    return r < 0 ? r : sv_finish(x, &l.w);
}

int sv_chat_list_messages(struct sv_exchange *x, struct upp_err *err)
{
    return sv_chat_at_home(x, list_here, err);
}
