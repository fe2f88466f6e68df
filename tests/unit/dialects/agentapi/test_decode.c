/* dialects/agentapi/decode.c and dialects/agentapi/build.c: streams into the model, and messages under construction. */
#include "dialects/agentapi/decode.h"

#include <stdio.h>
#include <string.h>

#include "dialects/core/convert.h"
#include "json/read.h"
#include "dialects/agentapi/decode.h"
#include "support/dialect.h"
#include "support/test.h"
#include "support/overcommit.h"

enum { ROOM = 64 << 20 };

struct heard {
    struct wb_arena a;
    struct wm_doc doc;
    struct wd_aap_decoder d;
    struct wb_buf told;
    struct upp_err err;
};

static void heard_init(struct heard *h)
{
    *h = (struct heard){.a = WB_ARENA(ROOM), .told = WB_BUF(ROOM)};
    wd_aap_decoder_init(&h->d, &h->a);
}

static void heard_done(struct heard *h)
{
    wd_aap_decoder_done(&h->d);
    wm_doc_done(&h->doc);
    wb_arena_done(&h->a);
    wb_buf_done(&h->told);
}

static void part_line(struct wb_buf *out, const struct upp_part *p, uint8_t kind)
{
    wb_buf_addf(out, "%u%s%s %.*s %.*s %.*s\n", kind, p->is_error ? "!" : "", p->cut ? "/" : "", UPP_FMT(p->id),
                UPP_FMT(p->name), UPP_FMT(p->text));
}

static int hear(struct heard *h, struct upp_str lines)
{
    struct upp_str line;
    int r = 0;
    while (r >= 0 && wb_str_split(&lines, '\n', &line))
        r = wd_aap_decode(&h->d, line, &h->err);
    if (r >= 0)
        r = wd_aap_decode_end(&h->d, &h->doc, (struct upp_str){0}, 0, &h->err);
    for (size_t i = 0; r >= 0 && i < h->doc.entries.n; i++) {
        const struct wm_doc_entry *e = &h->doc.entries.p[i];
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(&h->told, "event %.*s\n", UPP_FMT(e->e.data));
        for (size_t k = 0; k < e->e.message.n_parts; k++)
            part_line(&h->told, &e->e.message.parts[k], e->e.message.parts[k].kind);
    }
    return r < 0 ? r : wb_buf_check(&h->told, &h->err);
}

/* ---- What streams become --------------------------------------------------------------------------------------- */

#define R(s)     "{\"object\":\"response\",\"id\":\"r\",\"status\":\"" s "\"}\n"
#define M(id, s) "{\"object\":\"message\",\"id\":\"" id "\",\"status\":\"" s "\"}\n"
#define D(id, i, text)                                                                                                 \
    "{\"object\":\"content\",\"status\":\"in_progress\",\"type\":\"text\",\"index\":" #i                               \
    ",\"delta\":true,\"msg_id\":\"" id "\",\"text\":\"" text "\"}\n"
#define W(id, i, text)                                                                                                 \
    "{\"object\":\"content\",\"status\":\"completed\",\"type\":\"text\",\"index\":" #i                                 \
    ",\"delta\":false,\"msg_id\":\"" id "\",\"text\":\"" text "\"}\n"
#define DATA(delta, status, data)                                                                                      \
    "{\"object\":\"content\",\"status\":\"" status "\",\"type\":\"data\",\"index\":0,\"delta\":" delta                 \
    ",\"data\":" data "}\n"

static const char *const seed_1 =
    "{\"status\":\"created\",\"id\":\"response_...\",\"object\":\"response\"}\n"
    "{\"status\":\"created\",\"id\":\"msg_...\",\"object\":\"message\",\"type\":\"assistant\"}\n"
    "{\"status\":\"in_progress\",\"type\":\"text\",\"index\":0,\"delta\":true,\"text\":\"Hello\",\"object\":"
    "\"content\"}\n"
    "{\"status\":\"in_progress\",\"type\":\"text\",\"index\":0,\"delta\":true,\"text\":\", \",\"object\":\"content\"}\n"
    "{\"status\":\"in_progress\",\"type\":\"text\",\"index\":0,\"delta\":true,\"text\":\"world\",\"object\":"
    "\"content\"}\n"
    "{\"status\":\"completed\",\"type\":\"text\",\"index\":0,\"delta\":false,\"text\":\"Hello, "
    "world!\",\"object\":\"content\"}\n"
    "{\"status\":\"completed\",\"id\":\"msg_...\",\"object\":\"message\"}\n"
    "{\"status\":\"completed\",\"id\":\"response_...\",\"object\":\"response\"}\n";

static const char *const seed_2 =
    "data: {\"id\":\"response_123\",\"object\":\"response\",\"status\":\"created\"}\n\n"
    "data: {\"id\":\"msg_abc\",\"object\":\"message\",\"type\":\"assistant\",\"status\":\"created\"}\n\n"
    "data: {\"status\":\"in_progress\",\"type\":\"text\",\"index\":0,\"delta\":true,\"text\":\"This\",\"object\":"
    "\"content\",\"msg_id\":\"msg_abc\"}\n\n"
    ": still here\n\n"
    "data: {\"status\":\"in_progress\",\"type\":\"text\",\"index\":0,\"delta\":true,\"text\":\" image "
    "shows...\",\"object\":\"content\",\"msg_id\":\"msg_abc\"}\n\n"
    "data: {\"status\":\"completed\",\"type\":\"text\",\"index\":0,\"delta\":false,\"text\":\"This image "
    "shows...\",\"object\":\"content\",\"msg_id\":\"msg_abc\"}\n\n"
    "data: {\"id\":\"msg_abc\",\"status\":\"completed\",\"object\":\"message\"}\n\n"
    "data: {\"id\":\"response_123\",\"status\":\"completed\",\"object\":\"response\"}\n\n";

/* covers: AAP-18/1 */
TEST(dialect_agentapi_decode_reads_the_examples_of_the_specification)
{
    static const struct {
        const char *const *stream;
        const char *told;
    } cases[] = {{&seed_1, "1   Hello, world!\n"}, {&seed_2, "1   This image shows...\n"}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(heard_done) struct heard h;
        heard_init(&h);
        CHECK(hear(&h, wb_cstr(*cases[i].stream)) >= 0);
        CHECK_STR(wb_buf_str(&h.told), wb_cstr(cases[i].told));
        CHECK(h.doc.entries.n == 1 && h.doc.entries.p[0].e.message.role == UPP_ROLE_ASSISTANT);
        CHECK(h.d.status == WD_AAP_COMPLETED);
    }
}

static const struct {
    const char *stream, *told;
    enum wd_aap_status status;
} streams[] = {
    /* The completed content is left out; the opening of the message too. */
    {R("created") M("a", "in_progress") D("a", 0, "x") D("a", 0, "y") M("a", "completed") R("completed"), "1   xy\n",
     WD_AAP_COMPLETED},
    {R("created") D("a", 0, "x") W("a", 0, "x") R("completed"), "1   x\n", WD_AAP_COMPLETED},
    /* Two messages at once, two contents of one. */
    {R("created") M("a", "in_progress") M("b", "in_progress") D("a", 0, "x") D("b", 0, "y") D("a", 0, "z")
         D("a", 1, "w") M("a", "completed") M("b", "completed") R("completed"),
     "1   xz\n1   w\n1   y\n", WD_AAP_COMPLETED},
    /* Without an end it has failed; what is open was cut. */
    {R("created") M("a", "in_progress") D("a", 0, "x"), "1/   x\n", WD_AAP_FAILED},
    {"", "", WD_AAP_FAILED},
    {"{\"error\":\"Task is running\"}", "", WD_AAP_FAILED},
    /* Statuses that nobody knows are unknown, and it goes on. */
    {R("created") R("dreaming") M("a", "dozing") D("a", 0, "x") M("a", "completed") R("completed"), "1   x\n",
     WD_AAP_COMPLETED},
    /* Heartbeats are nothing, and unknown objects. */
    {R("created") "{\"object\":\"message\",\"type\":\"heartbeat\",\"id\":\"h\"}\n{\"object\":\"news\"}\n" M(
         "a", "in_progress") D("a", 0, "x") M("a", "completed") R("canceled"),
     "1   x\n", WD_AAP_CANCELED},
    /* Snapshots replace, deltas are merged. */
    {R("created") "{\"object\":\"message\",\"id\":\"a\",\"type\":\"plugin_call\",\"status\":\"in_progress\"}\n" DATA(
         "false", "in_progress", "{\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"\"}")
         DATA("false", "in_progress", "{\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{\\\"a\"}")
             DATA("false", "completed", "{\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}") M("a", "completed")
                 R("completed"),
     "8 c f {}\n", WD_AAP_COMPLETED},
    {R("created") "{\"object\":\"message\",\"id\":\"a\",\"type\":\"plugin_call\",\"status\":\"in_progress\"}\n" DATA(
         "true", "in_progress", "{\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{\"}")
         DATA("true", "in_progress", "{\"call_id\":null,\"arguments\":\"}\"}") M("a", "completed") R("completed"),
     "8 c f {}\n", WD_AAP_COMPLETED},
    /* What a response does not list was taken back; what it lists alone is there. */
    {R("created") M("a", "in_progress") W("a", 0, "x")
         M("a", "canceled") "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"object\":\"message\","
                            "\"id\":\"b\","
                            "\"status\":\"completed\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}]}",
     "1   y\n", WD_AAP_COMPLETED},
    /* Numbers as texts and as numbers. */
    {"{\"sequence_number\":\"0\",\"object\":\"response\",\"status\":\"created\"}\n{\"sequence_number\":1,\"object\":"
     "\"response\",\"status\":\"completed\"}",
     "", WD_AAP_COMPLETED},
};

/* covers: AAP-3/2, AAP-8/3, AAP-13/3, AAP-15/1/6 */
TEST(dialect_agentapi_decode_streams)
{
    for (size_t i = 0; i < WB_LEN(streams); i++) {
        WB_CLEANUP(heard_done) struct heard h;
        heard_init(&h);
        test_note("%s", streams[i].stream);
        CHECK(hear(&h, wb_cstr(streams[i].stream)) >= 0);
        CHECK_STR(wb_buf_str(&h.told), wb_cstr(streams[i].told));
        CHECK_INT(h.d.status, streams[i].status);
    }
}

static const struct {
    const char *stream, *why;
} refused[] = {
    {"nonsense", "neither"},
    {"data: 7", "an object"},
    {"data: {", "expected"},
    {"{\"sequence_number\":3,\"object\":\"x\"}\n{\"sequence_number\":5,\"object\":\"x\"}", "frame 5 comes after"},
    {"{\"sequence_number\":3,\"object\":\"x\"}\n{\"sequence_number\":\"3\",\"object\":\"x\"}", "frame 3 comes after"},
    {"{\"sequence_number\":\"three\"}", "whole number"},
    {R("created") M("a", "in_progress") W("a", 0, "x") D("a", 0, "y"), "after its end"},
    {R("created") M("a", "in_progress") D("a", 1, "y"), "content 1 of a message that has 0"},
    {R("created") M("a", "completed") D("a", 0, "y"), "which is over"},
    {R("created") M("a", "in_progress") D("a", 0, "x") DATA("true", "in_progress", "{}"), "was of another"},
    {R("created") R("completed") M("a", "created"), "after the response was over"},
    {R("created") "{\"object\":\"content\",\"text\":\"x\"}", "has a type"},
    {R("created") "{\"object\":\"content\",\"type\":\"text\",\"index\":-1}", "'index'"},
};

/* covers: AAP-15/3 */
TEST(dialect_agentapi_decode_refuses)
{
    for (size_t i = 0; i < WB_LEN(refused); i++) {
        WB_CLEANUP(heard_done) struct heard h;
        heard_init(&h);
        test_note("%s", refused[i].stream);
        CHECK_INT(hear(&h, wb_cstr(refused[i].stream)), -UPP_EINVALID);
        test_note("%s: '%s'", refused[i].stream, h.err.msg);
        CHECK(strstr(h.err.msg, refused[i].why) != NULL);
    }
}

/* ---- Our own streams ------------------------------------------------------------------------------------------- */

/* What a run said, called and got, from its events. */
static void expected(const struct events *e, struct wb_buf *out)
{
    for (size_t i = 0; i < e->list.n; i++) {
        const struct wm_event *ev = &e->list.p[i];
        if (ev->kind == WM_TOOL_ENDED && ev->from->depth == 0)
            part_line(out,
                      &(struct upp_part){.is_error = ev->tool_ended.outcome != WM_DONE,
                                         .id = ev->call.id,
                                         .name = ev->call.name,
                                         .text = ev->tool_ended.result},
                      UPP_PART_RESULT);
        if (ev->kind == WM_SYSTEM && ev->from->depth == 0)
            wb_buf_addf(out, "event %.*s\n", UPP_FMT(ev->system.entry->data));
        if (ev->kind != WM_MESSAGE || ev->from->depth || ev->message.entry->message.role != UPP_ROLE_ASSISTANT)
            continue;
        bool aside = ev->message.entry->audience == WM_AUDIENCE_RUN;
        if (aside && !wb_str_eq(ev->message.entry->phase, UPP_STR("reason")))
            continue;
        for (size_t k = 0; k < ev->message.entry->message.n_parts; k++) {
            const struct upp_part *p = &ev->message.entry->message.parts[k];
            if (!aside || p->kind != UPP_PART_CALL)
                part_line(out, p, aside && p->kind == UPP_PART_TEXT ? UPP_PART_REASONING : p->kind);
        }
    }
}

TEST_WITH(dialect_agentapi_decode_hears_what_was_said, .no_torture = "the streams are tortured where they are written")
{
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        WB_CLEANUP(heard_done) struct heard h;
        WB_CLEANUP(wb_buf_done) struct wb_buf lines = WB_BUF(ROOM), want = WB_BUF(ROOM);
        dialect_init(&d);
        heard_init(&h);
        test_note("%s", events_scripts[i].name);
        if (strncmp(events_scripts[i].name, "child", 5) == 0)
            continue; /* calls of others are told of, too */
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_agentapi, NULL) == 0);
        for (size_t k = 0; k < d.frames.list.n; k++)
            wb_buf_addf(&lines, "data: %.*s\n\n", (int)d.frames.list.p[k].n, d.frames.text.p + d.frames.list.p[k].from);
        expected(&d.events, &want);
        int r = hear(&h, wb_buf_str(&lines));
        test_note("%s: %s", events_scripts[i].name, h.err.msg);
        CHECK(r >= 0);
        CHECK_STR(wb_buf_str(&h.told), wb_buf_str(&want));
        CHECK(h.doc.turns.n <= 1 && h.d.status >= WD_AAP_COMPLETED && h.d.created_at > 0);
    }
}

/* ---- Messages under construction ------------------------------------------------------------------------------- */

static const struct {
    const char *was, *more, *is;
} merges[] = {
    {"{\"a\":\"x\"}", "{\"a\":\"y\"}", "{\"a\":\"xy\"}"},
    {"{\"a\":[1]}", "{\"a\":[2,3]}", "{\"a\":[1,2,3]}"},
    {"{\"a\":1}", "{\"a\":2}", "{\"a\":3}"},
    {"{\"a\":1.5}", "{\"a\":2}", "{\"a\":3.5}"},
    {"{\"a\":1e308}", "{\"a\":1e308}", "{\"a\":1e308}"},
    {"{\"a\":true}", "{\"a\":false}", "{\"a\":false}"},
    {"{\"a\":{\"b\":\"x\",\"c\":1}}", "{\"a\":{\"b\":\"y\",\"d\":2}}", "{\"a\":{\"b\":\"xy\",\"c\":1,\"d\":2}}"},
    {"{\"a\":1}", "{\"a\":\"x\"}", "{\"a\":\"x\"}"},
    {"{\"a\":1}", "{\"a\":null}", "{\"a\":1}"},
};

static yyjson_val *content(struct wb_arena *a, const char *type, const char *data)
{
    yyjson_val *v = NULL;
    struct upp_str text =
        wb_arena_printf(a, "{\"type\":\"%s\",\"%s\":%s}", type, strcmp(type, "data") ? "text" : type, data);
    struct upp_err err;
    return text.p && wj_read(a, text, NULL, &v, &err) >= 0 ? v : NULL;
}

TEST(dialect_agentapi_build_merges_data)
{
    for (size_t i = 0; i < WB_LEN(merges); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_aap_building_done) struct wd_aap_building b = {.a = &a};
        struct upp_err err;
        yyjson_val *was = content(&a, "data", merges[i].was), *more = content(&a, "data", merges[i].more);
        struct upp_str is = wb_arena_printf(&a, "{\"data\":%s}", merges[i].is);
        test_note("%s + %s", merges[i].was, merges[i].more);
        CHECK(was && more && is.p);
        CHECK(wd_aap_add_delta_content(&b, 0, was, &err) == 0 && wd_aap_add_delta_content(&b, 0, more, &err) == 0);
        CHECK_STR(wb_buf_str(&b.contents.p[0].content), is);
    }
}

TEST(dialect_agentapi_build_refuses_what_cannot_be)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_aap_building_done) struct wd_aap_building b = {.a = &a, .id = UPP_STR("m")};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    struct wj_writer w;
    struct upp_err err;
    yyjson_val *x = content(&a, "text", "\"x\""), *y = content(&a, "text", "\"y\""), *data = content(&a, "data", "{}");
    CHECK(x && y && data);
    CHECK_INT(wd_aap_add_delta_content(&b, 1, x, &err), -UPP_EINVALID);
    CHECK_INT(wd_aap_content_completed(&b, 0, NULL, &err), -UPP_EINVALID);
    CHECK(wd_aap_add_delta_content(&b, 0, x, &err) == 0 && wd_aap_add_delta_content(&b, 0, y, &err) == 0);
    CHECK_INT(wd_aap_add_delta_content(&b, 0, data, &err), -UPP_EINVALID);
    CHECK(wd_aap_content_completed(&b, 0, NULL, &err) == 0);
    CHECK_INT(wd_aap_add_delta_content(&b, 0, x, &err), -UPP_EINVALID);
    CHECK_INT(wd_aap_content_completed(&b, 0, x, &err), -UPP_EINVALID);
    CHECK(wd_aap_add_content(&b, y, &err) == 0);
    b.status = WD_AAP_COMPLETED;
    CHECK_INT(wd_aap_add_content(&b, y, &err), -UPP_EINVALID);
    wj_writer_init(&w, &out, &err);
    wd_aap_built_write(&w, &b);
    CHECK(wj_writer_check(&w) == 0);
    CHECK_STR(
        wb_buf_str(&out),
        UPP_STR("{\"object\":\"message\",\"status\":\"completed\",\"id\":\"m\",\"content\":[{\"object\":\"content\","
                "\"status\":\"completed\",\"type\":\"text\",\"text\":\"xy\"},{\"object\":\"content\",\"status\":"
                "\"completed\",\"type\":\"text\",\"text\":\"y\"}]}"));
}

TEST_WITH(dialect_agentapi_decode_has_limits, .no_torture = "thousands of frames")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_aap_building_done) struct wd_aap_building b = {.a = &a};
    WB_CLEANUP(heard_done) struct heard h;
    struct upp_err err;
    char line[200];
    int r = 0;
    yyjson_val *x = content(&a, "text", "\"\"");
    WB_CLEANUP(wd_aap_building_done) struct wd_aap_building merged = {.a = &a};
    yyjson_val *more = content(&a, "data",
                               "\"0123456789012345678901234567890123456789012345678901234567890123456789012345"
                               "6789012345678901234567890123456789\"");
    heard_init(&h);
    CHECK(x != NULL && more != NULL);
    for (size_t i = 0; r >= 0 && i <= WD_AAP_CONTENTS; i++)
        r = wd_aap_add_content(&b, x, &err);
    CHECK_INT(r, -UPP_ELIMIT);
    r = 0;
    for (size_t i = 0; r >= 0 && i <= 3000; i++)
        r = wd_aap_add_delta_content(&merged, 0, more, &err);
    CHECK_INT(r, -UPP_ELIMIT);
    r = 0;
    for (size_t i = 0; r >= 0 && i <= WD_AAP_MESSAGES; i++) {
        (void)snprintf(line, sizeof line, "{\"object\":\"message\",\"id\":\"%zu\"}", i);
        r = wd_aap_decode(&h.d, wb_cstr(line), &err);
    }
    CHECK_INT(r, -UPP_ELIMIT);
}

TEST_WITH(dialect_agentapi_decode_bytes_are_limited, .no_torture = "memory that is not ours")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_aap_building_done) struct wd_aap_building b = {.a = &a};
    WB_CLEANUP(heard_done) struct heard h;
    struct upp_err err = {0}, why = {0};
    yyjson_val *x = content(&a, "text", "\"x\"");
    heard_init(&h);
    CHECK(x && wd_aap_add_delta_content(&b, 0, x, &err) >= 0 && b.contents.n == 1);
    CHECK(test_vast_fill(&b.contents.p[0].content));
    int last = wd_aap_add_delta_content(&b, 0, x, &err), more = wd_aap_add_delta_content(&b, 0, x, &err);
    test_vast_empty(&b.contents.p[0].content);
    char *line = test_vast((size_t)WD_AAP_LINE + 1);
    CHECK(line);
    line[0] = '{';
    int long_line = wd_aap_decode(&h.d, wb_str(line, (size_t)WD_AAP_LINE + 1), &why);
    test_vast_done(line, (size_t)WD_AAP_LINE + 1);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
    CHECK_INT(long_line, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(why.msg), UPP_STR("expected at most 67108864 bytes of JSON, found 67108865"));
}
