/* upp/providers/call_id.c — ids for calls that came without one. */
#include "upp/providers/call_id.h"

#include "base/str.h"
#include "base/uuid.h"

enum { MAX_LIST = 1 << 20 };

int upp__call_id_new(struct upp__reader *r, struct upp_str *ret, struct upp_err *err)
{
    struct wb_buf *list = &r->own_ids;
    struct wb_uuid u;
    char hex[WB_UUID_HEX + 1];
    int e = wb_uuid_new(&u, err);
    if (e < 0)
        return e;
    (void)wb_uuid_hex(u, hex);
    if (!list->max) /* a test sets less */
        list->max = MAX_LIST;
    *ret = wb_arena_printf(&r->keep, "call_%s", hex);
    wb_buf_addf(list, "%s\"call_%s\"", list->n ? "," : "", hex);
    e = wb_arena_check(&r->keep, err);
    return e < 0 ? e : wb_buf_check(list, err);
}

bool upp__call_id_is_ours(struct upp_str id)
{
    struct wb_uuid u;
    return id.n == 5 + WB_UUID_HEX && wb_str_starts(id, UPP_STR("call_")) &&
           wb_uuid_parse(wb_str_sub(id, 5, SIZE_MAX), &u);
}

bool upp__call_id_listed(yyjson_val *list, struct upp_str id)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *item;
    while ((item = yyjson_arr_iter_next(&it)))
        if (yyjson_is_str(item) && wb_str_eq(wj_text(item), id))
            return true;
    return false;
}

static bool is_taken(const struct upp_request *req, struct upp_str id)
{
    for (size_t i = 0; i < req->n_messages; i++) {
        const struct upp_part *p = NULL;
        while ((p = upp_part_next(req->messages[i], p, UPP_PARTS_CALLS)))
            if (wb_str_eq(p->id, id))
                return true;
    }
    return false;
}

struct upp_str upp__call_id_sent(struct upp__reader *r, size_t n)
{
    /* The length of the thread makes it unique, unless messages were removed since. */
    for (size_t turn = r->request->n_messages;; turn++) {
        struct upp_str id = wb_arena_printf(&r->keep, "call_weft_%zu_%zu", turn, n);
        if (!id.p || !is_taken(r->request, id))
            return id;
    }
}
