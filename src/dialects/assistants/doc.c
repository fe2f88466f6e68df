/* dialects/assistants/doc.c — threads of the Assistants API: their lists, and the dialect's table of functions. */
#include "dialects/assistants/doc.h"

#include "dialects/core/lift.h"
#include "json/value.h"

const char *const wd_asst_slots[WD_ASST_LISTS][WD_ASST_FORMS] = {
    [WD_ASST_MESSAGES] = {"messages", "messages/back", "messages/page", "messages/page/back"},
    [WD_ASST_RUNS] = {"runs", "runs/back", "runs/page", "runs/page/back"},
    [WD_ASST_STEPS] = {"steps", "steps/back", "steps/page", "steps/page/back"},
    [WD_ASST_ROOT] = {"list", "list/back", "page", "page/back"},
};

static bool is_object(yyjson_val *v, const char *name)
{
    return wb_str_eq(wj_text_at(v, "object"), wb_cstr(name));
}

static bool is_page(yyjson_val *v)
{
    return is_object(v, "list") && yyjson_is_arr(wd_last_at(v, "data"));
}

/* The API sends pages newest first unless asked otherwise. If the times (whole seconds) are equal, the roles decide. */
static bool newest_first(yyjson_val *list, bool page)
{
    yyjson_val *first = yyjson_arr_get_first(list), *last = yyjson_arr_get_last(list);
    uint64_t a = wd_number_at(first, "created_at"), b = wd_number_at(last, "created_at");
    if (a != b)
        return a > b;
    return page && wb_str_eq(wj_text_at(first, "role"), UPP_STR("assistant")) &&
           wb_str_eq(wj_text_at(last, "role"), UPP_STR("user"));
}

struct wd_asst_list wd_asst_list(yyjson_val *v)
{
    struct wd_asst_list l = {.of = v, .list = is_page(v) ? wd_last_at(v, "data") : v};
    if (!yyjson_is_arr(l.list))
        return (struct wd_asst_list){0};
    l.newest_first = newest_first(l.list, l.list != v);
    return l;
}

yyjson_val *wd_asst_messages(yyjson_val *root)
{
    return is_object(root, "thread") ? wd_last_at(root, "messages") : root;
}

static int detect(yyjson_val *root)
{
    if (is_object(root, "thread"))
        return 3;
    yyjson_val *first = yyjson_arr_get_first(wd_asst_list(root).list);
    return is_object(first, "thread.message") ? 3 : 0;
}

const struct wd_document_ops wd_document_assistants = {.name = "assistants",
                                                       .title =
                                                           "thread of the Assistants API, or a list of its messages",
                                                       .detect = detect,
                                                       .validate = wd_asst_validate,
                                                       .half = WD_WARNING,
                                                       .half_rule = "OA-1",
                                                       .lift = wd_asst_lift,
                                                       .lower = wd_asst_lower};
