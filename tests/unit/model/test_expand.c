#include "support/rows.h"
#include "support/test.h"

static const struct wm_source source = {.node = 0x0123456789abcdef, .epoch = 1};

/* An event and what it borrowed. */
static struct wm_event keep(struct wb_arena *a, const struct wm_event *ev)
{
    struct wm_event to = *ev;
    if (ev->kind >= WM_PART_OPEN) {
        to.part.text = wb_arena_dup(a, ev->part.text);
        to.part.call = wb_arena_dup(a, ev->part.call);
        to.part.name = wb_arena_dup(a, ev->part.name);
    } else if (ev->kind == WM_MESSAGE_OPEN)
        to.message_open.phase = wb_arena_dup(a, ev->message_open.phase);
    else
        to.step_start.plan_step = wb_arena_dup(a, ev->step_start.plan_step);
    return to;
}

enum { EVENTS = 600, PARTS = 6 };

struct grown {
    struct wb_arena *a;
    struct wm_tape tape;
    struct wm_entry entry;
    struct wm_event *seen;
    size_t n;
    struct wm_expand x;
};

/* All that can be read now. */
static bool drain(struct grown *w)
{
    struct wm_event ev;
    struct upp_err err = {0};
    int r;
    while ((r = wm_expand_next(&w->x, &ev, &err)) > 0) {
        if (!EXPECT(w->n < EVENTS))
            return false;
        w->seen[w->n++] = keep(w->a, &ev);
    }
    test_note("%s", err.msg);
    return EXPECT(r == 0);
}

/* Adds a delta; the parts and the text move, as they do when buffers grow. */
static bool say(struct grown *w, uint32_t part, struct upp_str delta)
{
    struct upp_message *m = &w->entry.message;
    struct upp_part *parts = wb_new_n(w->a, struct upp_part, m->n_parts);
    if (!EXPECT(parts))
        return false;
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    parts[part].text = wb_arena_printf(w->a, "%.*s%.*s", UPP_FMT(parts[part].text), UPP_FMT(delta));
    memset(m->parts, 0x5a, m->n_parts * sizeof *parts); /* nobody looks at the old ones */
    m->parts = parts;
    wm_tape_delta(&w->tape, part, delta.n);
    return EXPECT(parts[part].text.p);
}

static bool open_part(struct grown *w, struct rows *g)
{
    struct upp_message *m = &w->entry.message;
    struct upp_part *parts = wb_new_n(w->a, struct upp_part, m->n_parts + 1);
    if (!EXPECT(parts))
        return false;
    if (m->n_parts) {
        memcpy(parts, m->parts, m->n_parts * sizeof *parts);
        memset(m->parts, 0x5a, m->n_parts * sizeof *parts);
    }
    static const uint8_t kinds[] = {UPP_PART_TEXT, UPP_PART_REASONING, UPP_PART_CALL};
    struct upp_part *p = &parts[m->n_parts];
    p->kind = kinds[rows_draw(g, 3)];
    p->text = UPP_STR("");
    if (p->kind == UPP_PART_CALL) {
        p->id = UPP_STR("call_1");
        p->name = UPP_STR("calc");
    }
    m->parts = parts;
    wm_tape_mark(&w->tape, WM_MARK_PART, (uint32_t)m->n_parts++);
    return true;
}

/* A message as a model might stream it: parts overlap, deltas of few sizes. */
static bool stream(struct grown *w, struct rows *g)
{
    bool open[PARTS] = {0};
    wm_tape_mark(&w->tape, WM_MARK_STEP, 0);
    if (!drain(w))
        return false;
    wm_tape_mark(&w->tape, WM_MARK_OPEN, 0);
    for (int i = 0; i < 200; i++) {
        uint32_t part = rows_draw(g, PARTS);
        if (!drain(w))
            return false;
        if (w->entry.message.n_parts < PARTS && rows_draw(g, 12) == 0) {
            if (!open_part(w, g))
                return false;
            open[w->entry.message.n_parts - 1] = true;
        } else if (part < w->entry.message.n_parts && open[part]) {
            if (rows_draw(g, 40) == 0) {
                wm_tape_mark(&w->tape, WM_MARK_CLOSE, part);
                open[part] = false;
            } else
                for (uint32_t k = 1 + rows_draw(g, 3); k; k--)
                    if (!say(w, part, rows_draw(g, 3) ? UPP_STR("word ") : UPP_STR("\xc3\xa9")) ||
                        (rows_draw(g, 2) && !drain(w)))
                        return false;
        }
    }
    for (uint32_t i = 0; i < PARTS; i++)
        if (open[i])
            wm_tape_mark(&w->tape, WM_MARK_CLOSE, i);
    return drain(w);
}

static void tape_done(struct grown *w)
{
    wm_tape_done(&w->tape);
}

/* Who has heard so many of them hears the next one, and all records. */
static bool rest_is_the_same(struct grown *w, const struct wm_row *row, size_t heard)
{
    struct wm_expand x = {.from = &source, .row = row, .index = 7, .memory = w->a};
    struct upp_err err = {0};
    struct wm_event ev;
    if (!EXPECT(wm_expand_pass(&x, row->event + heard, &err) == 0))
        return false;
    for (size_t i = heard; i < w->n + row->n_records; i++)
        if (!EXPECT(wm_expand_next(&x, &ev, &err) == 1) || !EXPECT(ev.number == row->event + i) ||
            (i < w->n && !EXPECT(!rows_event_differ(&w->seen[i], &ev))))
            return false;
    return EXPECT(wm_expand_next(&x, &ev, &err) == 0);
}

/* What was seen while it grew comes again from the stored row, with the same numbers and ids, and the records behind.
 */
static bool live_is_stored(uint64_t seed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    WB_CLEANUP(tape_done) struct grown w = {.a = &a};
    struct rows g = {&a, seed};
    struct upp_err err = {0};
    struct wm_event ev;
    test_note("seed %llu", (unsigned long long)seed);
    wm_tape_init(&w.tape, 1u << 16);
    w.seen = wb_new_n(&a, struct wm_event, EVENTS);
    if (!EXPECT(w.seen))
        return false;
    w.entry = (struct wm_entry){.kind = WM_ENTRY_MESSAGE, .origin = 1, .audience = 1, .attempt = 5, .step = 3};
    w.entry.message.role = UPP_ROLE_ASSISTANT;
    w.x = (struct wm_expand){
        .from = &source, .tape = &w.tape, .open = &w.entry, .index = 8, .step = 3, .number = 40, .memory = &a};
    if (!stream(&w, &g))
        return false;

    struct wm_entry entries[] = {
        {.kind = WM_ENTRY_EVENT, .origin = 1, .audience = 1, .data = UPP_STR("{}")},
        w.entry,
        {.kind = WM_ENTRY_MESSAGE, .origin = 1, .audience = 1, .message = {.role = UPP_ROLE_TOOL}}};
    struct wm_event records[] = {{.kind = WM_MESSAGE, .step = 3, .message.entry = &entries[1]},
                                 {.kind = WM_STEP_END, .step = 3}};
    struct wm_row row = {.event = 40,
                         .step = 3,
                         .entries = entries,
                         .n_entries = 3,
                         .records = records,
                         .n_records = 2,
                         .tape = wm_tape_end(&w.tape)};
    struct wm_row back;
    if (!EXPECT(wm_row_write(&row, &b, &err) == 0) ||
        !EXPECT(wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), row.tape, &back, &err) == 0))
        return false;

    struct wm_expand x = {.from = &source, .row = &back, .index = 7, .memory = &a};
    uint64_t events;
    if (!EXPECT(wm_row_events(&back, &events, &err) == 0) || !EXPECT(events == w.n + 2) ||
        !EXPECT(w.tape.events == w.n))
        return false;
    for (size_t i = 0; i < w.n; i++) {
        if (!EXPECT(wm_expand_next(&x, &ev, &err) == 1))
            return false;
        const char *what = rows_event_differ(&w.seen[i], &ev);
        test_note("seed %llu, event %zu: %s", (unsigned long long)seed, i, what ? what : "");
        if (!EXPECT(!what))
            return false;
    }
    for (size_t heard = 0; heard <= w.n; heard += 1 + rows_draw(&g, 16))
        if (!rest_is_the_same(&w, &back, heard))
            return false;
    if (!rest_is_the_same(&w, &back, w.n))
        return false;
    struct wb_uuid said = wm_id_uuid((struct wm_id){source.node, 8, WM_NOUN_ENTRY, 5, 0});
    struct wb_uuid step = wm_id_uuid((struct wm_id){source.node, 8, WM_NOUN_STEP, 5, 0});
    return EXPECT(wb_uuid_eq(w.seen[0].step_start.id, step)) && EXPECT(wb_uuid_eq(w.seen[1].message_open.id, said)) &&
           EXPECT(wm_expand_next(&x, &ev, &err) == 1) &&
           EXPECT(ev.kind == WM_MESSAGE && ev.message.entry == &back.entries[1]) &&
           EXPECT(wb_uuid_eq(ev.message.id, said)) && EXPECT(wm_expand_next(&x, &ev, &err) == 1) &&
           EXPECT(ev.kind == WM_STEP_END && ev.step_end.results == &back.entries[2] &&
                  wb_uuid_eq(ev.step_end.id, step)) &&
           EXPECT(ev.number == 40 + w.n + 1) && EXPECT(ev.from == &source) &&
           EXPECT(wm_expand_next(&x, &ev, &err) == 0) && EXPECT(wm_expand_next(&x, &ev, &err) == 0);
}

TEST_WITH(model_expand_live_is_what_was_stored, .no_torture = "many seeds; one of them is tortured below")
{
    for (uint64_t seed = 0; seed < test_times("WEFT_SEEDS", 150); seed++)
        CHECK(live_is_stored(seed));
}

TEST(model_expand_works_or_says_why)
{
    CHECK(live_is_stored(7));
}

TEST(model_expand_carries_the_step_from_row_to_row)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("x")};
    struct wm_entry e[] = {
        {.kind = WM_ENTRY_MESSAGE, .attempt = 1, .message = {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1}},
        {.kind = WM_ENTRY_MESSAGE, .attempt = 2, .message = {.role = UPP_ROLE_TOOL}}};
    struct wm_event end = {.kind = WM_STEP_END}, ev;
    struct wm_row one = {.event = 1, .entries = &e[0], .n_entries = 1, .tape = UPP_STR("\x00")};
    struct wm_row two = {.event = 2, .entries = &e[1], .n_entries = 1, .records = &end, .n_records = 1};
    struct wm_expand x = {.from = &source, .row = &one, .index = 4, .memory = &a};
    CHECK(wm_expand_next(&x, &ev, NULL) == 1);
    struct wb_uuid step = ev.step_start.id;
    CHECK(ev.kind == WM_STEP_START && wm_expand_next(&x, &ev, NULL) == 0);
    x = (struct wm_expand){.from = &source, .row = &two, .index = 5, .memory = &a, .step_id = x.step_id};
    CHECK(wm_expand_next(&x, &ev, NULL) == 1);
    CHECK(ev.kind == WM_STEP_END && wb_uuid_eq(ev.step_end.id, step) && ev.step_end.results == &e[1] && ev.number == 2);
    x = (struct wm_expand){.from = &source, .row = &two, .index = 5, .memory = &a}; /* nobody told it */
    CHECK(wm_expand_next(&x, &ev, NULL) == 1);
    CHECK(wb_uuid_eq(ev.step_end.id, wm_id_uuid((struct wm_id){source.node, 5, WM_NOUN_STEP, 2, 0})));
}

TEST(model_expand_refuses_a_tape_that_does_not_fit)
{
    static const struct {
        struct upp_str tape;
        int good;
        const char *msg;
    } bad[] = {
        {UPP_STR_INIT("\x02\x02"), 1, "the tape does not fit its message: part 0 is opened twice"},
        {UPP_STR_INIT("\x03\x01\x00"), 0, "the tape does not fit its message: part 0 is not open"},
        {UPP_STR_INIT("\x04"), 0, "the tape does not fit its message: part 0 is not open"},
        {UPP_STR_INIT("\x02\x04\x04"), 2, "the tape does not fit its message: part 0 is not open"},
        {UPP_STR_INIT("\x02\x04\x03\x01\x00"), 2, "the tape does not fit its message: part 0 is not open"},
        {UPP_STR_INIT("\x02\x04\x02"), 2, "the tape does not fit its message: part 0 is opened twice"},
        {UPP_STR_INIT("\x02\x03\x01\x03"), 4, "the tape does not fit its message: part 0 has less text"},
        {UPP_STR_INIT("\x02\x03\x04\x00"), 1, "the tape does not fit its message: part 0 has less text"},
        {UPP_STR_INIT("\x0a\x0b\x01\x00"), 1, "the tape does not fit its message: part 1 has less text"},
        {UPP_STR_INIT("\x12"), 0, "the tape does not fit its message: part 2 is not in it"},
        {UPP_STR_INIT("\x00\x05"), 1, "the tape is broken at byte 1: expected a mark of a known kind"},
    };
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("abc")},
                               {.kind = UPP_PART_RESULT, .text = UPP_STR("12")}};
    struct wm_entry e = {.kind = WM_ENTRY_MESSAGE,
                         .message = {.role = UPP_ROLE_ASSISTANT, .parts = parts, .n_parts = 2}};
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wm_row row = {.event = 1, .entries = &e, .n_entries = 1, .tape = bad[i].tape};
        struct wm_expand x = {.from = &source, .row = &row, .memory = &a};
        struct wm_event ev;
        struct upp_err err = {0};
        test_note("case %zu", i);
        for (int k = 0; k < bad[i].good; k++)
            CHECK(wm_expand_next(&x, &ev, &err) == 1);
        CHECK_INT(wm_expand_next(&x, &ev, &err), -UPP_ESTORE);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
        x = (struct wm_expand){.from = &source, .row = &row, .memory = &a};
        CHECK_INT(wm_expand_pass(&x, 100, &err), -UPP_ESTORE);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_event ev;
    uint64_t events;
    for (size_t i = 0; i < 2; i++) {
        struct wm_row row = {.tape = i ? UPP_STR("\x00\x01") : UPP_STR("\x01")};
        struct wm_expand x = {.from = &source, .row = &row, .memory = &a};
        CHECK_INT(wm_expand_next(&x, &ev, NULL), i ? 1 : -UPP_ESTORE);
        CHECK(!i || wm_expand_next(&x, &ev, NULL) == -UPP_ESTORE);
        CHECK_INT(wm_row_events(&row, &events, NULL), -UPP_ESTORE);
    }
}

/* Nothing was said in it: the prompt that nobody answered says which step of a plan it was. */
TEST(model_expand_a_step_without_a_message)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_entry e = {.kind = WM_ENTRY_MESSAGE,
                         .audience = WM_AUDIENCE_RUN,
                         .phase = UPP_STR("step:two"),
                         .message = {.role = UPP_ROLE_USER}};
    struct wm_event end = {.kind = WM_STEP_END, .step = 3};
    struct wm_row row = {.step = 3, .event = 7, .tape = UPP_STR("\x00"), .records = &end, .n_records = 1};
    struct wm_event ev;
    uint64_t events;
    for (size_t i = 0; i < 2; i++) {
        row.entries = i ? &e : NULL;
        row.n_entries = i;
        struct wm_expand x = {.from = &source, .row = &row, .index = 5, .memory = &a};
        CHECK_INT(wm_row_events(&row, &events, NULL), 0);
        CHECK_INT(events, 2);
        CHECK_INT(wm_expand_next(&x, &ev, NULL), 1);
        CHECK(ev.kind == WM_STEP_START && ev.number == 7 && ev.step == 3);
        CHECK(wb_str_eq(ev.step_start.plan_step, i ? UPP_STR("two") : UPP_STR("")));
        struct wb_uuid step = ev.step_start.id;
        CHECK_INT(wm_expand_next(&x, &ev, NULL), 1);
        CHECK(ev.kind == WM_STEP_END && ev.number == 8 && wb_uuid_eq(ev.step_end.id, step));
    }
}
