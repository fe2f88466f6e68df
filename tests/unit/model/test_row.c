#include "model/row.h"

#include <stdio.h>

#include "base/utf8.h"
#include "json/read.h"
#include "json/write.h"
#include "support/rows.h"
#include "support/test.h"

/* Whatever a row holds comes back, and is written the same again. */
static bool round_trip(uint64_t seed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20), again = WB_BUF(16u << 20);
    struct rows g = {&a, seed};
    struct upp_err err = {0};
    struct wm_row row, back;
    rows_make(&g, &row);
    row.tape = UPP_STR("");
    if (!EXPECT(wb_arena_check(&a, &err) == 0))
        return false;
    int r = wm_row_write(&row, &b, &err);
    test_note("seed %llu: %s %s", (unsigned long long)seed, err.msg, err.where);
    if (!EXPECT(r == 0))
        return false;
    r = wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), row.tape, &back, &err);
    test_note("seed %llu: %s %s", (unsigned long long)seed, err.msg, err.where);
    if (!EXPECT(r == 0))
        return false;
    const char *what = rows_differ(&row, &back);
    test_note("seed %llu: %s is another in %.*s", (unsigned long long)seed, what ? what : "", UPP_FMT(wb_buf_str(&b)));
    return EXPECT(!what) && EXPECT(wm_row_write(&back, &again, &err) == 0) &&
           EXPECT(wb_str_eq(wb_buf_str(&b), wb_buf_str(&again)));
}

TEST_WITH(model_row_comes_back_as_it_was, .no_torture = "many seeds; one of them is tortured below")
{
    for (uint64_t seed = 0; seed < test_times("WEFT_SEEDS", 2000); seed++)
        CHECK(round_trip(seed));
}

TEST(model_row_comes_back_or_says_why)
{
    for (uint64_t seed = 3; seed < 6; seed++)
        CHECK(round_trip(seed));
}

/* ---- The format ------------------------------------------------------------------------------------- */

static bool writes(const struct wm_row *row, struct upp_str want)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    return EXPECT(wm_row_write(row, &b, &err) == 0) &&
           test_expect_str(wb_buf_str(&b), want, __FILE__, __LINE__, "format 1");
}

/* Stored rows stay readable for ever: these bytes never change. */
TEST(model_row_format_1_is_fixed)
{
    struct upp_media media = {UPP_SOURCE_BASE64, UPP_STR("AQL/"), UPP_STR("image/png"), UPP_STR("t"),
                              UPP_STR("0.5"),    UPP_STR("2"),    UPP_STR("1")};
    struct upp_part parts[] = {
        {.kind = UPP_PART_TEXT, .text = UPP_STR("h\xc3\xa9\0\xed\xa0\xbd")},
        {.kind = UPP_PART_REASONING, .text = UPP_STR(""), .metadata = UPP_STR("{\"p\":{\"s\":1.0}}")},
        {.kind = UPP_PART_CALL,
         .id = UPP_STR("c1"),
         .name = UPP_STR("calc"),
         .text = UPP_STR("{ \"e\": 1 }"),
         .cut = true},
        {.kind = UPP_PART_RESULT, .id = UPP_STR("c0"), .text = UPP_STR("[null]"), .is_error = true},
        {.kind = UPP_PART_IMAGE, .media = &media},
    };
    struct upp_str refs[] = {UPP_STR("c1"), UPP_STR("")};
    struct wm_entry entries[] = {
        {.kind = WM_ENTRY_MESSAGE,
         .origin = WM_ORIGIN_RUN,
         .audience = WM_AUDIENCE_ALL,
         .step = 2,
         .message = {.role = UPP_ROLE_ASSISTANT, .time_ms = 1000, .parts = parts, .n_parts = 5}},
        {.kind = WM_ENTRY_MESSAGE,
         .origin = WM_ORIGIN_RUN,
         .audience = WM_AUDIENCE_RUN,
         .attempt = 3,
         .phase = UPP_STR("act"),
         .message = {.role = UPP_ROLE_TOOL,
                     .interrupted = true,
                     .id = UPP_STR("m"),
                     .time_ms = 990,
                     .time_text = UPP_STR("t"),
                     .metadata = UPP_STR("{}")},
         .refs = refs,
         .n_refs = 2},
        {.kind = WM_ENTRY_EVENT,
         .origin = WM_ORIGIN_IMPORT,
         .audience = WM_AUDIENCE_MODEL,
         .step = 2,
         .who = UPP_STR("me"),
         .data = UPP_STR("{\"x\":[]}"),
         .message = {.time_ms = 1000}},
    };
    struct wm_pending pending[] = {{UPP_STR("c1"), UPP_STR("ask"), UPP_STR("{}"), {{1, 2}}, true, 995}};
    struct wm_event records[] = {
        {.kind = WM_MESSAGE,
         .step = 2,
         .time_ms = 1000,
         .message = {.entry = &entries[1], .stop = UPP_STOP_TOOLS, .usage = {1, 2, 3, 4, 5}}},
        {.kind = WM_TOOL_STARTED,
         .step = 2,
         .time_ms = 1001,
         .call = {UPP_STR("c1"), UPP_STR("calc")},
         .tool_started = {.arguments = UPP_STR("{ \"e\": 1 }"), .child = {{0xab}}, .child_node = UINT64_MAX}},
        {.kind = WM_TOOL_ENDED,
         .step = 2,
         .time_ms = 1000,
         .call.id = UPP_STR("c1"),
         .tool_ended = {.result = UPP_STR("4"), .outcome = WM_DONE, .ms = 7}},
        {.kind = WM_STEP_END, .step = 2, .time_ms = 1000},
        {.kind = WM_CHECKPOINT, .step = 3, .time_ms = 1000, .checkpoint.id = {{0xff}}},
        {.kind = WM_RUN,
         .step = 2,
         .time_ms = 1000,
         .run =
             {.status = WM_WAITING, .error = UPP_STR("{\"name\":\"UPPError\"}"), .pending = pending, .n_pending = 1}},
        {.kind = WM_VOID, .step = 2, .time_ms = 1000, .voided.last = 17},
    };
    struct wm_row row = {.event = 18, .epoch = 1, .step = 2, .time_ms = 1000, .state = UPP_STR("{\"s\":1}")};
    CHECK(writes(&(struct wm_row){0}, UPP_STR("{}")));
    CHECK(writes(&row, UPP_STR("{\"v\":18,\"c\":1,\"s\":2,\"t\":1000,\"x\":{\"s\":1}}")));
    row = (struct wm_row){.step = 2, .time_ms = 1000, .entries = entries, .n_entries = 3};
    CHECK(writes(
        &row,
        UPP_STR("{\"s\":2,\"t\":1000,\"e\":["
                "{\"r\":2,\"p\":[{\"x\":\"h\xc3\xa9\\u0000\\ud83d\"},{\"k\":2,\"x\":\"\",\"d\":{\"p\":{\"s\":1.0}}},"
                "{\"k\":8,\"i\":\"c1\",\"n\":\"calc\",\"x\":\"{ \\\"e\\\": 1 }\",\"c\":1},"
                "{\"k\":9,\"i\":\"c0\",\"j\":[null],\"e\":1},"
                "{\"k\":3,\"m\":{\"s\":1,\"u\":\"AQL/\",\"m\":\"image/png\",\"l\":\"t\",\"t\":0.5,\"w\":2,\"h\":1}}]},"
                "{\"a\":2,\"n\":3,\"s\":0,\"h\":\"act\",\"r\":3,\"i\":\"m\",\"t\":-10,\"z\":\"t\",\"b\":1,\"d\":{},"
                "\"f\":[\"c1\",\"\"]},"
                "{\"k\":2,\"o\":3,\"a\":3,\"w\":\"me\",\"j\":{\"x\":[]}}]}")));
    row.records = records;
    row.n_records = WB_LEN(records);
    row.n_entries = 2;
    entries[0] =
        (struct wm_entry){.kind = WM_ENTRY_TURN, .origin = 1, .audience = 1, .step = 2, .message = {.time_ms = 1000}};
    entries[1] =
        (struct wm_entry){.kind = WM_ENTRY_TURN, .origin = 1, .audience = 1, .step = 2, .message = {.time_ms = 1000}};
    CHECK(writes(
        &row, UPP_STR("{\"s\":2,\"t\":1000,\"e\":[{\"k\":4},{\"k\":4}],\"r\":["
                      "{\"k\":2,\"y\":3,\"e\":1,\"g\":[1,2,3,4,5]},"
                      "{\"k\":3,\"t\":1,\"c\":\"c1\",\"n\":\"calc\",\"x\":\"{ \\\"e\\\": 1 }\","
                      "\"h\":\"ab000000000000000000000000000000\",\"q\":18446744073709551615},"
                      "{\"k\":4,\"o\":1,\"c\":\"c1\",\"j\":4,\"m\":7},"
                      "{\"k\":5},"
                      "{\"k\":6,\"s\":3,\"i\":\"ff000000000000000000000000000000\"},"
                      "{\"k\":1,\"u\":3,\"j\":{\"name\":\"UPPError\"},\"p\":[{\"c\":\"c1\",\"n\":\"ask\",\"a\":\"{}\","
                      "\"r\":\"01020000000000000000000000000000\",\"y\":1,\"t\":-5}]},"
                      "{\"k\":7,\"l\":17}]}")));
}

/* A row of one message of 400 bytes, as a step makes it: the text and little more. */
TEST(model_row_costs_little_more_than_its_text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    char text[400];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof text; i += 40)
        text[i] = i % 80 ? '"' : '\n';
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = {text, sizeof text}};
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                             .origin = WM_ORIGIN_RUN,
                             .audience = WM_AUDIENCE_ALL,
                             .step = 7,
                             .message = {.role = UPP_ROLE_ASSISTANT,
                                         .id = UPP_STR("msg_01AbCdEfGhIjKlMnOpQrStUv"),
                                         .time_ms = 1770091506007,
                                         .parts = &part,
                                         .n_parts = 1}};
    struct wm_event records[] = {
        {.kind = WM_MESSAGE,
         .step = 7,
         .time_ms = 1770091506007,
         .message = {.entry = &entry, .stop = UPP_STOP_END, .usage = {.input = 900, .output = 100}}},
        {.kind = WM_STEP_END, .step = 7, .time_ms = 1770091506007},
    };
    struct wm_row row = {
        .event = 1234, .epoch = 1, .step = 7, .time_ms = 1770091506007, .entries = &entry, .n_entries = 1};
    CHECK(wm_row_write(&row, &b, NULL) == 0);
    CHECK(b.n <= sizeof text * 115 / 100 + 120);
    wb_buf_clear(&b);
    row.records = records;
    row.n_records = 2;
    CHECK(wm_row_write(&row, &b, NULL) == 0);
    CHECK(b.n <= sizeof text * 115 / 100 + 180);
}

/* ---- Writing what cannot be stored ----------------------------------------------------------------------- */

TEST(model_row_that_cannot_be_read_is_not_written)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("x")};
    struct upp_part two[] = {part, part};
    struct upp_media media = {0};
    struct wm_entry entry = {
        .kind = WM_ENTRY_MESSAGE, .origin = 1, .audience = 1, .message = {.role = 1, .parts = two, .n_parts = 2}};
    struct wm_event record = {.kind = WM_RUN};
    struct wm_row whole = {.entries = &entry, .n_entries = 1, .records = &record, .n_records = 1};
    const struct wm_entry good = entry;
    const struct wm_event plain = record;
    for (int i = 0;; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wm_row row = whole;
        const char *where = "";
        entry = good;
        record = plain;
        two[1] = part;
        media = (struct upp_media){0};
        test_note("case %d", i);
        switch (i) {
        case 0:
            two[1].text = UPP_STR("caf\xe9"), where = "/e/0/p/1/x";
            break;
        case 1:
            two[1].kind = 10, where = "/e/0/p/1/k";
            break;
        case 2:
            two[1].kind = 0, where = "/e/0/p/1/k";
            break;
        case 3:
            two[1].metadata = UPP_STR("{"), where = "/e/0/p/1/d";
            break;
        case 4:
            two[1].metadata = UPP_STR("[]"), where = "/e/0/p/1/d";
            break;
        case 5:
            two[1].kind = UPP_PART_RESULT, where = "/e/0/p/1/j";
            break;
        case 6:
            media.width = UPP_STR("01"), two[1].media = &media, where = "/e/0/p/1/w";
            break;
        case 7:
            media.source = 5, two[1].media = &media, where = "/e/0/p/1/s";
            break;
        case 8:
            entry.kind = 0, where = "/e/0/k";
            break;
        case 9:
            entry.kind = 5, where = "/e/0/k";
            break;
        case 10:
            entry.origin = 4, where = "/e/0/o";
            break;
        case 11:
            entry.audience = 4, where = "/e/0/a";
            break;
        case 12:
            entry.attempt = 64, where = "/e/0/k";
            break;
        case 13:
            entry.message.role = 0, where = "/e/0/k";
            break;
        case 14:
            entry.message.role = 4, where = "/e/0/r";
            break;
        case 15:
            entry.data = UPP_STR(""), where = "/e/0/j";
            break;
        case 16:
            record.kind = WM_DELTA, where = "/r/0/k";
            break;
        case 17:
            record.kind = 0, where = "/r/0/k";
            break;
        case 18:
            record.kind = WM_MESSAGE, where = "/r/0/e";
            break;
        case 19:
            record.run.status = 9, where = "/r/0/u";
            break;
        case 20:
            record = (struct wm_event){.kind = WM_TOOL_ENDED, .tool_ended.outcome = 7}, where = "/r/0/o";
            break;
        case 21:
            record = (struct wm_event){.kind = WM_MESSAGE, .message = {.entry = &entry, .stop = 6}}, where = "/r/0/y";
            break;
        case 22:
            record.run.error = UPP_STR("{\"a\":}"), where = "/r/0/j";
            break;
        case 23:
            row.state = UPP_STR("nul"), where = "/x";
            break;
        case 24:
            row.state = UPP_STR("\"\xed\xa0\xbd\""), where = "/x";
            break; /* JSON is UTF-8 */
        case 25:
            entry.who = UPP_STR("\xff"), where = "/e/0/w";
            break;
        case 26:
            row.lost = &entry, where = "/l";
            break;
        default:
            CHECK_INT(i, 27);
            return;
        }
        CHECK_INT(wm_row_write(&row, &b, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.where), wb_cstr(where));
        CHECK(err.msg[0] && err.code == UPP_EINVALID);
    }
}

TEST(model_row_keeps_what_was_taken_back)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("well")};
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                             .origin = 1,
                             .audience = 1,
                             .attempt = 3,
                             .message = {.role = 2, .parts = &part, .n_parts = 1}};
    struct wm_event record = {.kind = WM_VOID, .voided.last = 4};
    struct wm_row row = {.event = 5, .epoch = 2, .records = &record, .n_records = 1, .lost = &entry}, back;
    struct upp_str tape = UPP_STR("\1\2\3\4\0"); /* message, part, one delta of four bytes */
    uint64_t n;
    tape.n = 5;
    CHECK_INT(wm_row_write(&row, &b, NULL), 0);
    CHECK_INT(wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), tape, &back, NULL), 0);
    CHECK(back.lost && back.lost->attempt == 3 && back.n_entries == 0);
    CHECK_STR(back.lost->message.parts[0].text, UPP_STR("well"));
    CHECK(wm_row_events(&back, &n, NULL) == 0 && n == 1); /* the void alone has a number of its own */
    CHECK_INT(wm_row_read_entries(&a, WM_FORMAT, wb_buf_str(&b), &back, NULL), 0);
    CHECK(!back.lost);
    static const char *const bad[] = {"{\"l\":[{\"r\":2}]}", "{\"r\":[{\"k\":7}],\"l\":[]}",
                                      "{\"r\":[{\"k\":1}],\"l\":[{\"r\":2}]}"};
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_err err = {0};
        CHECK_INT(wm_row_read(&a, WM_FORMAT, wb_cstr(bad[i]), UPP_STR(""), &back, &err), -UPP_ESTORE);
        CHECK_STR(wb_cstr(err.where), UPP_STR("/l"));
    }
}

TEST(model_row_has_limits)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20), deep = WB_BUF(1u << 12);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part part = {.kind = UPP_PART_TEXT};
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                             .origin = 1,
                             .audience = 1,
                             .message = {.role = 1, .parts = &part, .n_parts = WM_PARTS + 1}};
    struct wm_row row = {.entries = &entry, .n_entries = 1}, back;
    struct upp_err err = {0};
    CHECK_INT(wm_row_write(&row, &b, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/e/0/p"));

    entry.message.n_parts = 0;
    entry.n_refs = WM_PARTS + 1;
    wb_buf_clear(&b);
    CHECK_INT(wm_row_write(&row, &b, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/e/0/f"));
    entry.n_refs = 0;

    /* JSON as deep as JSON may be is read again at the deepest place of a row; deeper is not written. */
    for (int i = 0; i < WJ_MAX_DEPTH; i++)
        wb_buf_addc(&deep, '[');
    for (int i = 0; i < WJ_MAX_DEPTH; i++)
        wb_buf_addc(&deep, ']');
    part.kind = UPP_PART_RESULT;
    part.text = wb_buf_str(&deep);
    entry.message.n_parts = 1;
    wb_buf_clear(&b);
    CHECK(wm_row_write(&row, &b, &err) == 0);
    CHECK(wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), UPP_STR(""), &back, &err) == 0);
    CHECK_STR(back.entries[0].message.parts[0].text, wb_buf_str(&deep));
    wb_buf_addc(&deep, ']');
    memmove(deep.p + 1, deep.p, deep.n - 1);
    part.text = wb_buf_str(&deep);
    wb_buf_clear(&b);
    CHECK_INT(wm_row_write(&row, &b, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/e/0/p/0/j"));

    WB_CLEANUP(wb_buf_done) struct wb_buf small = WB_BUF(16);
    part = (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR("more than sixteen")};
    CHECK_INT(wm_row_write(&row, &small, &err), -UPP_ELIMIT);
    WB_CLEANUP(wb_arena_done) struct wb_arena tiny = WB_ARENA(64);
    CHECK_INT(wm_row_read(&tiny, WM_FORMAT, UPP_STR("{}"), UPP_STR(""), &back, &err), -UPP_ELIMIT);
}

TEST_WITH(model_row_is_at_most_64_mib, .no_torture = "128 MiB a run, and two allocations")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WM_ROW_MAX), b = WB_BUF(2u * WM_ROW_MAX);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct wm_row row;
    CHECK(wb_buf_reserve(&text, WM_ROW_MAX));
    memset(text.p, 'x', WM_ROW_MAX);
    text.n = WM_ROW_MAX;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_buf_str(&text)};
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                             .origin = WM_ORIGIN_RUN,
                             .audience = WM_AUDIENCE_ALL,
                             .message = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1}};
    row = (struct wm_row){.entries = &entry, .n_entries = 1};
    CHECK_INT(wm_row_write(&row, &b, &err), -UPP_ELIMIT);
    CHECK(b.n > WM_ROW_MAX);
    CHECK_INT(wm_row_read(&a, WM_FORMAT, wb_buf_str(&b), UPP_STR(""), &row, &err), -UPP_ELIMIT);
}

/* ---- Reading what is no row ------------------------------------------------------------------------------ */

TEST(model_row_of_other_bytes_is_refused)
{
    static const struct {
        const char *body, *where, *msg;
    } bad[] = {
        {"", NULL, NULL},
        {"{", NULL, NULL},
        {"[]", "", "expected an object, found an array"},
        {"{\"event\":1}", "/event", "expected a member that this version knows, found 'event'"},
        {"{\"b\":1}", "/b", NULL},
        {"{\"v\":1,\"v\":1}", "/v", NULL},
        {"{\"v\":-1}", "/v", "expected a whole number of 64 bits, found the number -1"},
        {"{\"v\":1.0}", "/v", NULL},
        {"{\"v\":\"1\"}", "/v", NULL},
        {"{\"c\":4294967296}", "/c", NULL},
        {"{\"t\":9223372036854775808}", "/t", NULL},
        {"{\"e\":{}}", "/e", "expected an array, found an object"},
        {"{\"e\":[{}]}", "/e/0", NULL},
        {"{\"e\":[{\"r\":1},7]}", "/e/1", "expected an object, found the number 7"},
        {"{\"e\":[{\"r\":0}]}", "/e/0/r", NULL},
        {"{\"e\":[{\"r\":4}]}", "/e/0/r", "expected a value that this version knows, found the number 4"},
        {"{\"e\":[{\"k\":5}]}", "/e/0/k", NULL},
        {"{\"e\":[{\"k\":3}]}", "/e/0", NULL},
        {"{\"e\":[{\"r\":1,\"o\":4}]}", "/e/0/o", NULL},
        {"{\"e\":[{\"r\":1,\"a\":4}]}", "/e/0/a", NULL},
        {"{\"e\":[{\"r\":1,\"n\":64}]}", "/e/0/n", NULL},
        {"{\"e\":[{\"r\":1,\"w\":null}]}", "/e/0/w", "expected a string, found null"},
        {"{\"e\":[{\"r\":1,\"b\":0}]}", "/e/0/b", NULL},
        {"{\"e\":[{\"r\":1,\"b\":true}]}", "/e/0/b", NULL},
        {"{\"e\":[{\"r\":1,\"d\":[]}]}", "/e/0/d", NULL},
        {"{\"e\":[{\"r\":1,\"t\":0.5}]}", "/e/0/t", NULL},
        {"{\"e\":[{\"r\":1,\"f\":[1]}]}", "/e/0/f/0", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"k\":10}]}]}", "/e/0/p/0/k", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"j\":1}]}]}", "/e/0/p/0/j", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"k\":9,\"x\":\"\"}]}]}", "/e/0/p/0/x", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"x\":\"\",\"k\":9}]}]}", "/e/0/p/0/k", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"z\":1}]}]}", "/e/0/p/0/z", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"m\":{\"s\":5}}]}]}", "/e/0/p/0/m/s", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"m\":{\"w\":\"1\"}}]}]}", "/e/0/p/0/m/w", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"m\":{\"x\":1}}]}]}", "/e/0/p/0/m/x", NULL},
        {"{\"e\":[{\"r\":1,\"p\":[{\"m\":[]}]}]}", "/e/0/p/0/m", NULL},
        {"{\"e\":[{\"r\":1}],\"t\":1}", "/t", NULL},
        {"{\"r\":[{\"k\":5}],\"e\":[{\"r\":1}]}", "/e", NULL},
        {"{\"r\":[{}]}", "/r/0", NULL},
        {"{\"r\":[{\"k\":10}]}", "/r/0/k", NULL},
        {"{\"r\":[{\"t\":1,\"k\":5}]}", "/r/0/t", NULL},
        {"{\"r\":[{\"k\":2}]}", "/r/0", NULL},
        {"{\"e\":[{\"r\":1}],\"r\":[{\"k\":2,\"e\":1}]}", "/r/0/e", NULL},
        {"{\"e\":[{\"r\":1}],\"r\":[{\"k\":5,\"e\":0}]}", "/r/0/e", NULL},
        {"{\"r\":[{\"k\":1,\"u\":9}]}", "/r/0/u", NULL},
        {"{\"r\":[{\"k\":1,\"x\":\"\"}]}", "/r/0/x", NULL},
        {"{\"r\":[{\"k\":3,\"j\":1}]}", "/r/0/j", NULL},
        {"{\"r\":[{\"k\":4,\"o\":7}]}", "/r/0/o", NULL},
        {"{\"r\":[{\"k\":5,\"g\":[1,2,3]}]}", "/r/0/g", NULL},
        {"{\"r\":[{\"k\":5,\"g\":[1,2,3,4,5,6]}]}", "/r/0/g", NULL},
        {"{\"r\":[{\"k\":5,\"g\":[1,2,3,\"4\"]}]}", "/r/0/g/3", NULL},
        {"{\"r\":[{\"k\":5,\"i\":\"ff000000000000000000000000000000\"}]}", "/r/0/i", NULL},
        {"{\"r\":[{\"k\":6,\"i\":\"ff\"}]}", "/r/0/i", "expected a UUID, found a string"},
        {"{\"r\":[{\"k\":1,\"p\":[{\"y\":2}]}]}", "/r/0/p/0/y", NULL},
        {"{\"r\":[{\"k\":1,\"p\":[{\"b\":2}]}]}", "/r/0/p/0/b", NULL},
        {"{\"r\":[{\"k\":7,\"y\":6}]}", "/r/0/y", NULL},
        {"{\"r\":[{\"k\":7,\"d\":6}]}", "/r/0/d", NULL},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        struct wm_row row = {.event = 99};
        test_note("case %zu: %s", i, bad[i].body);
        CHECK_INT(wm_row_read(&a, WM_FORMAT, wb_cstr(bad[i].body), UPP_STR(""), &row, &err), -UPP_ESTORE);
        CHECK(err.code == UPP_ESTORE && row.event == 99);
        if (bad[i].where)
            CHECK_STR(wb_cstr(err.where), wb_cstr(bad[i].where));
        if (bad[i].msg)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
}

TEST(model_row_of_another_format_or_tape_is_refused)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct wm_row row;
    struct upp_str body = UPP_STR("{\"e\":[{\"r\":2,\"p\":[{\"x\":\"abc\"}]}]}");
    CHECK_INT(wm_row_read(&a, 2, body, UPP_STR(""), &row, &err), -UPP_ESTORE);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("a row of format 2, which this version does not know"));
    CHECK_INT(wm_row_read_entries(&a, 0, body, &row, &err), -UPP_ESTORE);
    CHECK(wm_row_read(&a, WM_FORMAT, body, UPP_STR("\x01\x02\x03\x03\x00\x04"), &row, &err) == 0);
    CHECK_INT(wm_row_read(&a, WM_FORMAT, body, UPP_STR("\x01\x02\x03"), &row, &err), -UPP_ESTORE);
    CHECK_INT(wm_row_read(&a, WM_FORMAT, body, UPP_STR("\x01\x02\x03\x04\x00"), &row, &err), -UPP_ESTORE);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the tape does not fit its message: it is about more text"));
    CHECK_INT(wm_row_read(&a, WM_FORMAT, UPP_STR("{}"), UPP_STR("\x01"), &row, &err), -UPP_ESTORE);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("a tape without the message that it is about"));
}

TEST(model_row_gives_its_entries_alone)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct wm_row row;
    struct upp_str body =
        UPP_STR("{\"v\":3,\"e\":[{\"r\":3,\"f\":[\"a\",\"b\"]}],\"r\":[{\"k\":4,\"c\":\"a\",\"o\":1,\"j\":1},"
                "{\"k\":5},{\"k\":4,\"c\":\"b\",\"o\":2,\"j\":\"no\"}],\"x\":{}}");
    CHECK(wm_row_read_entries(&a, WM_FORMAT, body, &row, &err) == 0);
    CHECK(row.n_entries == 1 && row.n_records == 2 && !row.state.p && !row.tape.p);
    CHECK_STR(row.records[1].call.id, UPP_STR("b"));
    CHECK_STR(row.records[1].tool_ended.result, UPP_STR("\"no\""));
}

/* ---- Results ----------------------------------------------------------------------------------------------- */

TEST(model_entry_joins_results_in_the_order_of_its_refs)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err = {0};
    struct upp_str refs[] = {UPP_STR("c"), UPP_STR("a"), UPP_STR("b")};
    struct wm_event ev[] = {
        {.kind = WM_TOOL_ENDED,
         .call = {UPP_STR("a"), UPP_STR("A")},
         .tool_ended = {.result = UPP_STR("1"), .outcome = WM_DONE}},
        {.kind = WM_TOOL_STARTED, .call.id = UPP_STR("b"), .tool_started.arguments = UPP_STR("{}")},
        {.kind = WM_TOOL_ENDED, .call.id = UPP_STR("c"), .tool_ended = {.result = UPP_STR("2"), .outcome = WM_ERROR}},
        {.kind = WM_TOOL_ENDED, .call.id = UPP_STR("c"), .tool_ended = {.result = UPP_STR("3"), .outcome = WM_UNKNOWN}},
    };
    const struct wm_event *ended[] = {&ev[0], &ev[1], &ev[2], &ev[3]};
    struct wm_entry e = {.kind = WM_ENTRY_MESSAGE, .message = {.role = UPP_ROLE_TOOL}, .refs = refs, .n_refs = 3};
    CHECK_INT(wm_entry_join(&a, &e, ended, 4, &err), 1);
    CHECK_INT(e.message.n_parts, 2);
    CHECK_STR(e.message.parts[0].id, UPP_STR("c"));
    CHECK_STR(e.message.parts[0].text, UPP_STR("3")); /* the later one */
    CHECK(e.message.parts[0].kind == UPP_PART_RESULT && e.message.parts[0].is_error);
    CHECK_STR(e.message.parts[1].name, UPP_STR("A"));
    CHECK(!e.message.parts[1].is_error);
    ev[1].kind = WM_TOOL_ENDED;
    CHECK_INT(wm_entry_join(&a, &e, ended, 4, &err), 0);
    CHECK_INT(e.message.n_parts, 3);
    e.n_refs = 0;
    CHECK_INT(wm_entry_join(&a, &e, NULL, 0, &err), 0);
    CHECK_INT(e.message.n_parts, 3); /* has no refs: stays as it is */
    e.n_refs = WM_PARTS + 1;
    CHECK_INT(wm_entry_join(&a, &e, NULL, 0, &err), -UPP_ELIMIT);
}
