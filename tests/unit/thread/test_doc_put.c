/* Documents of every dialect in the log: they come out as they went in, through forks too, and what is erased is gone
 * from what came beside. */
#include "thread/doc_put.h"

#include "thread/doc.h"
#include "json/read.h"
#include "log/change.h"
#include "support/documents.h"
#include "support/stores.h"
#include "support/test.h"

static WEFT_SUSPENDS int put(struct wl_store *s, const struct wd_document_ops *ops, struct upp_str text, bool copy,
                             struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    TRY(wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .agent = UPP_STR("helper"), .now_ms = 1767225600000),
                         err));
    return wa_doc_put(s, &ALICE, &d.doc, copy, a, ret, err);
}

static WEFT_SUSPENDS int out(struct wl_store *s, const struct wl_thread *t, const struct wd_document_ops *ops,
                             struct wb_buf *to, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
    TRY(wa_thread_doc(s, &ALICE, t, &(struct wa_thread_doc_opts){.dialect = wb_cstr(ops->name)}, &a, &d, err));
    return wd_doc_write(&d, ops, NULL, to, NULL, err);
}

struct trip {
    struct wl_store *s;
    struct upp_err *err;
};

/* The dialect's own session format goes another way, with its tree. */
static bool is_session(const struct wd_document_ops *ops)
{
    return wb_str_eq(wb_cstr(ops->name), UPP_STR("uap"));
}

static WEFT_SUSPENDS int travel(struct trip *p, const struct wd_document_ops *ops, struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), is = WB_BUF(64 << 20), fork = WB_BUF(64 << 20);
    struct wl_thread t, other;
    struct wl_path path;
    TRY(test_compact(text, &was, p->err));
    TRY(put(p->s, ops, text, true, &a, &t, p->err));
    TRY(out(p->s, &t, ops, &is, p->err));
    FAIL_UNLESS(test_same_text(&is, &was, "out of the log"));
    TRY(wl_thread_path(p->s, &ALICE, &t, &a, &path, p->err));
    TRY(wl_fork(p->s, &t, t.head, path.spans[path.n - 1].length, &a, &other, p->err));
    TRY(out(p->s, &other, ops, &fork, p->err));
    return 0;
}

static bool one(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    struct trip *p = arg;
    int r = travel(p, ops, text);
    if (r < 0)
        test_note("%s: %s: %s", ops->name, p->err->where, p->err->msg);
    return r >= 0;
}

static WEFT_SUSPENDS int every(struct test_store *t, struct upp_err *err)
{
    const struct wd_document_ops *ops;
    struct trip p = {t->s, err};
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        if (!is_session(ops) && !test_each_document(ops, one, &p))
            return err->code ? -err->code : upp_fail(err, UPP_EBUG, "%s: a document did not come back", ops->name);
    return 0;
}

/* covers: TP-12, TP-32, AAP-20/2 */
TEST(documents_come_back_from_the_log)
{
    CHECK(test_each_store(every, NULL));
}

/* What the log has of it. */

static const char talk[] =
    "{\"version\":\"2.0.0\",\"thread_id\":\"t-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T"
    "00:00:09Z\",\"x_own\":\"of the thread\",\"agents\":{\"a\":{\"agent_id\":\"a\",\"agent_name\":\"Ann\"}},\"turns\":["
    "{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:01Z\",\"parts\":[{\"part_kind\":\"user-"
    "prompt\",\"content\":\"secret one\"}],\"x_note\":\"secret note\"},"
    "{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:02Z\",\"parts\":[{\"part_kind\":\"user-"
    "prompt\",\"content\":\"two\"}],\"x_note\":\"plain note\"}]}";

static bool has(const struct wb_buf *b, const char *word)
{
    return wb_str_find(wb_buf_str(b), wb_cstr(word), 0) != SIZE_MAX;
}

/* Whatever lies in the rows of the thread, as bytes. */
static WEFT_SUSPENDS int rows_of(struct wl_store *s, const struct wl_thread *t, struct wb_buf *to, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_range range = {.node = t->head, .from = 0, .to = UINT64_MAX};
    struct wl_rows rows;
    TRY(wl_store_rows(s, &ALICE, &range, &a, &rows, err));
    for (size_t i = 0; i < rows.n; i++)
        wb_buf_add(to, rows.p[i].body);
    return wb_buf_check(to, err);
}

static WEFT_SUSPENDS int kept(struct test_store *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf raw = WB_BUF(1 << 20), doc = WB_BUF(1 << 20), left = WB_BUF(1 << 20);
    struct wl_thread t, again;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    TRY(put(x->s, &wd_document_thread, wb_cstr(talk), false, &a, &t, err));
    /* Its id leads to it, and is taken. */
    TRY(wl_thread_find(x->s, &ALICE, UPP_STR("t-1"), &a, &again, err));
    FAIL_UNLESS(wb_uuid_eq(t.id, again.id));
    FAIL_UNLESS(put(x->s, &wd_document_thread, wb_cstr(talk), false, &a, &again, err) == -UPP_EBUSY);
    *err = (struct upp_err){0};
    TRY(put(x->s, &wd_document_thread, wb_cstr(talk), true, &a, &again, err));
    FAIL_UNLESS(!wb_uuid_eq(t.id, again.id));
    /* A message is deleted: nothing of it is left, nor of what was said beside it. */
    TRY(rows_of(x->s, &t, &raw, err));
    FAIL_UNLESS(has(&raw, "secret one") && has(&raw, "secret note") && has(&raw, "of the thread"));
    TRY(wl_thread_path(x->s, &ALICE, &t, &a, &path, err));
    TRY(wl_path_tail(x->s, &ALICE, &path, path.length, 8, &a, &lines, &n, err));
    FAIL_UNLESS(n == 2);
    TRY(wl_message_delete(x->s, &ALICE, &t, lines[0].id, (struct upp_str){0}, err));
    TRY(wl_thread_find(x->s, &ALICE, UPP_STR("t-1"), &a, &t, err));
    TRY(rows_of(x->s, &t, &left, err));
    FAIL_UNLESS(!has(&left, "secret") && has(&left, "plain note") && has(&left, "of the thread"));
    TRY(out(x->s, &t, &wd_document_thread, &doc, err));
    FAIL_UNLESS(!has(&doc, "secret") && has(&doc, "plain note") && has(&doc, "\"two\"") && has(&doc, "x_own"));
    return 0;
}

TEST(document_in_the_log_loses_with_a_message_what_was_beside_it)
{
    CHECK(test_each_store(kept, NULL));
}

static const char calls[] =
    "[{\"parts\":[{\"content\":\"go\",\"part_kind\":\"user-prompt\"}],\"kind\":\"request\"},"
    "{\"parts\":[{\"tool_name\":\"f\",\"args\":{},\"tool_call_id\":\"c1\",\"part_kind\":\"tool-call\"}],\"kind\":"
    "\"response\"},{\"parts\":[{\"content\":\"well?\",\"part_kind\":\"user-prompt\"}],\"kind\":\"request\"},"
    "{\"parts\":[{\"tool_name\":\"f\",\"args\":{},\"tool_call_id\":\"c2\",\"part_kind\":\"tool-call\"}],\"kind\":"
    "\"response\"}]";

static WEFT_SUSPENDS int mended(struct test_store *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(1 << 20), is = WB_BUF(1 << 20);
    struct wl_thread t;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    TRY(put(x->s, &wd_document_pydantic, wb_cstr(calls), false, &a, &t, err));
    TRY(wl_thread_path(x->s, &ALICE, &t, &a, &path, err));
    TRY(wl_path_tail(x->s, &ALICE, &path, path.length, 16, &a, &lines, &n, err));
    FAIL_UNLESS(n == 6 && lines[2].entry.kind == WM_ENTRY_REPAIR && lines[5].entry.kind == WM_ENTRY_REPAIR);
    FAIL_UNLESS(wb_str_eq(lines[2].entry.message.parts[0].id, UPP_STR("c1")) &&
                lines[2].entry.message.parts[0].is_error);
    for (size_t i = 0; i < n; i++)
        FAIL_UNLESS(lines[i].entry.origin == WM_ORIGIN_IMPORT);
    TRY(out(x->s, &t, &wd_document_pydantic, &is, err));
    TRY(test_compact(wb_cstr(calls), &was, err));
    FAIL_UNLESS(test_same_text(&is, &was, "without what was mended"));
    return 0;
}

TEST(document_in_the_log_has_a_result_for_every_call)
{
    CHECK(test_each_store(mended, NULL));
}

static WEFT_SUSPENDS int too_long(struct test_store *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(8 << 20);
    struct wl_thread t, *list;
    size_t n;
    wb_buf_add(&text,
               UPP_STR("[{\"id\":\"m\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"a\"}],\"x\":\""));
    for (size_t i = 0; i < WA_SIDECAR_MAX / 16 + 1; i++)
        wb_buf_add(&text, UPP_STR("0123456789abcdef"));
    wb_buf_add(&text, UPP_STR("\"}]"));
    FAIL_UNLESS(put(x->s, &wd_document_ui, wb_buf_str(&text), false, &a, &t, err) == -UPP_EINVALID);
    *err = (struct upp_err){0};
    TRY(wl_list_threads(x->s, &ALICE, WB_UUID_NIL, 8, &a, &list, &n, err));
    FAIL_UNLESS(n == 0); /* nothing is left of it */
    return 0;
}

TEST(document_in_the_log_has_limits)
{
    CHECK(test_each_store(too_long, NULL));
}

/* A list of many messages, each with a word of its own: several rows, in which nothing is lost. */
static WEFT_SUSPENDS int long_one(struct test_store *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(8 << 20), is = WB_BUF(8 << 20);
    struct wl_thread t;
    for (int i = 0; i < 900; i++)
        wb_buf_addf(&text,
                    "%s{\"id\":\"m%d\",\"role\":\"assistant\",\"parts\":[{\"type\":\"step-start\"},{\"type\":\"text\","
                    "\"text\":\"a%d\",\"x\":%d},{\"type\":\"step-start\"},{\"type\":\"text\",\"text\":\"b\"}]}",
                    i ? "," : "[", i, i, i);
    wb_buf_addc(&text, ']');
    TRY(put(x->s, &wd_document_ui, wb_buf_str(&text), false, &a, &t, err));
    TRY(out(x->s, &t, &wd_document_ui, &is, err));
    FAIL_UNLESS(test_same_text(&is, &text, "a long one"));
    return 0;
}

TEST(document_in_the_log_may_be_long)
{
    CHECK(test_each_store(long_one, NULL));
}
