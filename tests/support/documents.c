/* support/documents.c — the golden documents of the dialects. */
#include "support/documents.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/read.h"
#include "support/test.h"

static void freep(char **p)
{
    free(*p);
}

int test_compact(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256 << 20);
    yyjson_val *v;
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .depth = WD_DOC_DEPTH), &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

int test_convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                 struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, NULL, out, losses, err);
}

bool test_each_document(const struct wd_document_ops *ops,
                        bool (*check)(const struct wd_document_ops *ops, struct upp_str text, void *arg), void *arg)
{
    char folder[64], path[320];
    (void)snprintf(folder, sizeof folder, "golden/%s/documents", ops->name); /* of one that has streams, too */
    DIR *dir = opendir(test_source(folder));
    if (!dir) {
        (void)snprintf(folder, sizeof folder, "golden/%s", ops->name);
        dir = opendir(test_source(folder));
    }
    bool any = false, good = dir != NULL;
    for (struct dirent *e; good && (e = readdir(dir));) {
        size_t n = 0;
        WB_CLEANUP(freep) char *text = NULL;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        text = test_read(path, &n);
        test_note("%s", path);
        good = text && check(ops, wb_str(text, n), arg);
        any = true;
    }
    if (dir)
        closedir(dir);
    return good && any;
}

bool test_same_text(const struct wb_buf *is, const struct wb_buf *was, const char *what)
{
    size_t n = 0, before;
    while (n < is->n && n < was->n && is->p[n] == was->p[n])
        n++;
    before = n < 60 ? n : 60;
    if (n < is->n || n < was->n)
        printf("# %s: differs at byte %zu\n# is:  %.*s\n# was: %.*s\n", what, n,
               (int)WB_MIN(is->n - n + before, (size_t)200), is->p + n - before,
               (int)WB_MIN(was->n - n + before, (size_t)200), was->p + n - before);
    bool same = test_expect_str(wb_buf_str(is), wb_buf_str(was), __FILE__, __LINE__, what);
    return test_expect(same, true, __FILE__, __LINE__, what);
}

bool test_comes_back(const struct wd_document_ops *ops, struct upp_str text, size_t *settled)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(1 << 20), is = WB_BUF(1 << 20);
    struct upp_err err = {0};
    if (test_compact(text, &was, &err) < 0 || wd_document_read(&d, ops, text, NULL, &err) < 0 ||
        wd_document_write(&d, ops, NULL, &is, NULL, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    *settled = 0;
    for (size_t i = 0; i < d.lifting.anchors.n; i++)
        *settled += d.lifting.anchors.p[i].settled;
    return test_same_text(&is, &was, "written back");
}

bool test_comes_back_settled(const struct wd_document_ops *ops, struct upp_str text, size_t settled)
{
    size_t is = 0;
    return test_comes_back(ops, text, &is) &&
           test_expect_int((long long)is, (long long)settled, __FILE__, __LINE__, "what was not compared");
}

bool test_comes_back_edited(const struct wd_document_ops *ops, struct upp_str text, size_t at,
                            const struct test_edit *edit, size_t *settled)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf edited = WB_BUF(1 << 20);
    wb_buf_add(&edited, wb_str_sub(text, 0, at));
    wb_buf_add(&edited, wb_cstr(edit->is));
    wb_buf_add(&edited, wb_str_sub(text, at + strlen(edit->was), SIZE_MAX));
    return EXPECT(!edited.failed) && test_comes_back(ops, wb_buf_str(&edited), settled);
}

bool test_settled(const struct wd_document_ops *ops, struct upp_str plain, size_t settled,
                  const struct test_edit *edits, size_t n)
{
    bool good = test_comes_back_settled(ops, plain, settled);
    for (size_t i = 0; good && i < n; i++) {
        size_t is, at = wb_str_find(plain, wb_cstr(edits[i].was), 0);
        test_note("%s -> %s", edits[i].was, edits[i].is);
        good = EXPECT(at != SIZE_MAX) && test_comes_back_edited(ops, plain, at, &edits[i], &is) && EXPECT(is < settled);
    }
    return good;
}
