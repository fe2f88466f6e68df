/* server/doors/responses/item_list.h — entries of the log as items of the Responses API.
 *
 * An item is a message's text, one reasoning part, one call or one result of the log. Its id contains the place, so
 * that a page can begin after any item.
 */
#pragma once

#include "json/write.h"
#include "log/log.h"
#include "model/id.h"
#include "server/http/route.h"

/* An item: of a message all its content, otherwise one part. */
struct sv_item {
    const struct wl_line *line;
    uint32_t part;
};

struct sv_item_page {
    uint64_t limit;
    bool up;
    uint32_t lo, hi;       /* positions on the path that are left */
    struct wm_id after;    /* node 0: from the beginning */
    struct sv_item *found; /* limit + 1 */
    size_t n;
};

/* Does the part belong to the item of its message? */
bool sv_item_is_content(const struct upp_part *p);

/* The parts of an entry that begin an item, in order; at most `max`. */
size_t sv_items_of(const struct wl_line *line, uint32_t *parts, size_t max);

void sv_item_put(struct wj_writer *w, const struct sv_item *i);
bool sv_item_parse(struct upp_str id, struct wm_id *ret);

/* Adds the items of an entry to a page that has room for them. */
int sv_item_take(struct sv_exchange *x, struct sv_item_page *p, const struct wl_line *line,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Responds with a list. */
int sv_items_write(struct sv_exchange *x, const struct sv_item *items, size_t n, bool more,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the page of the items of a path that the request asks for (`limit`, `order`, `after`). */
WEFT_SUSPENDS int sv_items_list(struct sv_exchange *x, const struct wl_path *path, struct upp_err *err) UPP_MUST_CHECK;
