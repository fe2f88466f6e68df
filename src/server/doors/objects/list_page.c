/* server/doors/objects/list_page.c — reads the parameters of a list, and writes what stands before and after its
 * objects. */
#include "server/doors/objects/list_page.h"

#include "base/defs.h"
#include "base/iso8601.h"
#include "dialects/assistants/objects.h"

enum { LIMIT = 20 };

int sv_read_limit_of(struct sv_exchange *x, uint64_t usual, uint64_t max, uint64_t *limit, bool *ascending,
                     struct upp_err *err)
{
    struct upp_str text;
    *limit = usual;
    int r = sv_query(x, UPP_STR("limit"), &text, err);
    if (r > 0 && (!wb_str_u64(text, limit) || *limit < 1 || *limit > max))
        return upp_fail(err, UPP_EINVALID, "limit is 1 to %llu", (unsigned long long)max);
    if (r < 0 || !ascending)
        return r;
    r = sv_query(x, UPP_STR("order"), &text, err);
    *ascending = r > 0 && wb_str_eq(text, UPP_STR("asc"));
    if (r > 0 && !*ascending && !wb_str_eq(text, UPP_STR("desc")))
        return upp_fail(err, UPP_EINVALID, "order is asc or desc");
    return r;
}

int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err)
{
    return sv_read_limit_of(x, LIMIT, SV_LIST_MAX, limit, ascending, err);
}

int sv_page_read(struct sv_exchange *x, struct sv_page *ret, struct upp_err *err)
{
    *ret = (struct sv_page){0};
    int r = sv_read_limit(x, &ret->limit, &ret->ascending, err);
    if (r < 0)
        return r;
    int after = sv_query(x, UPP_STR("after"), &ret->after, err);
    if (after < 0)
        return after;
    int before = sv_query(x, UPP_STR("before"), &ret->before, err);
    ret->backwards = before > 0 && after == 0;
    return WB_MIN(before, 0);
}

/* 1: *ret; 0: the parameter is absent. */
WEFT_SUSPENDS static int find_cursor(const struct sv_cursors *list, const char *name, struct upp_str id, void *ret,
                                     struct upp_err *err)
{
    if (!id.p)
        return 0;
    int r = list->find(list->arg, id, ret, err);
    if (r != 0)
        return r;
    return upp_fail(err, UPP_EINVALID, "'%s' names no %s: '%.*s'", name, list->what, UPP_FMT(id));
}

int sv_page_cursors(const struct sv_page *p, const struct sv_cursors *list, void *after, void *before,
                    struct upp_err *err)
{
    int r = find_cursor(list, "after", p->after, after, err);
    return r < 0 ? r : find_cursor(list, "before", p->before, before, err);
}

int sv_page_between(const struct sv_page *p, const struct sv_cursors *list, size_t n, struct sv_between *ret,
                    struct upp_err *err)
{
    size_t after = 0, before = 0;
    int r = sv_page_cursors(p, list, &after, &before, err);
    *ret = (struct sv_between){0, n};
    if (p->after.p)
        *(p->ascending ? &ret->first : &ret->end) = p->ascending ? after + 1 : after;
    if (p->before.p)
        *(p->ascending ? &ret->end : &ret->first) = p->ascending ? before : before + 1;
    ret->end = WB_MAX(ret->first, ret->end);
    return WB_MIN(r, 0);
}

bool sv_page_cut(const struct sv_page *p, struct sv_between *b)
{
    if (b->end - b->first <= p->limit)
        return false;
    if (sv_page_up(p))
        b->end = b->first + (size_t)p->limit;
    else
        b->first = b->end - (size_t)p->limit;
    return true;
}

int sv_read_time(struct sv_exchange *x, struct upp_str name, int64_t *ret, struct upp_err *err)
{
    struct upp_str text;
    struct wb_time time;
    uint64_t seconds;
    int r = sv_query(x, name, &text, err);
    if (r <= 0)
        return r;
    if (wb_str_u64(text, &seconds)) {
        if (seconds > INT32_MAX)
            return upp_fail(err, UPP_EINVALID, "'%.*s' is no time in seconds", UPP_FMT(name));
        *ret = (int64_t)seconds * 1000;
        return 1;
    }
    r = wb_time_parse(text, &time, err);
    if (r < 0)
        return upp_wrap(err, r, "'%.*s'", UPP_FMT(name));
    *ret = wb_time_ms(&time);
    return 1;
}

void sv_list_begin(struct wj_writer *w)
{
    wj_write_open(w, '{');
    wj_put_str(w, "object", UPP_STR("list"));
    wj_put_open(w, "data", '[');
}

void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more)
{
    wj_write_close(w, ']');
    asst_put_id(w, "first_id", prefix, first);
    asst_put_id(w, "last_id", prefix, last);
    wj_put_bool(w, "has_more", more);
    wj_write_close(w, '}');
}

void sv_list_end_text(struct wj_writer *w, struct upp_str first, struct upp_str last, bool more)
{
    wj_write_close(w, ']');
    wj_put_str(w, "first_id", first.n ? first : (struct upp_str){NULL, 0});
    wj_put_str(w, "last_id", last.n ? last : (struct upp_str){NULL, 0});
    wj_put_bool(w, "has_more", more);
    wj_write_close(w, '}');
}
