/* dialects/ui/system.c — finds Pydantic AI's system prompts in residue, and writes them as system messages. */
#include "dialects/ui/doc.h"

#include "dialects/pai/pai.h"

static bool is_prompt(yyjson_val *part)
{
    return wb_str_eq(wj_text_at(part, "part_kind"), UPP_STR("system-prompt")) && wj_text_at(part, "content").p;
}

static void begin_system(struct wd_lowering *l, struct upp_str id, struct upp_str time, struct upp_str usual)
{
    wj_write_open(&l->w, '{');
    wd_member(l, "id", id);
    wd_member(l, "role", UPP_STR("system"));
    if (time.p && !wb_str_eq(time, usual)) {
        wj_put_open(&l->w, "metadata", '{');
        wj_put_open(&l->w, "pydantic_ai", '{');
        wd_member(l, "timestamp", time);
        wj_write_close(&l->w, '}');
        wj_write_close(&l->w, '}');
    }
    wj_put_open(&l->w, "parts", '[');
}

static void put_prompt(struct wd_lowering *l, yyjson_val *part)
{
    wj_write_open(&l->w, '{');
    wd_member(l, "type", UPP_STR("text"));
    wd_member(l, "text", wj_text_at(part, "content"));
    wj_write_close(&l->w, '}');
}

static void end_system(struct wd_lowering *l)
{
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
}

/* A request that consists of prompts only, so that no entry of the model stands for it. */
static void put_whole(struct wd_ui_prompts *p, size_t number)
{
    yyjson_val *part, *parts = yyjson_obj_get(p->whole, "parts");
    size_t i, n;
    bool open = false;
    yyjson_arr_foreach(parts, i, n, part)
    {
        if (!is_prompt(part))
            continue;
        if (!open)
            begin_system(p->l, wb_arena_printf(&p->l->keep, "system-%zu-%zu", number, p->list.left),
                         wj_text_at(part, "timestamp"), (struct upp_str){0});
        open = true;
        put_prompt(p->l, part);
    }
    if (open)
        end_system(p->l);
}

/* The prompts of the request that begins with this entry. */
static void put_within(struct wd_ui_prompts *p, uint32_t entry)
{
    static const char *const path[] = {"metadata", "weft", "system", NULL};
    struct wd_lowering *l = p->l;
    yyjson_val *retained = wd_retained(l, "pydantic", "message", entry), *part;
    struct wd_retained_items parts = wd_retained_items(wd_retained_member(retained, "parts"));
    struct upp_str id = wd_retained_text(retained, path);
    bool open = false;
    while ((part = wd_retained_item(&parts))) {
        if (!is_prompt(part))
            continue;
        if (!open)
            begin_system(l, id.p ? id : wb_arena_numbered(&l->keep, UPP_STR("system-"), l->before + entry),
                         wj_text_at(part, "timestamp"), wd_pai_time_text(l, &wd_entry_at(l, entry)->e.message));
        open = true;
        put_prompt(l, part);
    }
    if (open)
        end_system(l);
}

/* How many entries a message of Pydantic AI became. */
static uint32_t span_of(const struct wd_lowering *l, uint32_t i)
{
    for (const struct wm_residue *r = wd_entry_at(l, i)->residue; r; r = r->next)
        if (wb_str_eq(r->dialect, UPP_STR("pydantic")) && wb_str_eq(r->slot, UPP_STR("message")) && r->entries)
            return r->entries;
    return 1;
}

struct wd_ui_prompts wd_ui_prompts(struct wd_lowering *l)
{
    struct wd_ui_prompts p = {.l = l, .list = wd_retained_items(wd_retained(l, "pydantic", "list", WD_THREAD))};
    p.whole = wd_retained_item(&p.list);
    return p;
}

void wd_ui_put_systems(struct wd_ui_prompts *p, uint32_t end)
{
    if (p->l->no_system || p->l->compare)
        return;
    do {
        while (p->whole && p->list.before <= p->written) {
            put_whole(p, p->written);
            p->whole = wd_retained_item(&p->list);
        }
        if (p->entry >= end)
            return;
        put_within(p, p->entry);
        p->entry += span_of(p->l, p->entry);
        p->written++;
    } while (p->entry < end);
}
