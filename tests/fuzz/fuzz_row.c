/* fuzz/fuzz_row.c — any bytes as a row: what reads is written, and reads the same again; its tape expands or says why.
 *
 * Input: the body, then the tape behind a byte 0xff (which no UTF-8 has).
 */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "support/rows.h"

static void expand(struct wb_arena *a, const struct wm_row *row)
{
    static const struct wm_source source = {.node = 1};
    struct wm_expand x = {.from = &source, .row = row, .memory = a};
    struct wm_event ev;
    struct upp_err err = {0};
    uint64_t events, n = 0;
    int r;
    REQUIRE(wm_row_events(row, &events, &err) == 0);
    uint64_t text = 0;
    while ((r = wm_expand_next(&x, &ev, &err)) == 1) {
        REQUIRE(++n <= events);
        REQUIRE(ev.kind >= WM_RUN && ev.kind <= WM_PART_CLOSE && ev.from == &source);
        REQUIRE(ev.number == row->event + n - 1);
        if (ev.kind == WM_DELTA) {
            REQUIRE(ev.part.text.n > 0);
            text +=
                (unsigned char)ev.part.text.p[0] + (unsigned char)ev.part.text.p[ev.part.text.n - 1]; /* ASan looks */
        }
        if (ev.kind == WM_MESSAGE)
            REQUIRE(ev.message.entry >= row->entries && ev.message.entry < row->entries + row->n_entries);
    }
    REQUIRE(r == 0 || r == -UPP_ESTORE);
    REQUIRE(r < 0 || n == events);
    REQUIRE(text < UINT64_MAX);
    REQUIRE_SHOWN(err.msg);
}

static void join(struct wb_arena *a, struct wm_row *row)
{
    const struct wm_event *ended[8];
    size_t n = 0;
    for (size_t i = 0; i < row->n_records && n < WB_LEN(ended); i++)
        ended[n++] = &row->records[i];
    for (size_t i = 0; i < row->n_entries; i++) {
        struct wm_entry e = row->entries[i];
        int r = wm_entry_join(a, &e, ended, n, NULL);
        REQUIRE(r >= 0 && (!e.n_refs || (size_t)r + e.message.n_parts == e.n_refs));
    }
}

FUZZ(row)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20), again = WB_BUF(64u << 20);
    struct upp_err err = {0};
    struct wm_row row, back, entries;
    struct upp_str rest = in, body, tape = {0};
    (void)wb_str_split(&rest, (char)0xff, &body);
    if (rest.p)
        tape = rest;

    int r = wm_row_read(&a, WM_FORMAT, body, tape, &row, &err);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    if (r < 0) {
        REQUIRE((r == -UPP_ESTORE || r == -UPP_ELIMIT) && err.code == -r && err.msg[0]);
        return;
    }
    r = wm_row_write(&row, &b, &err);
    REQUIRE(r == 0 || r == -UPP_ELIMIT); /* JSON in it may be a little deeper than is written */
    if (r < 0)
        return;
    REQUIRE(wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), tape, &back, &err) == 0);
    REQUIRE(!rows_differ(&row, &back));
    REQUIRE(wm_row_write(&back, &again, &err) == 0);
    REQUIRE(wb_str_eq(wb_buf_str(&b), wb_buf_str(&again)));
    REQUIRE(wm_row_read_entries(&a, WM_FORMAT, body, &entries, &err) == 0);
    REQUIRE(entries.n_entries == row.n_entries && entries.n_records <= row.n_records);
    for (size_t i = 0; i < row.n_entries; i++)
        REQUIRE(!rows_entry_differ(&row.entries[i], &entries.entries[i]));
    expand(&a, &back);
    join(&a, &back);
}
