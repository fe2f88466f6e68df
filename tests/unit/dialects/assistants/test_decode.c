/* Reading streams of the Assistants API: what each event becomes, and what our own encoder says of every script. */
#include <stdio.h>
#include <string.h>

#include "support/decode/assistants.h"
#include "dialects/core/convert.h"
#include "support/dialect.h"
#include "support/test.h"
#include "support/overcommit.h"

enum { ROOM = 64 << 20, NOW = 1770000000 };

/* What the document says, a line each. */
static void told(const struct wm_doc *doc, struct wb_buf *out)
{
    static const char *const roles[] = {"", "user", "assistant", "tool"};
    for (size_t i = 0; i < doc->entries.n; i++) {
        const struct wm_doc_entry *e = &doc->entries.p[i];
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("-") : doc->agents.p[e->agent].id;
        wb_buf_addf(out, "%s %.*s", roles[e->e.message.role], UPP_FMT(who));
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, " %u%s%s", p->kind, p->is_error ? "!" : "", p->cut ? "~" : "");
            if (p->id.p)
                wb_buf_addf(out, " %.*s:%.*s", UPP_FMT(p->id), UPP_FMT(p->name));
            wb_buf_addf(out, "(%.*s)", UPP_FMT(p->media ? p->media->data : p->text));
        }
        wb_buf_add(out, UPP_STR("\n"));
    }
}

static int end_of(struct wd_asst_decoder *d, int r, struct upp_err *err)
{
    if (r >= 0)
        r = wd_asst_decode_end(d, err);
    wd_asst_decoder_done(d);
    return r;
}

/* Frames of an encoder into a document. */
static int decode_frames(const struct wd_frames *f, struct wd_document *d, struct upp_err *err)
{
    struct wd_asst_decoder decoder;
    int r = 0;
    *d = (struct wd_document){.ops = &wd_document_assistants, .a = WB_ARENA(ROOM)};
    wd_asst_decoder_init(&decoder, &d->doc, &d->a, UPP_STR("bot"));
    for (size_t i = 0; r >= 0 && i < f->list.n; i++)
        r = wd_asst_decode(&decoder, wb_cstr(f->list.p[i].name), wb_str(f->text.p + f->list.p[i].from, f->list.p[i].n),
                           NOW, err);
    return end_of(&decoder, r, err);
}

/* Lines "NAME DATA". */
static int decode_lines(const char *lines, struct wd_document *d, struct wd_asst_decoder *decoder, struct upp_err *err)
{
    struct upp_str rest = wb_cstr(lines), line, name;
    int r = 0;
    *d = (struct wd_document){.ops = &wd_document_assistants, .a = WB_ARENA(ROOM)};
    wd_asst_decoder_init(decoder, &d->doc, &d->a, UPP_STR("bot"));
    while (r >= 0 && wb_str_split(&rest, '\n', &line))
        if (line.n && wb_str_split(&line, ' ', &name))
            r = wd_asst_decode(decoder, wb_str_eq(name, UPP_STR("-")) ? (struct upp_str){0} : name, line, NOW, err);
    return end_of(decoder, r, err);
}

/* One file for all of them: text, calls and results as far as the stream has them. */
TEST(dialect_assistants_decode_reads_what_the_encoder_says)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        WB_CLEANUP(wd_document_done) struct wd_document doc = {0};
        struct upp_err err = {0};
        dialect_init(&d);
        test_note("%s", events_scripts[i].name);
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_assistants, NULL) == 0);
        CHECK_INT(decode_frames(&d.frames, &doc, &err), 0);
        wb_buf_addf(&out, "== %s\n", events_scripts[i].name);
        told(&doc.doc, &out);
    }
    CHECK(wb_buf_check(&out, NULL) == 0);
    CHECK_GOLDEN("assistants/decoded", wb_buf_str(&out));
}

/* Cut anywhere, a stream reads, and what was read can be written. */
TEST_WITH(dialect_assistants_decode_takes_what_is_cut, .no_torture = "thousands of documents")
{
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_assistants, NULL) == 0);
        for (size_t all = d.frames.list.n; d.frames.list.n; d.frames.list.n--) {
            WB_CLEANUP(wd_document_done) struct wd_document doc = {0};
            WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
            struct upp_err err = {0};
            test_note("%s, %zu of %zu", events_scripts[i].name, d.frames.list.n, all);
            CHECK_INT(decode_frames(&d.frames, &doc, &err), 0);
            CHECK(wd_document_write(&doc, &wd_document_assistants, NULL, &out, NULL, &err) >= 0);
        }
    }
}

#define MADE "{\"id\":\"m\",\"assistant_id\":\"a\",\"role\":\"assistant\",\"content\":[]}\n"
#define SAID(index_, text_)                                                                                            \
    "thread.message.delta {\"id\":\"m\",\"delta\":{\"content\":[{\"index\":" index_                                    \
    ",\"type\":\"text\",\"text\":{\"value\":\"" text_ "\"}}]}}\n"

TEST(dialect_assistants_decode_reads_other_servers)
{
    static const struct {
        const char *lines, *want;
        size_t skipped;
    } cases[] = {
        {"thread.message.created " MADE SAID("0", "a") SAID("0", "b"), "assistant a 1~(ab)\n", 0},
        {SAID("0", "no beginning"), "assistant bot 1~(no beginning)\n", 0},
        {SAID("1", "b") SAID("0", "a"), "assistant bot 1(a) 1~(b)\n", 0},
        {"- {\"event\":\"thread.message.created\",\"data\":{\"id\":\"m\",\"content\":\"x\"}}", "assistant bot 1~(x)\n",
         0},
        {"thread.message.completed "
         "{\"id\":\"m\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":"
         "\"text\",\"text\":{\"value\":\"whole\"}}]}\n" SAID("0", "late"),
         "assistant bot 1(whole)\n", 0},
        {"thread.message.delta "
         "{\"id\":\"m\",\"delta\":{\"content\":[{\"index\":0,\"type\":\"image_url\",\"image_url\":{"
         "\"url\":\"https://example.org\"}}]}}",
         "assistant bot 3~(https://example.org)\n", 0},
        {"thread.run.step.delta {\"id\":\"s\",\"delta\":{\"step_details\":{\"type\":\"tool_calls\",\"tool_calls\":[{"
         "\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}}\n"
         "thread.run.step.delta {\"id\":\"s\",\"delta\":{\"step_details\":{\"tool_calls\":[{\"index\":0,\"function\":{"
         "\"arguments\":\"}\",\"output\":\"o\"}}]}}}",
         "assistant bot 8 c:f({})\ntool bot 9 c:f(\"o\")\n", 0},
        {"thread.created {}\nnews {}\nthread.message.created {}\ndone [DONE]", "", 3},
        {"error {\"error\":{\"message\":\"x\"}}", "", 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document doc = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);
        struct wd_asst_decoder decoder;
        struct upp_err err = {0};
        test_note("%s", cases[i].lines);
        CHECK_INT(decode_lines(cases[i].lines, &doc, &decoder, &err), 0);
        told(&doc.doc, &out);
        CHECK(wb_buf_check(&out, NULL) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].want));
        CHECK_INT(decoder.skipped, cases[i].skipped);
    }
}

TEST(dialect_assistants_decode_has_limits)
{
    static const struct {
        const char *lines;
        int r;
    } cases[] = {
        {"x {", -UPP_EINVALID},
        {"x []", -UPP_EINVALID},
        {SAID("4096", "x"), -UPP_ELIMIT},
        {SAID("4095", "x"), 0},
        {SAID("-1", "x") SAID("\"a\"", "x") SAID("1e3", "x"), 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document doc = {0};
        struct wd_asst_decoder decoder;
        struct upp_err err = {0};
        test_note("%s", cases[i].lines);
        CHECK_INT(decode_lines(cases[i].lines, &doc, &decoder, &err), cases[i].r);
    }
}

TEST_WITH(dialect_assistants_decode_counts_objects, .no_torture = "thousands of events")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct wd_asst_decoder d;
    struct upp_err err = {0};
    char data[64];
    int r = 0, n = 0;
    wd_asst_decoder_init(&d, &doc, &a, (struct upp_str){0});
    for (; r >= 0 && n <= WD_ASST_OBJECTS; n++) {
        (void)snprintf(data, sizeof data, "{\"id\":\"m%d\"}", n);
        r = wd_asst_decode(&d, UPP_STR("thread.message.created"), wb_cstr(data), NOW, &err);
    }
    wd_asst_decoder_done(&d);
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK_INT(n, WD_ASST_OBJECTS + 1);
}

TEST_WITH(dialect_assistants_decode_bytes_are_limited, .no_torture = "memory that is not ours")
{
    static const char delta[] =
        "{\"id\":\"m\",\"delta\":{\"content\":[{\"index\":0,\"type\":\"text\",\"text\":{\"value\":"
        "\"x\"}}]}}";
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct upp_str name = UPP_STR("thread.message.delta");
    struct wd_asst_decoder d;
    struct upp_err err = {0}, why = {0};
    int last = -1, more = 0;
    wd_asst_decoder_init(&d, &doc, &a, (struct upp_str){0});
    int event = wd_asst_decode(&d, name, wb_str("{}", (size_t)WD_ASST_EVENT + 1), NOW, &why); /* nothing is looked at */
    int r = wd_asst_decode(&d, name, wb_cstr(delta), NOW, &err);
    if (r >= 0 && EXPECT(d.objects.n == 1 && d.objects.p[0].pieces.n == 1)) {
        struct wb_buf *text = &d.objects.p[0].pieces.p[0].text;
        if (EXPECT(test_vast_fill(text))) {
            last = wd_asst_decode(&d, name, wb_cstr(delta), NOW, &err);
            more = wd_asst_decode(&d, name, wb_cstr(delta), NOW, &err);
            test_vast_empty(text);
        }
    }
    wd_asst_decoder_done(&d);
    CHECK_INT(event, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(why.msg), UPP_STR("expected at most 67108864 bytes of JSON, found 67108865"));
    CHECK_INT(r, 0);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
}
