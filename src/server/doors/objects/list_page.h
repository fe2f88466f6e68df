/* server/doors/objects/list_page.h — a page of a list: its parameters, and its envelope. */
#pragma once

#include "json/write.h"
#include "server/http/route.h"

/* The page that a request asks for. */
struct sv_page {
    uint64_t limit;
    bool ascending;
    bool backwards;               /* `before` without `after`: the objects nearest to it, read from there */
    struct upp_str after, before; /* ids; NULL `.p`: absent */
};

/* The parameters limit, order (asc or desc), after and before. */
enum { SV_LIST_MAX = 100 };
int sv_page_read(struct sv_exchange *x, struct sv_page *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Of these only limit and, if `ascending` is not NULL, order; _of: with another limit than 20 of at most SV_LIST_MAX.
 */
int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err) UPP_MUST_CHECK;
int sv_read_limit_of(struct sv_exchange *x, uint64_t usual, uint64_t max, uint64_t *limit, bool *ascending,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The object that an id in `after` or `before` names. 1: *ret, of a type of the list's own; 0: it names none. */
typedef int sv_cursor_fn(void *arg, struct upp_str id, void *ret, struct upp_err *err);
struct sv_cursors {
    sv_cursor_fn *find;
    void *arg;
    const char *what; /* "run of this thread": what an id names, for errors */
};

/* Finds both; what is absent stays as it is. */
WEFT_SUSPENDS int sv_page_cursors(const struct sv_page *p, const struct sv_cursors *list, void *after, void *before,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* The same where an object is found as its index (size_t), oldest first: which of the n objects are between the two. */
struct sv_between {
    size_t first, end;
};
WEFT_SUSPENDS int sv_page_between(const struct sv_page *p, const struct sv_cursors *list, size_t n,
                                  struct sv_between *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Is the page read from the oldest object on? */
static inline bool sv_page_up(const struct sv_page *p)
{
    return p->ascending != p->backwards;
}

/* Reduces *b to the objects of the page. True: there are more. */
bool sv_page_cut(const struct sv_page *p, struct sv_between *b);

/* A parameter that is a time, in milliseconds since 1970: RFC 3339, or seconds since 1970. 1; 0: it is absent. */
int sv_read_time(struct sv_exchange *x, struct upp_str name, int64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The envelope of a list: begins with `data`, ends with first_id, last_id and has_more. */
void sv_list_begin(struct wj_writer *w);
void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more);

/* The same with ids that are texts; empty: null. */
void sv_list_end_text(struct wj_writer *w, struct upp_str first, struct upp_str last, bool more);
