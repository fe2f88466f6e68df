/* server/doors/objects/list_page.h — a page of a list: its parameters, and its envelope. */
#pragma once

#include "json/write.h"
#include "server/http/route.h"

/* Parameters of a list: `limit`, and, if `ascending` is not NULL, `order` (asc or desc). */
enum { SV_LIST_MAX = 100 };
int sv_read_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err) UPP_MUST_CHECK;

/* A parameter that is a time, in milliseconds since 1970: RFC 3339, or seconds since 1970. 1; 0: it is absent. */
int sv_read_time(struct sv_exchange *x, struct upp_str name, int64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The envelope of a list: begins with `data`, ends with first_id, last_id and has_more. */
void sv_list_begin(struct wj_writer *w);
void sv_list_end(struct wj_writer *w, const char *prefix, struct wb_uuid first, struct wb_uuid last, bool more);
