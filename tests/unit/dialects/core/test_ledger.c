/* A dialect written from docs/adding-a-dialect.md alone: what the page promises is there. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialects/core/convert.h"
#include "support/ledger.h"
#include "support/test.h"

static const struct wd_convert_opts OPTS = {.size = sizeof(OPTS), .now_ms = 1767225600000, .seed = 7};

#define TALK                                                                                                           \
    "{\"ledger\":1,\"book\":\"Day\",\"lines\":["                                                                       \
    "{\"by\":\"user\",\"at\":\"2026-01-01T00:00:00Z\",\"text\":\"Sum it\"},"                                           \
    "{\"by\":\"clerk\",\"at\":\"2026-01-01T00:00:01Z\",\"text\":\"I look\"},"                                          \
    "{\"by\":\"clerk\",\"asks\":{\"tool\":\"sum\",\"key\":\"k1\",\"with\":{\"of\":[1,2.50,1e2]}}},"                    \
    "{\"by\":\"clerk\",\"asks\":{\"tool\":\"find\",\"key\":\"k2\",\"with\":{}}},"                                      \
    "{\"key\":\"k1\",\"answers\":103.50},"                                                                             \
    "{\"key\":\"k2\",\"answers\":\"not found\",\"failed\":true},"                                                      \
    "{\"by\":\"clerk\",\"at\":\"2026-01-01T00:00:02Z\",\"text\":\"103.50\"},"                                          \
    "{\"by\":\"auditor\",\"at\":\"2026-01-01T00:00:03Z\",\"text\":\"Right\"}]}"

/* Written by hand: each comes back as it is. */
static const char *const documents[] = {
    TALK,
    "{\"ledger\":1,\"lines\":[]}",
    "{\"lines\":[],\"ledger\":1.0,\"book\":null,\"bound\":{\"in\":[\"calf\",null]}}",
    /* other orders, unknown members, nulls */
    "{\"lines\":[{\"text\":\"a\",\"ink\":\"red\",\"by\":\"user\",\"at\":null},{\"by\":\"user\",\"text\":\"b\"},"
    "{\"asks\":{\"with\":{\"b\":1,\"a\":null},\"why\":\"so\",\"key\":\"k\",\"tool\":\"t\"},\"by\":\"clerk\"},"
    "{\"answers\":null,\"failed\":false,\"key\":\"k\",\"by\":\"nobody\"}],\"pages\":3,\"ledger\":1}",
    /* what is no line stays between lines */
    "{\"ledger\":1,\"lines\":[null,{\"by\":\"user\",\"text\":\"a\"},7,{\"by\":\"user\",\"asks\":{\"tool\":\"t\","
    "\"key\":"
    "\"k\",\"with\":{}}},{\"by\":\"user\",\"text\":\"b\"},[],{\"by\":\"clerk\"},{\"by\":\"\",\"text\":\"c\"},{}]}",
    /* members of wrong types, times that are none, two things at once, members twice */
    "{\"ledger\":\"1\",\"book\":4,\"lines\":[{\"by\":\"user\",\"at\":5,\"text\":\"a\"},{\"by\":\"user\",\"at\":"
    "\"soon\","
    "\"text\":\"b\"},{\"by\":\"c\",\"text\":\"\",\"asks\":{\"tool\":\"t\",\"key\":\"k\",\"with\":{}},\"text\":\"d\"},"
    "{\"by\":\"c\",\"asks\":{\"tool\":\"t\",\"key\":\"k\",\"with\":[1]}},{\"by\":\"c\",\"asks\":{\"tool\":\"t\","
    "\"key\":"
    "\"k\"}},{\"key\":\"k\",\"answers\":1,\"failed\":\"yes\"},{\"key\":\"k\",\"at\":\"2026-01-01T00:00:00.250+02:00\","
    "\"answers\":2}]}",
    /* answers first, and agents whose names are not free */
    "{\"ledger\":1,\"lines\":[{\"key\":\"x\",\"answers\":[]},{\"by\":\"~user\",\"text\":\"a\"},{\"by\":\"user\","
    "\"text\":"
    "\"b\"},{\"by\":\"~~user\",\"text\":\"c\"},{\"by\":\"~\",\"text\":\"d\"},{\"by\":\"agent\",\"text\":\"e\"}]}",
};

static struct upp_str str(const char *s)
{
    return wb_str(s, strlen(s));
}

UPP_PRINTF(2, 3) static void add(struct wb_buf *b, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (EXPECT(n >= 0 && (size_t)n < sizeof(text)))
        wb_buf_add(b, wb_str(text, (size_t)n));
}

/* The document as `to` has it. */
static bool convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                    struct wb_buf *out, struct wd_losses *losses)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err = {0};
    int r;

    out->n = 0;
    r = wd_document_read(&d, from, text, &OPTS, &err);
    if (r >= 0)
        r = wd_document_write(&d, to, &OPTS, out, losses, &err);
    if (r < 0)
        test_note("%s to %s: %d", from->name, to->name, r);
    return EXPECT(r >= 0);
}

#define TEXT(b) wb_str((b).p, (b).n)

/* What was written is the whole document, even where memory ran out on the way: then nothing was. */
static bool whole(const struct wb_buf *got, struct upp_str want)
{
    bool same = test_expect_str(TEXT(*got), want, __FILE__, __LINE__, "the document");
    return test_expect(same && wb_str_eq(TEXT(*got), want), true, __FILE__, __LINE__, "the whole document");
}

/* There and back, and through a dialect that carries what is not its own. */
static bool comes_back(struct upp_str text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), thread = WB_BUF(1 << 20);

    test_note("%.*s", (int)text.n, text.p);
    return convert(text, &ledger, &ledger, &out, NULL) && whole(&out, text) &&
           convert(text, &ledger, &wd_document_thread, &thread, NULL) &&
           convert(TEXT(thread), &wd_document_thread, &ledger, &out, NULL) && whole(&out, text);
}

TEST(dialect_ledger_comes_back)
{
    for (size_t i = 0; i < WB_LEN(documents); i++)
        CHECK(comes_back(str(documents[i])));
}

/* ---- At random ------------------------------------------------------------------------------------------- */

struct mutant {
    uint64_t seed;
    char text[1 << 14];
    size_t n;
};

static unsigned chance(struct mutant *m, unsigned of)
{
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 7;
    m->seed ^= m->seed << 17;
    return (unsigned)(m->seed >> 33) % of;
}

static void say(struct mutant *m, const char *s, size_t n)
{
    if (n < sizeof(m->text) - m->n) {
        memcpy(m->text + m->n, s, n);
        m->n += n;
    }
}

static void say_value(struct mutant *m, yyjson_val *v);

static void say_anything(struct mutant *m)
{
    static const char *const values[] = {"null",
                                         "true",
                                         "0",
                                         "1",
                                         "1.0",
                                         "\"\"",
                                         "\"user\"",
                                         "\"clerk\"",
                                         "\"k1\"",
                                         "\"~user\"",
                                         "[]",
                                         "{}",
                                         "[[]]",
                                         "{\"a\":{}}",
                                         "-1e-400",
                                         "\"2026-01-01T00:00:01Z\"",
                                         "{\"tool\":\"t\",\"key\":\"k1\"}",
                                         "{\"by\":\"user\",\"text\":\"?\"}"};
    const char *s = values[chance(m, WB_LEN(values))];

    say(m, s, strlen(s));
}

/* One member or item more, from anywhere. */
static void say_more(struct mutant *m, bool object)
{
    static const char *const names[] = {"by", "at", "text", "asks", "answers", "key", "failed", "with", "odd", "lines"};
    char name[32];

    if (object)
        say(m, name, (size_t)snprintf(name, sizeof(name), "\"%s\":", names[chance(m, WB_LEN(names))]));
    say_anything(m);
}

static void say_object(struct mutant *m, yyjson_val *v)
{
    size_t n = yyjson_obj_size(v), first = n ? chance(m, 4) ? 0 : chance(m, (unsigned)n) : 0;
    bool comma = false;
    yyjson_obj_iter it;
    yyjson_val *name;

    say(m, "{", 1);
    for (size_t pass = 0; pass < 2; pass++) { /* from `first` on, then those before it: another order */
        it = yyjson_obj_iter_with(v);
        for (size_t i = 0; (name = yyjson_obj_iter_next(&it)); i++) {
            if ((i >= first) != (pass == 0) || chance(m, 24) == 0)
                continue;
            if (comma)
                say(m, ",", 1);
            comma = true;
            say_value(m, name);
            say(m, ":", 1);
            say_value(m, yyjson_obj_iter_get_val(name));
        }
    }
    if (chance(m, 12) == 0) {
        if (comma)
            say(m, ",", 1);
        say_more(m, true);
    }
    say(m, "}", 1);
}

static void say_list(struct mutant *m, yyjson_val *v)
{
    bool comma = false;
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;

    say(m, "[", 1);
    while ((item = yyjson_arr_iter_next(&it))) {
        for (unsigned times = chance(m, 12) ? 1 : chance(m, 3); times > 0; times--) {
            if (comma)
                say(m, ",", 1);
            comma = true;
            say_value(m, item);
        }
    }
    if (chance(m, 12) == 0) {
        if (comma)
            say(m, ",", 1);
        say_more(m, false);
    }
    say(m, "]", 1);
}

static void say_value(struct mutant *m, yyjson_val *v)
{
    bool top = m->n == 0; /* it stays a ledger */

    if (yyjson_is_str(v)) {
        say(m, "\"", 1);
        say(m, yyjson_get_str(v), yyjson_get_len(v)); /* the documents above have no escapes */
        say(m, "\"", 1);
    } else if (!top && chance(m, 32) == 0) {
        say_anything(m);
    } else if (yyjson_is_obj(v)) {
        say_object(m, v);
    } else if (yyjson_is_arr(v)) {
        say_list(m, v);
    } else if (yyjson_is_raw(v)) {
        say(m, yyjson_get_raw(v), yyjson_get_len(v));
    } else {
        say(m,
            yyjson_is_null(v)   ? "null"
            : yyjson_is_true(v) ? "true"
                                : "false",
            yyjson_is_bool(v) && !yyjson_is_true(v) ? 5 : 4);
    }
}

static void free_doc(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

TEST_WITH(dialect_ledger_comes_back_at_random, .no_torture = "every call fails once in the documents by hand")
{
    static struct mutant m; /* too large for a frame */
    uint64_t times = test_times("WEFT_LEDGERS", 2000);

    m.seed = 0x9e3779b97f4a7c15;

    for (uint64_t i = 0; i < times; i++) {
        const char *from = documents[chance(&m, WB_LEN(documents))];
        WB_CLEANUP(free_doc) yyjson_doc *doc = yyjson_read(from, strlen(from), YYJSON_READ_NUMBER_AS_RAW);
        struct upp_err err = {0};
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        int r;

        CHECK(doc != NULL);
        m.n = 0;
        say_value(&m, yyjson_doc_get_root(doc));
        CHECK(m.n < sizeof(m.text) / 2);
        r = wd_document_read(&d, &ledger, wb_str(m.text, m.n), &OPTS, &err);
        if (r == -UPP_EINVALID) /* the lines themselves were hit */
            continue;
        CHECK(r >= 0);
        CHECK(comes_back(wb_str(m.text, m.n)));
    }
}

/* ---- Problems -------------------------------------------------------------------------------------------- */

TEST(dialect_ledger_problems)
{
    static const struct {
        const char *text, *problems;
    } cases[] = {
        {TALK, ""},
        {"[]", "LEDGER-1 \n"},
        {"{\"lines\":[]}", "LEDGER-1 \n"},
        {"{\"ledger\":2,\"book\":[],\"lines\":{}}", "LEDGER-1 /ledger\nLEDGER-2 /book\nLEDGER-3 /lines\n"},
        {"{\"ledger\":1,\"lines\":[7,{},{\"text\":\"a\",\"by\":\"user\",\"answers\":1,\"key\":\"k\"}]}",
         "LEDGER-3 /lines/0\nLEDGER-4 /lines/1\nLEDGER-4 /lines/2\n"},
        {"{\"ledger\":1,\"lines\":[{\"text\":\"a\"},{\"by\":\"\",\"text\":1}]}",
         "LEDGER-5 /lines/0\nLEDGER-5 /lines/1/by\nLEDGER-6 /lines/1/text\n"},
        {"{\"ledger\":1,\"lines\":[{\"by\":\"user\",\"asks\":1},{\"by\":\"c\",\"asks\":{\"key\":1,\"with\":[]}}]}",
         "LEDGER-7 /lines/0/by\nLEDGER-7 /lines/0/asks\nLEDGER-7 /lines/1/asks\nLEDGER-7 /lines/1/asks/key\n"
         "LEDGER-7 /lines/1/asks/with\n"},
        {"{\"ledger\":1,\"lines\":[{\"answers\":1,\"failed\":0,\"at\":1},{\"by\":\"c\",\"text\":\"\",\"at\":\"soon\"}]"
         "}",
         "LEDGER-8 /lines/0\nLEDGER-8 /lines/0/failed\nLEDGER-9 /lines/0/at\nLEDGER-9 /lines/1/at\n"},
    };

    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(1 << 16);
        struct upp_err err = {0};
        const struct wd_document_ops *whose = NULL;

        test_note("%s", cases[i].text);
        CHECK(wd_document_validate(&ledger, str(cases[i].text), &a, &problems, &whose, &err) >= 0);
        for (size_t k = 0; k < problems.list.n; k++)
            add(&got, "%s %.*s\n", problems.list.p[k].rule, (int)problems.list.p[k].pointer.n,
                problems.list.p[k].pointer.p);
        CHECK(wb_buf_check(&got, NULL) == 0);
        CHECK_STR(got.n ? TEXT(got) : UPP_STR(""), str(cases[i].problems));
    }
}

TEST(dialect_ledger_is_detected)
{
    static const struct {
        const char *text;
        int sure;
    } cases[] = {{TALK, 3}, {"{\"ledger\":2,\"lines\":[]}", 2}, {"{\"ledger\":1}", 0}, {"{\"lines\":[]}", 0}, {"7", 0}};

    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(free_doc)
        yyjson_doc *doc = yyjson_read(cases[i].text, strlen(cases[i].text), YYJSON_READ_NUMBER_AS_RAW);

        CHECK(doc != NULL);
        test_note("%s", cases[i].text);
        CHECK_INT(ledger.detect(yyjson_doc_get_root(doc)), cases[i].sure);
    }
}

TEST(dialect_ledger_refuses_what_is_none)
{
    static const char *const texts[] = {"[]", "7", "null", "{}", "{\"ledger\":1}", "{\"ledger\":1,\"lines\":{}}", "{"};

    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};

        test_note("%s", texts[i]);
        CHECK_INT(wd_document_read(&d, &ledger, str(texts[i]), &OPTS, &err), -UPP_EINVALID);
        CHECK_INT(err.code, UPP_EINVALID);
    }
}

/* ---- What was said, in the model ------------------------------------------------------------------------- */

/* One line a message: "who: part part". */
static bool told(struct upp_str text, const struct wd_document_ops *ops, struct wb_buf *out)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err = {0};

    out->n = 0;
    if (!EXPECT(wd_document_read(&d, ops, text, &OPTS, &err) >= 0))
        return false;
    for (size_t i = 0; i < d.doc.entries.n; i++) {
        const struct wm_doc_entry *e = &d.doc.entries.p[i];
        const struct upp_message *m = &e->e.message;
        struct upp_str who = m->role == UPP_ROLE_USER ? UPP_STR("user") : UPP_STR("tool");

        if (e->e.kind != WM_ENTRY_MESSAGE)
            continue;
        if (m->role == UPP_ROLE_ASSISTANT)
            who = e->agent < d.doc.agents.n ? d.doc.agents.p[e->agent].name : UPP_STR("?");
        add(out, "%.*s:", (int)who.n, who.p);
        for (size_t k = 0; k < m->n_parts; k++)
            add(out, " %d[%.*s]%.*s%s", m->parts[k].kind, (int)m->parts[k].id.n, m->parts[k].id.p,
                (int)m->parts[k].text.n, m->parts[k].text.p, m->parts[k].is_error ? "!" : "");
        add(out, "\n");
    }
    return EXPECT(wb_buf_check(out, NULL) == 0);
}

/* Lines of one message are one message, and messages in a row stay apart. */
#define TOLD                                                                                                           \
    "user: 1[]Sum it\n"                                                                                                \
    "clerk: 1[]I look 8[k1]{\"of\":[1,2.50,1e2]} 8[k2]{}\n"                                                            \
    "tool: 9[k1]103.50 9[k2]\"not found\"!\n"                                                                          \
    "clerk: 1[]103.50\n"                                                                                               \
    "auditor: 1[]Right\n"

TEST(dialect_ledger_is_told)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16), there = WB_BUF(1 << 16), back = WB_BUF(1 << 16);
    const struct wd_document_ops *to;

    CHECK(told(UPP_STR(TALK), &ledger, &out));
    CHECK_STR(TEXT(out), UPP_STR(TOLD));
    for (size_t i = 0; (to = wd_document_at(i)); i++) {
        CHECK(convert(UPP_STR(TALK), &ledger, to, &there, NULL));
        CHECK(convert(TEXT(there), to, &ledger, &back, NULL));
        CHECK(told(TEXT(back), &ledger, &out));
        test_note("through %s", to->name);
        CHECK_STR(TEXT(out), UPP_STR(TOLD));
    }
}

TEST(dialect_ledger_messages_in_a_row)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);

    CHECK(told(UPP_STR("{\"ledger\":1,\"lines\":[{\"by\":\"user\",\"at\":\"2026-01-01T00:00:00Z\",\"text\":\"1\"},"
                       "{\"by\":\"user\",\"text\":\"2\"},7,{\"by\":\"user\",\"text\":\"3\"},"
                       "{\"by\":\"user\",\"at\":\"2026-01-01T00:00:00Z\",\"text\":\"4\"},"
                       "{\"by\":\"a\",\"text\":\"5\"},{\"by\":\"b\",\"text\":\"6\"},{\"by\":\"a\",\"text\":\"7\"},"
                       "{\"by\":\"~user\",\"text\":\"8\"}]}"),
               &ledger, &out));
    CHECK_STR(TEXT(out), UPP_STR("user: 1[]1 1[]2 1[]3\nuser: 1[]4\na: 1[]5\nb: 1[]6\na: 1[]7\nuser: 1[]8\n"));
}

/* Of members that stand twice the last counts, here as in what comes back by itself. */
TEST(dialect_ledger_members_twice)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);

    CHECK(told(
        UPP_STR("{\"ledger\":1,\"lines\":7,\"lines\":[{\"by\":\"a\",\"by\":\"b\",\"text\":\"1\",\"text\":\"2\"}]}"),
        &ledger, &out));
    CHECK_STR(TEXT(out), UPP_STR("b: 1[]2\n"));
}

/* An edit of the model: what nobody knows is still there. */
TEST(dialect_ledger_edited)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);
    struct upp_err err = {0};

    CHECK(wd_document_read(&d, &ledger, str(documents[3]), &OPTS, &err) >= 0);
    CHECK(d.doc.entries.n == 3 && d.doc.entries.p[0].e.message.n_parts == 2);
    d.doc.entries.p[0].e.message.parts[0].text = UPP_STR("A");
    d.doc.entries.p[1].e.message.parts[0].name = UPP_STR("T");
    CHECK(wd_document_write(&d, &ledger, &OPTS, &out, NULL, &err) >= 0);
    CHECK_STR(
        TEXT(out),
        UPP_STR("{\"lines\":[{\"text\":\"A\",\"ink\":\"red\",\"by\":\"user\",\"at\":null},{\"by\":\"user\",\"text\":"
                "\"b\"},{\"asks\":{\"with\":{\"b\":1,\"a\":null},\"why\":\"so\",\"key\":\"k\",\"tool\":\"T\"},\"by\":"
                "\"clerk\"},{\"answers\":null,\"failed\":false,\"key\":\"k\",\"by\":\"nobody\"}],\"pages\":3,"
                "\"ledger\":1}"));
}

/* ---- Losses ---------------------------------------------------------------------------------------------- */

static bool lost(const struct wd_losses *losses, const char *pointer, const char *what)
{
    for (size_t i = 0; i < losses->list.n; i++) {
        if (wb_str_eq(losses->list.p[i].pointer, str(pointer)) && wb_str_eq(losses->list.p[i].what, str(what)))
            return true;
    }
    test_note("not %s %s", pointer, what);
    return false;
}

/* What another dialect does not get is told, with its place here. */
TEST(dialect_ledger_losses_elsewhere)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wd_losses_done) struct wd_losses none = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);

    CHECK(convert(str(documents[3]), &ledger, &ledger, &out, &none));
    CHECK_INT(none.list.n, 0);
    CHECK(convert(str(documents[3]), &ledger, &wd_document_pydantic, &out, &losses));
    CHECK(lost(&losses, "/lines/0/ink", "a string"));
    CHECK(lost(&losses, "/pages", "the number 3"));
    CHECK(lost(&losses, "/lines/2/asks/why", "a string"));
}

static void doc_done(struct wm_doc *d)
{
    wm_doc_done(d);
}

/* And what of the model has no place here. */
TEST(dialect_ledger_losses)
{
    static struct upp_media image = {.source = UPP_SOURCE_URL, .data = UPP_STR_INIT("http://a/b.png")};
    struct upp_part asked[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("look")},
                               {.kind = UPP_PART_IMAGE, .media = &image}};
    struct upp_part said[] = {
        {.kind = UPP_PART_REASONING, .text = UPP_STR("hm")},
        {.kind = UPP_PART_CALL, .id = UPP_STR("k"), .name = UPP_STR("t"), .text = UPP_STR("{\"a\":"), .cut = true}};
    struct upp_part answered[] = {
        {.kind = UPP_PART_RESULT, .id = UPP_STR("k"), .text = UPP_STR("[1]"), .is_error = true}};
    const struct {
        uint8_t role;
        struct upp_part *parts;
        size_t n;
    } messages[] = {{UPP_ROLE_USER, asked, 2},
                    {UPP_ROLE_ASSISTANT, said, 2},
                    {UPP_ROLE_TOOL, answered, 1},
                    {UPP_ROLE_ASSISTANT, NULL, 0}};
    WB_CLEANUP(doc_done) struct wm_doc doc = {.title = UPP_STR("T"), .metadata = UPP_STR("{\"a\":1}")};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16);
    struct wm_doc_agent agent = {.id = UPP_STR("1"), .name = UPP_STR("user")};
    struct upp_err err = {0};
    struct wm_doc_entry *e;
    uint32_t who;

    CHECK(wm_doc_agent_add(&doc, &agent, &who, &err) >= 0);
    for (size_t i = 0; i < WB_LEN(messages); i++) {
        e = wm_doc_entry_add(&doc, &err);
        CHECK(e != NULL);
        e->e.kind = WM_ENTRY_MESSAGE;
        e->e.message = (struct upp_message){
            .role = messages[i].role, .parts = messages[i].parts, .n_parts = messages[i].n, .time_ms = -1};
        if (messages[i].role != UPP_ROLE_USER)
            e->agent = who;
        if (messages[i].role == UPP_ROLE_ASSISTANT)
            e->said = (struct wm_reply_info){.model = UPP_STR("m"), .has_usage = true, .usage = {.input = 1}};
    }
    e = wm_doc_entry_add(&doc, &err);
    CHECK(e != NULL);
    e->e.kind = WM_ENTRY_EVENT;
    CHECK(wm_doc_divide(&doc, &err) >= 0);
    CHECK(wd_doc_write(&doc, &ledger, &OPTS, &out, &losses, &err) >= 0);
    CHECK_STR(TEXT(out),
              UPP_STR("{\"ledger\":1,\"book\":\"T\",\"lines\":["
                      "{\"by\":\"user\",\"at\":\"1969-12-31T23:59:59.999Z\",\"text\":\"look\"},"
                      "{\"by\":\"~user\",\"at\":\"1969-12-31T23:59:59.999Z\",\"asks\":{\"tool\":\"t\",\"key\":\"k\","
                      "\"with\":{}}},"
                      "{\"at\":\"1969-12-31T23:59:59.999Z\",\"key\":\"k\",\"answers\":[1],\"failed\":true}]}"));
    CHECK(lost(&losses, "entries/0", "media"));
    CHECK(lost(&losses, "entries/1", "reasoning"));
    CHECK(lost(&losses, "entries/1", "arguments"));
    CHECK(lost(&losses, "entries/1", "cut"));
    CHECK(lost(&losses, "entries/1", "model"));
    CHECK(lost(&losses, "entries/1", "usage"));
    CHECK(lost(&losses, "entries/3", "message"));
    CHECK(lost(&losses, "entries/4", "event"));
    CHECK(lost(&losses, "", "metadata"));
}
