/* support/tree.h — rows and entries for tests of the log: what clients and runs would write, without an engine. */
#pragma once

#include "log/log.h"
#include "stores/memory/memory.h"
#include "support/test.h"

static const struct wl_owner tree_owner = {UPP_STR_INIT("acme"), UPP_STR_INIT("")};

static inline void tree_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

/* A message of one text part; the part is the caller's. */
static inline struct wm_entry tree_says(uint8_t role, struct upp_part *part, struct upp_str text)
{
    *part = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
    return (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                             .origin = role == UPP_ROLE_USER ? WM_ORIGIN_CLIENT : WM_ORIGIN_RUN,
                             .audience = WM_AUDIENCE_ALL,
                             .message = {.role = role, .parts = part, .n_parts = 1}};
}

/* A row at a position, as a run would commit it. */
static inline int tree_row(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint64_t *pos,
                           struct wb_uuid run, const struct wm_row *row, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(WM_ROW_MAX);
    int r = wm_row_write(row, &body, err);
    if (r < 0)
        return r;
    const struct wl_row stored = {.node = node,
                                  .pos = *pos,
                                  .n_entries = (uint32_t)row->n_entries,
                                  .format = WM_FORMAT,
                                  .run = run,
                                  .body = wb_buf_str(&body)};
    const struct wl_change change = {.kind = WL_ADD_ROW, .row = &stored};
    struct wl_commit c = {.owner = *o, .changes = &change, .n = 1, .flags = WL_SYNCED};
    r = wl_store_commit(s, &c, err);
    if (r >= 0)
        *pos = wl_pos_next(*pos, stored.n_entries);
    return r;
}

/* Lets the thread end in an empty node so many below its head, of which `length` entries are on the path. */
static inline int tree_deepen(struct wl_store *s, const struct wl_owner *o, struct wl_thread *t, uint32_t length,
                              unsigned nodes, struct upp_err *err)
{
    enum { BATCH = 256 };
    static struct wl_node list[BATCH];
    static struct wl_change changes[BATCH];
    struct wl_node under;
    int r = wl_get_node(s, o, t->head, &under, err);
    for (unsigned i = 0; r >= 0 && i < nodes;) {
        struct wl_commit c = {.owner = *o, .changes = changes, .flags = WL_SYNCED};
        for (; i < nodes && c.n < BATCH; i++, c.n++) {
            struct wl_node *n = &list[c.n];
            *n = (struct wl_node){
                .id = under.tree, .tree = under.tree, .parent = under.key, .created_ms = under.created_ms};
            n->id.b[4] = (uint8_t)(i >> 8);
            n->id.b[5] = (uint8_t)i;
            n->id.b[7] = (uint8_t)~n->id.b[7];
            n->key = wm_key(n->id);
            n->parent_length = i ? 0 : length;
            changes[c.n] = (struct wl_change){.kind = WL_ADD_NODE, .node = n};
            under = *n;
        }
        r = wl_store_commit(s, &c, err);
    }
    t->head = under.key;
    const struct wl_change set = {.kind = WL_SET_THREAD, .thread = t};
    struct wl_commit moved = {.owner = *o, .changes = &set, .n = 1, .flags = WL_SYNCED};
    if (r >= 0)
        r = wl_store_commit(s, &moved, err);
    t->version++;
    return r;
}

static inline struct wm_event tree_ended(struct upp_str call, struct upp_str result)
{
    return (struct wm_event){
        .kind = WM_TOOL_ENDED, .call = {call, UPP_STR("t")}, .tool_ended = {.result = result, .outcome = WM_DONE}};
}

/* A message that shows the results of these calls. */
static inline struct wm_entry tree_shows(struct upp_str *refs, size_t n)
{
    return (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                             .origin = WM_ORIGIN_RUN,
                             .audience = WM_AUDIENCE_ALL,
                             .message = {.role = UPP_ROLE_TOOL},
                             .refs = refs,
                             .n_refs = n};
}
