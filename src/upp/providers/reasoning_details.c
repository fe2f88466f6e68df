/* upp/providers/reasoning_details.c — joining what a stream cut. */
#include "upp/providers/reasoning_details.h"

#include "base/str.h"
#include "base/utf8.h"
#include "upp/providers/openai.h"

enum { MAX_MEMBERS = 64, MAX_TEXT = 64 << 20 };

/* The member that is cut into pieces; the others come whole. NULL: none, such a detail stands for itself. */
static const char *text_member(struct upp_str type)
{
    return wb_str_eq(type, UPP_STR("reasoning.text"))      ? "text"
           : wb_str_eq(type, UPP_STR("reasoning.summary")) ? "summary"
                                                           : NULL;
}

static struct upp_str get_index(yyjson_val *v)
{
    yyjson_val *index = upp__get(v, "index");
    return yyjson_is_raw(index) ? wj_text(index) : (struct upp_str){0};
}

/* A piece goes on with the last detail of its type and index. */
static bool goes_on(const struct upp__detail *last, yyjson_val *v)
{
    struct upp_str type = upp__get_str(v, "type"), index = get_index(v);
    return text_member(type) && wb_str_eq(last->type, type) && !last->index.p == !index.p &&
           wb_str_eq(last->index, index);
}

static void add_member(struct upp__reader *r, struct upp__detail *d, yyjson_val *key, bool text)
{
    yyjson_val *v = yyjson_obj_iter_get_val(key);
    size_t i = 0;
    while (i < d->members.n && !wb_str_eq(d->members.p[i].name, wj_text(key)))
        i++;
    if (i == d->members.n) {
        struct upp__detail_member m = {.name = wb_arena_dup(&r->keep, wj_text(key))};
        if (!wb_vec_push(&d->members, m, MAX_MEMBERS)) {
            upp__note(r, d->members.n >= MAX_MEMBERS ? -UPP_ELIMIT : -UPP_ENOMEM);
            return;
        }
    } else if (yyjson_is_null(v))
        return; /* "signature": null says nothing against the one that came before it */
    if (text && yyjson_is_str(v))
        wb_wtf8_add(&d->text, wj_text(v));
    else if (!text || !d->text.n)
        d->members.p[i].json = upp__json_text(&r->keep, v);
    if (text && d->text.n)
        d->members.p[i].json = (struct upp_str){0};
    if (d->text.failed)
        upp__note(r, d->text.failed);
}

static void add_detail(struct upp__reader *r, struct upp__details *all, yyjson_val *v)
{
    struct upp_str type = upp__get_str(v, "type");
    const char *name = text_member(type);
    yyjson_val *key;
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    if (!yyjson_is_obj(v))
        return;
    if (!all->list.n || !goes_on(&all->list.p[all->list.n - 1], v)) {
        struct upp__detail d = {.type = wb_arena_dup(&r->keep, type),
                                .index = wb_arena_dup(&r->keep, get_index(v)),
                                .text = WB_BUF(MAX_TEXT)};
        if (!wb_vec_push(&all->list, d, UPP__DETAILS)) {
            upp__note(r, all->list.n >= UPP__DETAILS ? -UPP_ELIMIT : -UPP_ENOMEM);
            return;
        }
    }
    while ((key = yyjson_obj_iter_next(&it)) && !r->failed)
        add_member(r, &all->list.p[all->list.n - 1], key, name && wb_str_eq(wj_text(key), wb_cstr(name)));
}

void upp__details_add(struct upp__reader *r, struct upp__details *d, yyjson_val *list)
{
    yyjson_val *v;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    while ((v = yyjson_arr_iter_next(&it)) && !r->failed)
        add_detail(r, d, v);
}

void upp__details_write(struct wj_writer *w, const struct upp__details *d)
{
    wj_write_open(w, '[');
    for (size_t i = 0; i < d->list.n; i++) {
        const struct upp__detail *one = &d->list.p[i];
        wj_write_open(w, '{');
        for (size_t k = 0; k < one->members.n; k++) {
            wj_write_name(w, one->members.p[k].name);
            if (one->members.p[k].json.p)
                wj_write_raw(w, one->members.p[k].json.p, one->members.p[k].json.n);
            else
                wj_write_str(w, wb_buf_str(&one->text));
        }
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

void upp__details_done(struct upp__details *d)
{
    for (size_t i = 0; i < d->list.n; i++) {
        wb_buf_done(&d->list.p[i].text);
        wb_vec_done(&d->list.p[i].members);
    }
    wb_vec_done(&d->list);
}
