/* server/sse_parse.h — a reader of server-sent events, written from the HTML standard and not from our writer: the
 * oracle of the tests and of the fuzzer. Whole text in, events out. */
#pragma once

#include "base/buf.h"

struct sse_event {
    struct upp_str name, data, id; /* id: the last event id when it was dispatched */
};

struct sse_parser {
    struct wb_buf name, data, id;
    size_t events, comments;
};

/* One event, as the standard dispatches it. */
typedef void sse_sink(void *arg, const struct sse_event *ev);

static inline void sse_dispatch(struct sse_parser *p, sse_sink *sink, void *arg)
{
    if (p->data.n) {
        struct sse_event ev = {wb_buf_str(&p->name), wb_str(p->data.p, p->data.n - 1), wb_buf_str(&p->id)};
        p->events++;
        sink(arg, &ev);
    }
    wb_buf_clear(&p->data);
    wb_buf_clear(&p->name);
}

static inline void sse_line(struct sse_parser *p, struct upp_str line, sse_sink *sink, void *arg)
{
    if (!line.n) {
        sse_dispatch(p, sink, arg);
        return;
    }
    const char *colon = memchr(line.p, ':', line.n);
    struct upp_str field = wb_str(line.p, colon ? (size_t)(colon - line.p) : line.n);
    struct upp_str value = colon ? wb_str(colon + 1, line.n - field.n - 1) : UPP_STR("");
    if (value.n && value.p[0] == ' ')
        value = wb_str(value.p + 1, value.n - 1);
    if (!field.n)
        p->comments++;
    else if (wb_str_eq(field, UPP_STR("data"))) {
        wb_buf_add(&p->data, value);
        wb_buf_addc(&p->data, '\n');
    } else if (wb_str_eq(field, UPP_STR("event"))) {
        wb_buf_clear(&p->name);
        wb_buf_add(&p->name, value);
    } else if (wb_str_eq(field, UPP_STR("id")) && !(value.n && memchr(value.p, 0, value.n))) {
        wb_buf_clear(&p->id);
        wb_buf_add(&p->id, value);
    }
}

/* False: no memory, or the text does not end with a whole event. */
static inline bool sse_parse(struct upp_str text, struct sse_parser *p, sse_sink *sink, void *arg)
{
    *p = (struct sse_parser){0};
    p->name = p->data = p->id = (struct wb_buf)WB_BUF(64u << 20);
    if (wb_str_starts(text, UPP_STR("\xef\xbb\xbf")))
        text = wb_str_sub(text, 3, SIZE_MAX);
    size_t at = 0;
    while (at < text.n) {
        size_t end = at;
        while (end < text.n && text.p[end] != '\n' && text.p[end] != '\r')
            end++;
        if (end == text.n)
            break; /* a line without its end counts for nothing */
        sse_line(p, wb_str(text.p + at, end - at), sink, arg);
        at = end + (text.p[end] == '\r' && end + 1 < text.n && text.p[end + 1] == '\n' ? 2 : 1);
    }
    bool ok = at == text.n && !p->data.n && !p->name.failed && !p->data.failed && !p->id.failed;
    wb_buf_done(&p->name);
    wb_buf_done(&p->data);
    wb_buf_done(&p->id);
    return ok;
}
