/* dialects/core/retained.c — finds system prompts and metadata in the residue of pydantic and ui. */
#include "dialects/core/retained.h"

#include "json/read.h"
#include "json/value.h"

/* Is the node a list with this tag? */
static bool is_tagged(yyjson_val *node, const char *tag)
{
    yyjson_val *first = yyjson_arr_get_first(node);
    return first && yyjson_is_str(first) && wj_named(first, wb_cstr(tag));
}

yyjson_val *wd_retained(struct wd_lowering *l, const char *dialect, const char *slot, uint32_t entry)
{
    const struct wm_residue *r = entry == WD_THREAD ? l->doc->residue : wd_entry_at(l, entry)->residue;
    yyjson_val *root = NULL;
    while (r && !(wb_str_eq(r->dialect, wb_cstr(dialect)) && wb_str_eq(r->slot, wb_cstr(slot))))
        r = r->next;
    if (!r || l->compare)
        return NULL;
    int failed = wj_read(&l->keep, r->json, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WJ_DEPTH_MAX),
                         &root, NULL);
    if (failed == -UPP_ENOMEM)
        wj_writer_fail(&l->w, upp_fail(l->w.err, UPP_ENOMEM, "no memory for what was kept"));
    return failed < 0 ? NULL : root;
}

/* The value stored in a node; NULL: none. */
static yyjson_val *stored_value(yyjson_val *node)
{
    return is_tagged(node, "l") || is_tagged(node, "k") ? yyjson_arr_get(node, 1) : NULL;
}

yyjson_val *wd_retained_member(yyjson_val *node, const char *name)
{
    return yyjson_obj_get(is_tagged(node, "o") ? yyjson_arr_get(node, 1) : node, name);
}

struct upp_str wd_retained_text(yyjson_val *node, const char *const *path)
{
    for (; *path && node; path++) {
        yyjson_val *whole = stored_value(node);
        if (whole) { /* stored whole from here on */
            for (; *path; path++)
                whole = yyjson_obj_get(whole, *path);
            return wj_text_of(whole);
        }
        node = wd_retained_member(node, *path);
    }
    yyjson_val *v = stored_value(node);
    return wj_text_of(v);
}

struct wd_retained_items wd_retained_items(yyjson_val *node)
{
    if (!is_tagged(node, "a"))
        return (struct wd_retained_items){0};
    return (struct wd_retained_items){.next = yyjson_arr_get(node, 1), .left = yyjson_arr_size(node) - 1};
}

yyjson_val *wd_retained_item(struct wd_retained_items *in)
{
    while (in->left) {
        yyjson_val *v = in->next;
        in->left--;
        in->next = in->left ? unsafe_yyjson_get_next(v) : NULL;
        if (is_tagged(v, "l"))
            return yyjson_arr_get(v, 1);
        in->before++;
    }
    return NULL;
}

/* Members of ours: the writer writes them itself, or they duplicate the model. */
static bool is_ours(yyjson_val *name)
{
    return wj_named(name, UPP_STR("weft")) || wj_named(name, UPP_STR("pydantic_ai")) ||
           wj_named(name, UPP_STR("usage")) || wj_named(name, UPP_STR("weft_events"));
}

/* The members, by name; *nodes: their values are nodes. */
static yyjson_val *members_of(yyjson_val *node, bool *nodes)
{
    yyjson_val *whole = stored_value(node);
    *nodes = !whole;
    return whole ? whole : is_tagged(node, "o") ? yyjson_arr_get(node, 1) : node;
}

static size_t put_members(struct wd_lowering *l, yyjson_val *node)
{
    bool nodes;
    yyjson_val *list = members_of(node, &nodes), *name, *value;
    size_t i, n, found = 0;
    if (!yyjson_is_obj(list))
        return 0;
    yyjson_obj_foreach(list, i, n, name, value)
    {
        yyjson_val *is = nodes ? stored_value(value) : value;
        if (!is || is_ours(name))
            continue;
        found++;
        if (!l)
            continue;
        wj_write_name(&l->w, wj_text(name));
        wj_write_value(&l->w, is);
    }
    return found;
}

void wd_retained_metadata_put(struct wd_lowering *l, yyjson_val *node)
{
    (void)put_members(l, node);
}

bool wd_retained_metadata_is(yyjson_val *node)
{
    return put_members(NULL, node) > 0;
}
