/* server/doors/responses/item_list.c — writes entries of the log as items, and lists them in pages. */
#include "server/doors/responses/responses.h"

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "dialects/core/data_url.h"
#include "dialects/responses/response.h"
#include "model/file_url.h"
#include "server/doors/objects/list_page.h"
#include "server/http/server.h"

enum { BATCH = 64 };

bool sv_item_is_content(const struct upp_part *p)
{
    return p->kind == UPP_PART_TEXT || p->media;
}

/* The parts of an entry that begin an item, in order; at most `max`. */
size_t sv_items_of(const struct wl_line *line, uint32_t *parts, size_t max)
{
    const struct wm_entry *e = &line->entry;
    bool content = false;
    size_t n = 0;
    if (e->kind != WM_ENTRY_MESSAGE || e->audience != WM_AUDIENCE_ALL || wm_is_erased(e) || wm_is_prompt(e))
        return 0;
    for (size_t i = 0; i < e->message.n_parts && n < max; i++) {
        if (sv_item_is_content(&e->message.parts[i]) && content)
            continue;
        content = content || sv_item_is_content(&e->message.parts[i]);
        parts[n++] = (uint32_t)i;
    }
    return n;
}

static void put_input(struct wj_writer *w, const struct upp_part *p)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(64 << 20);
    wj_write_open(w, '{');
    if (!p->media) {
        wj_put_str(w, "type", UPP_STR("input_text"));
        wj_put_str_or_empty(w, "text", p->text);
    } else {
        struct upp_str id;
        bool image = p->kind == UPP_PART_IMAGE, address = p->media->source == UPP_SOURCE_URL;
        int r = address ? 0 : wd_data_url(p->media, wd_media_type(p->media), &url, w->err);
        if (r < 0)
            wj_writer_fail(w, r);
        wj_put_str(w, "type", image ? UPP_STR("input_image") : UPP_STR("input_file"));
        if (wm_part_file(p, &id))
            wj_put_str(w, "file_id", id);
        else if (image)
            wj_put_str(w, "image_url", address ? p->media->data : wb_buf_str(&url));
        else
            wj_put_str(w, address ? "file_url" : "file_data", address ? p->media->data : wb_buf_str(&url));
        if (image)
            wj_put_str(w, "detail", UPP_STR("auto"));
        else
            wj_put_str(w, "filename", p->media->title);
    }
    wj_write_close(w, '}');
}

static void put_user(struct wj_writer *w, const struct wl_line *line)
{
    wj_write_open(w, '{');
    asst_put_id(w, "id", "msg_", line->id);
    wj_put_str(w, "type", UPP_STR("message"));
    wj_put_str(w, "status", UPP_STR("completed"));
    wj_put_open(w, "content", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(&line->entry.message, p, UPP_PARTS_CONTENT));)
        put_input(w, p);
    wj_write_close(w, ']');
    wj_put_str(w, "role", UPP_STR("user"));
    wj_write_close(w, '}');
}

void sv_item_put(struct wj_writer *w, const struct sv_item *i)
{
    const struct upp_message *m = &i->line->entry.message;
    const struct upp_part *p = &m->parts[i->part];
    struct wb_uuid id = wm_id_within(i->line->id, WM_NOUN_PART, i->part);
    if (p->kind == UPP_PART_REASONING)
        resp_reasoning_item(w, id, p->text);
    else if (p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
        resp_call_item(w, id, p);
    else if (m->role == UPP_ROLE_USER)
        put_user(w, i->line);
    else
        resp_message_item(w, i->line->id, m, m->interrupted ? "incomplete" : "completed");
}

static void put_item_id(struct wj_writer *w, const char *name, const struct sv_item *i)
{
    const struct upp_part *p = i ? &i->line->entry.message.parts[i->part] : NULL;
    wj_write_name(w, wb_cstr(name));
    if (!i)
        wj_write_null(w);
    else if (sv_item_is_content(p))
        asst_id(w, "msg_", i->line->id);
    else
        asst_id(w,
                p->kind == UPP_PART_REASONING ? "rs_"
                : p->kind == UPP_PART_CALL    ? "fc_"
                                              : "fco_",
                wm_id_within(i->line->id, WM_NOUN_PART, i->part));
}

bool sv_item_parse(struct upp_str id, struct wm_id *ret)
{
    size_t at = wb_str_find(id, UPP_STR("_"), 0);
    struct wb_uuid u;
    return at < id.n && wl_id_parse(wb_str_sub(id, at + 1, SIZE_MAX), UPP_STR("msg_"), &u) && wm_id_parse(u, ret);
}

static int read_page(struct sv_exchange *x, const struct wl_path *path, struct sv_item_page *p, struct upp_err *err)
{
    struct upp_str after;
    *p = (struct sv_item_page){.hi = path->length};
    int r = sv_read_limit(x, &p->limit, &p->up, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &after, err);
    if (r > 0) {
        bool known = sv_item_parse(after, &p->after);
        for (size_t i = 0; known && i <= path->n; i++) {
            if (i == path->n)
                known = false;
            else if (path->spans[i].node == p->after.node && p->after.index < path->spans[i].length) {
                uint32_t at = path->spans[i].before + p->after.index;
                *(p->up ? &p->lo : &p->hi) = p->up ? at : at + 1;
                break;
            }
        }
        if (!known)
            return upp_fail(err, UPP_EINVALID, "'after' names no item of this conversation: '%.*s'", UPP_FMT(after));
    }
    p->found = wb_new_n(&x->arena, struct sv_item, p->limit + 1);
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

/* Is it behind the cursor, in the order of the list? */
static bool is_left(const struct sv_item_page *p, const struct wl_line *line, uint32_t part)
{
    bool at = p->after.node && line->node == p->after.node && line->index == p->after.index;
    if (!at)
        return true;
    if (p->after.noun != WM_NOUN_PART) { /* the message: its first content part */
        uint32_t i = 0;
        while (i < line->entry.message.n_parts && !sv_item_is_content(&line->entry.message.parts[i]))
            i++;
        return p->up ? part > i : part < i;
    }
    return p->up ? part > p->after.part : part < p->after.part;
}

int sv_item_take(struct sv_exchange *x, struct sv_item_page *p, const struct wl_line *line, struct upp_err *err)
{
    size_t max = line->entry.kind == WM_ENTRY_MESSAGE ? line->entry.message.n_parts : 0;
    uint32_t *parts = wb_new_n(&x->arena, uint32_t, max + 1);
    if (!parts)
        return wb_arena_check(&x->arena, err);
    size_t n = sv_items_of(line, parts, max);
    for (size_t i = 0; i < n && p->n <= p->limit; i++) {
        uint32_t part = parts[p->up ? i : n - 1 - i];
        if (is_left(p, line, part))
            p->found[p->n++] = (struct sv_item){line, part};
    }
    return 0;
}

int sv_items_write(struct sv_exchange *x, const struct sv_item *items, size_t n, bool more, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++)
        sv_item_put(&w, &items[i]);
    wj_write_close(&w, ']');
    put_item_id(&w, "first_id", n ? &items[0] : NULL);
    put_item_id(&w, "last_id", n ? &items[n - 1] : NULL);
    wj_put_bool(&w, "has_more", more);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

int sv_items_list(struct sv_exchange *x, const struct wl_path *path, struct upp_err *err)
{
    struct sv_item_page p;
    struct wl_line *lines;
    size_t got;
    int r = read_page(x, path, &p, err);
    while (r >= 0 && p.lo < p.hi && p.n <= p.limit) {
        uint32_t n = WB_MIN(p.hi - p.lo, (uint32_t)BATCH);
        r = wl_path_tail(x->server->opts.store, &x->owner, path, p.up ? p.lo + n : p.hi, n, &x->arena, &lines, &got,
                         err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = sv_item_take(x, &p, &lines[p.up ? i : got - 1 - i], err);
        p.lo += p.up ? n : 0;
        p.hi -= p.up ? 0 : n;
    }
    if (r < 0)
        return r;
    return sv_items_write(x, p.found, WB_MIN(p.n, (size_t)p.limit), p.n > p.limit, err);
}
