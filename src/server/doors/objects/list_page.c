/* server/doors/objects/list_page.c — reads the parameters of a list, and writes what stands before and after its
 * objects. */
#include "server/doors/objects/list_page.h"

#include "base/iso8601.h"
#include "dialects/assistants/objects.h"

enum { LIMIT = 20 };

int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err)
{
    struct upp_str text;
    *limit = LIMIT;
    int r = sv_query(x, UPP_STR("limit"), &text, err);
    if (r > 0 && (!wb_str_u64(text, limit) || *limit < 1 || *limit > SV_LIST_MAX))
        return upp_fail(err, UPP_EINVALID, "limit is 1 to %d", SV_LIST_MAX);
    if (r < 0 || !ascending)
        return r;
    r = sv_query(x, UPP_STR("order"), &text, err);
    *ascending = r > 0 && wb_str_eq(text, UPP_STR("asc"));
    if (r > 0 && !*ascending && !wb_str_eq(text, UPP_STR("desc")))
        return upp_fail(err, UPP_EINVALID, "order is asc or desc");
    return r;
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
    wj_write_name(w, UPP_STR("object"));
    wj_write_str(w, UPP_STR("list"));
    wj_write_name(w, UPP_STR("data"));
    wj_write_open(w, '[');
}

void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more)
{
    wj_write_close(w, ']');
    wj_write_name(w, UPP_STR("first_id"));
    asst_id(w, prefix, first);
    wj_write_name(w, UPP_STR("last_id"));
    asst_id(w, prefix, last);
    wj_write_name(w, UPP_STR("has_more"));
    wj_write_bool(w, more);
    wj_write_close(w, '}');
}
