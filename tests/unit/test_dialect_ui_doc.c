/* UI messages: what they become, their way through a thread, events, versions, what is refused. */
#include <stdlib.h>

#include "dialects/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

static int convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                   unsigned target, struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int                                             r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, UPP_OPTS(wd_convert_opts, .target = target), out, losses, err);
}

/* ---- What is kept ---------------------------------------------------------------------------------------------- */

static int compact(struct upp_str json, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val                               *v;
    int                                       r = wj_read(&a, json, NULL, &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

/* All that was said, called and answered, in order, with whose it was: a line each. */
static int told(struct upp_str text, const struct wd_document_ops *ops, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .forget = true), err);
    for (size_t i = 0; r >= 0 && i < d.doc.entries.n; i++) {
        const struct wm_doc_entry *e   = &d.doc.entries.p[i];
        struct upp_str             who = e->agent == WM_NO_AGENT ? UPP_STR("user") : d.doc.agents.p[e->agent].name;
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(out, "%.*s event %.*s\n", UPP_FMT(who), UPP_FMT(e->e.data));
        for (size_t k = 0; r >= 0 && k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, "%.*s %u%u %.*s %.*s %.*s ", UPP_FMT(who), p->kind, p->is_error, UPP_FMT(p->id),
                        UPP_FMT(p->name), UPP_FMT(p->media ? p->media->data : UPP_STR("")));
            if (p->kind != UPP_PART_CALL || !p->text.n)
                wb_buf_add(out, p->text);
            else
                r = compact(p->text, out, err);
            wb_buf_add(out, UPP_STR("\n"));
        }
    }
    return r < 0 ? r : wb_buf_check(out, err);
}

static bool keeps(const struct wd_document_ops *ops, const char *path)
{
    size_t                                n    = 0;
    WB_CLEANUP(freep) char               *text = test_read(path, &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), ui = WB_BUF(ROOM), back = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err                        err = {0};
    test_note("%s", path);
    if (!text || told(wb_str(text, n), ops, &was, &err) < 0 ||
        convert(wb_str(text, n), ops, &wd_document_ui, 0, &ui, NULL, &err) < 0 ||
        convert(wb_buf_str(&ui), NULL, ops, 0, &back, NULL, &err) < 0 || told(wb_buf_str(&back), ops, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

/* covers: TP-34 */
TEST(dialect_ui_doc_keeps_what_threads_say)
{
    CHECK(keeps(&wd_document_thread, "golden/thread/weather.json"));
    CHECK(keeps(&wd_document_thread, "golden/thread/enrichment.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-1.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-2.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/v0.4.json"));
}
