/* support/reader.h — an adapter's reader by itself: bytes in, events out, without transport and glue. */
#pragma once

#include <stdlib.h>

#include "upp/providers/adapter.h"

struct reading {
    struct upp__vendor vendor;
    struct upp_request request;
    struct upp__reader r;
};

/* False: no memory. `model` is a literal's. */
static inline bool reading_init(struct reading *g, const struct upp__adapter *adapter, const char *model)
{
    *g = (struct reading){0};
    g->vendor = (struct upp__vendor){
        .adapter = adapter, .provider = adapter->name, .model = wb_cstr(model), .base_url = UPP_STR("https://h")};
    g->r.vendor = &g->vendor;
    g->r.request = &g->request;
    g->r.keep = (struct wb_arena)WB_ARENA(256 << 20);
    g->r.scratch = (struct wb_arena)WB_ARENA(256 << 20);
    g->r.answer = (struct wb_buf)WB_BUF(64 << 20);
    g->r.own = calloc(1, adapter->own_size);
    return g->r.own;
}

/* The events that were said are taken. */
static inline void reading_taken(struct reading *g)
{
    g->r.queue.n = g->r.at = 0;
    wb_arena_reset(&g->r.scratch);
}

static inline void reading_done(struct reading *g)
{
    if (g->r.own)
        upp__reader_done(&g->r);
    free(g->r.own);
}

static inline int reading_event(struct reading *g, struct upp_str data, struct upp_err *err)
{
    struct ww_frame f = {.data = data};
    return g->vendor.adapter->event(&g->r, &f, err);
}

/* A request as it would be sent, its texts in `a`. */
struct writing {
    struct wb_arena arena;
    struct upp_header headers[UPP__HEADERS];
    struct upp__outgoing out;
};

static inline int writing_write(struct writing *w, const struct upp__vendor *v, const struct upp_request *req,
                                struct upp_err *err)
{
    w->arena = (struct wb_arena)WB_ARENA(64 << 20);
    w->out = (struct upp__outgoing){.arena = &w->arena, .headers = w->headers, .body = WB_BUF(64 << 20)};
    return v->adapter->write(v, req, UPP_STR("KEY"), &w->out, err);
}

static inline void writing_done(struct writing *w)
{
    wb_buf_done(&w->out.body);
    wb_arena_done(&w->arena);
}
