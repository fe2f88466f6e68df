/* upp/http/frames.c — bytes cut into events, however they come. */
#include "upp/http/frames.h"

#include "base/str.h"

void ww_frames_init(struct ww_frames *f, uint8_t kind, size_t max)
{
    *f = (struct ww_frames){
        .kind = kind, .max = max, .bytes = WB_BUF(max + 2 * (size_t)WW_PIECE), .lines = WB_BUF(max + (size_t)WW_PIECE)};
}

void ww_frames_done(struct ww_frames *f)
{
    wb_buf_done(&f->bytes);
    wb_buf_done(&f->lines);
}

int ww_frames_feed(struct ww_frames *f, struct upp_str bytes, struct upp_err *err)
{
    if (f->event) { /* whoever got the events before this is done with them */
        wb_buf_drop(&f->bytes, f->event);
        f->line -= f->event;
        f->seen -= f->event;
        f->next_cr -= WB_MIN(f->next_cr, f->event);
        f->data_at -= f->n_data ? f->event : 0;
        f->name_at -= f->has_name ? f->event : 0;
        f->event = 0;
    }
    wb_buf_add(&f->bytes, bytes);
    return wb_buf_check(&f->bytes, err);
}

/* The first c in [from, end), or end. */
static size_t find_byte(const struct ww_frames *f, char c, size_t from, size_t end)
{
    if (from >= end || f->bytes.p[from] == c) /* blank lines */
        return WB_MIN(from, end);
    const char *p = memchr(f->bytes.p + from, c, end - from);
    return p ? (size_t)(p - f->bytes.p) : end;
}

/* Nearly no stream has CRs, so that they are looked for once in all that came, not in each line again. */
static size_t find_end(struct ww_frames *f)
{
    size_t n = f->bytes.n, cr = f->next_cr;
    if (cr < f->seen || (cr < n && f->bytes.p[cr] != '\r'))
        cr = f->next_cr = find_byte(f, '\r', WB_MAX(f->seen, cr), n);
    size_t end = find_byte(f, '\n', f->seen, cr);
    return end < n ? end : SIZE_MAX;
}

static void skip_mark(struct ww_frames *f)
{
    static const struct upp_str mark = UPP_STR_INIT("\xef\xbb\xbf");
    if (wb_str_starts(wb_str_sub(wb_buf_str(&f->bytes), f->line, 3), mark))
        f->line += mark.n;
    f->begun = true;
}

static int too_long(const struct ww_frames *f, struct upp_err *err)
{
    return upp_fail(err, UPP_ELIMIT, "an event of the stream is longer than %zu bytes", f->max);
}

/* The next whole line, without its end: 1; 0: there is none yet. The last one of a body may lack its end. What is too
 * long is so at the same byte however it came: whether a line belongs to an event is known only at its end. */
static int take_line(struct ww_frames *f, bool last, struct upp_str *ret, struct upp_err *err)
{
    if (f->cr && f->line < f->bytes.n) {
        bool lf = f->bytes.p[f->line] == '\n';
        f->event += lf && f->event == f->line; /* between two events it belongs to none */
        f->line += lf;
        f->cr = false;
        f->seen = f->seen < f->line ? f->line : f->seen;
    }
    size_t end = f->seen < f->bytes.n ? find_end(f) : SIZE_MAX;
    if (end == SIZE_MAX) {
        f->seen = f->bytes.n;
        if (!last || f->line >= f->bytes.n)
            return 0;
        end = f->bytes.n;
    }
    if (end - f->event > f->max)
        return too_long(f, err);
    if (!f->begun) /* a line has ended, so all of a mark is here */
        skip_mark(f);
    *ret = wb_str(f->bytes.p + f->line, end - f->line);
    if (end < f->bytes.n)
        f->cr = f->bytes.p[end++] == '\r';
    f->line = f->seen = end;
    return 1;
}

static void begin_event(struct ww_frames *f)
{
    f->event = f->line;
    f->n_data = 0;
    f->has_name = false;
}

static struct upp_str value_of(struct upp_str line, size_t colon)
{
    if (colon == SIZE_MAX)
        return wb_str(line.p + line.n, 0);
    size_t from = colon + 1;
    from += from < line.n && line.p[from] == ' ';
    return wb_str(line.p + from, line.n - from);
}

static void take_data(struct ww_frames *f, struct upp_str value)
{
    if (f->n_data++ == 0) { /* nearly always the only one: it stays where it is */
        f->data_at = (size_t)(value.p - f->bytes.p);
        f->data_n = value.n;
        return;
    }
    if (f->n_data == 2) {
        wb_buf_clear(&f->lines);
        wb_buf_add(&f->lines, wb_str(f->bytes.p + f->data_at, f->data_n));
    }
    wb_buf_addc(&f->lines, '\n');
    wb_buf_add(&f->lines, value);
}

static void take_field(struct ww_frames *f, struct upp_str line)
{
    if (line.p[0] == ':')
        return;
    if (line.p[0] == '{' || line.p[0] == '[') { /* no name of a field: JSON that somebody sends bare, errors mostly */
        take_data(f, line);
        return;
    }
    if (wb_str_starts(line, UPP_STR("data:"))) {
        take_data(f, value_of(line, 4));
        return;
    }
    const char *p = memchr(line.p, ':', line.n);
    size_t colon = p ? (size_t)(p - line.p) : SIZE_MAX;
    struct upp_str name = wb_str(line.p, p ? colon : line.n);
    if (wb_str_eq(name, UPP_STR("data")))
        take_data(f, value_of(line, colon));
    else if (wb_str_eq(name, UPP_STR("event"))) {
        struct upp_str value = value_of(line, colon);
        f->name_at = (size_t)(value.p - f->bytes.p);
        f->name_n = value.n;
        f->has_name = true;
    }
}

static int give_event(struct ww_frames *f, struct ww_frame *ret, struct upp_err *err)
{
    size_t length = f->line - f->event;
    *ret = (struct ww_frame){.data = UPP_STR("")};
    if (f->has_name)
        ret->name = wb_str(f->bytes.p + f->name_at, f->name_n);
    if (f->n_data == 1)
        ret->data = wb_str(f->bytes.p + f->data_at, f->data_n);
    else if (f->n_data > 1) {
        int r = wb_buf_check(&f->lines, err);
        if (r < 0)
            return r;
        ret->data = wb_buf_str(&f->lines);
    }
    begin_event(f);
    return length > f->max ? too_long(f, err) : 1;
}

static int next_sse(struct ww_frames *f, bool last, struct ww_frame *ret, struct upp_err *err)
{
    struct upp_str line;
    int r;
    while ((r = take_line(f, last, &line, err)) > 0) {
        if (line.n)
            take_field(f, line);
        else if (f->n_data || f->has_name)
            return give_event(f, ret, err);
        if (!f->n_data && !f->has_name)
            begin_event(f); /* comments and blank lines between events are no part of one */
    }
    if (r < 0)
        return r;
    if (last && (f->n_data || f->has_name))
        return give_event(f, ret, err);
    return f->bytes.n - f->event > f->max ? too_long(f, err) : 0;
}

static int next_line(struct ww_frames *f, bool last, struct ww_frame *ret, struct upp_err *err)
{
    struct upp_str line;
    int r;
    while ((r = take_line(f, last, &line, err)) > 0) {
        begin_event(f);
        if (line.n) {
            *ret = (struct ww_frame){.data = line};
            return 1;
        }
    }
    return r < 0 ? r : f->bytes.n - f->event > f->max ? too_long(f, err) : 0;
}

int ww_frames_next(struct ww_frames *f, struct ww_frame *ret, struct upp_err *err)
{
    return f->kind == WW_LINES ? next_line(f, false, ret, err) : next_sse(f, false, ret, err);
}

int ww_frames_end(struct ww_frames *f, struct ww_frame *ret, struct upp_err *err)
{
    return f->kind == WW_LINES ? next_line(f, true, ret, err) : next_sse(f, true, ret, err);
}
