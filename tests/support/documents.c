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
    yyjson_val                               *v;
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .depth = WD_DOC_DEPTH), &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

int test_convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                 struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int                                             r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, NULL, out, NULL, err);
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
        size_t                  n    = 0;
        WB_CLEANUP(freep) char *text = NULL;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        text = test_read(path, &n);
        test_note("%s", path);
        good = text && check(ops, wb_str(text, n), arg);
        any  = true;
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
