/* model/message.c — iterates over messages, renders them as text, copies them. */
#include <upp/message.h>

#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"

const struct upp_part *upp_part_next(const struct upp_message *m, const struct upp_part *prev, unsigned kinds)
{
    for (size_t i = prev ? (size_t)(prev - m->parts) + 1 : 0; i < m->n_parts; i++)
        if (m->parts[i].kind < 32 && kinds >> m->parts[i].kind & 1)
            return &m->parts[i];
    return NULL;
}

/* The text of a part: a string result without its quotes, any other as JSON. */
static struct upp_str part_text(struct wb_arena *a, const struct upp_part *p)
{
    yyjson_val *v;
    if (p->kind == UPP_PART_RESULT && p->text.n && p->text.p[0] == '"' && wj_read(a, p->text, NULL, &v, NULL) == 0)
        return wj_text(v);
    return p->text;
}

struct upp_str wm_message_text(struct wb_arena *a, const struct upp_message *m)
{
    unsigned kinds = m->role == UPP_ROLE_TOOL ? UPP_PARTS_RESULTS : 1u << UPP_PART_TEXT;
    const struct upp_part *p = NULL;
    size_t n = 0, total = 0;
    while ((p = upp_part_next(m, p, kinds)))
        n++;
    struct upp_str *texts = wb_new_n(a, struct upp_str, n ? n : 1);
    if (!texts)
        return (struct upp_str){0};
    for (size_t i = 0; i < n; i++) {
        p = upp_part_next(m, p, kinds);
        texts[i] = part_text(a, p);
        total += texts[i].n + (i ? 2 : 0);
    }
    char *to = wb_arena_alloc(a, total + 1, 1), *at = to;
    if (!to || a->failed)
        return (struct upp_str){0};
    for (size_t i = 0; i < n; i++) {
        if (i) {
            *at++ = '\n';
            *at++ = '\n';
        }
        if (texts[i].n)
            memcpy(at, texts[i].p, texts[i].n);
        at += texts[i].n;
    }
    *at = 0;
    return wb_str(to, total);
}

static const struct upp_media *copy_media(struct wb_arena *a, const struct upp_media *m)
{
    struct upp_media *to = m ? wb_new(a, struct upp_media) : NULL;
    if (to)
        *to = (struct upp_media){.source = m->source,
                                 .data = wb_arena_dup(a, m->data),
                                 .mime = wb_arena_dup(a, m->mime),
                                 .title = wb_arena_dup(a, m->title),
                                 .duration = wb_arena_dup(a, m->duration),
                                 .width = wb_arena_dup(a, m->width),
                                 .height = wb_arena_dup(a, m->height)};
    return to;
}

int wm_message_copy(struct wb_arena *a, const struct upp_message *m, struct upp_message *ret, struct upp_err *err)
{
    struct upp_message to = *m;
    to.id = wb_arena_dup(a, m->id);
    to.time_text = wb_arena_dup(a, m->time_text);
    to.metadata = wb_arena_dup(a, m->metadata);
    to.parts = m->n_parts ? wb_new_n(a, struct upp_part, m->n_parts) : NULL;
    for (size_t i = 0; to.parts && i < m->n_parts; i++) {
        to.parts[i] = m->parts[i];
        to.parts[i].id = wb_arena_dup(a, m->parts[i].id);
        to.parts[i].name = wb_arena_dup(a, m->parts[i].name);
        to.parts[i].text = wb_arena_dup(a, m->parts[i].text);
        to.parts[i].metadata = wb_arena_dup(a, m->parts[i].metadata);
        to.parts[i].media = copy_media(a, m->parts[i].media);
    }
    int r = wb_arena_check(a, err);
    if (r == 0)
        *ret = to;
    return r;
}
