/* interop/pydantic/convert.c — converts and validates for check.py, a line a document.
 *
 *     FROM TAB TO TAB JSON     ->  the document, or "! " and what was wrong
 *     FROM TAB ? TAB JSON      ->  number of errors, TAB, and of each problem "RULE POINTER SENTENCE", with TABs
 * between
 */
#include <stdio.h>
#include <stdlib.h>

#include "dialects/core/convert.h"

static const struct wd_document_ops *take_ops(struct upp_str *line)
{
    struct upp_str name;
    return wb_str_split(line, '\t', &name) ? wd_document_find(name) : NULL;
}

static void convert(const struct wd_document_ops *from, const struct wd_document_ops *to, struct upp_str json)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WD_DOC_BYTES);
    struct upp_err err = {0};
    int r = wd_document_read(&d, from, json, NULL, &err);
    if (r >= 0)
        r = wd_document_write(&d, to, NULL, &out, NULL, &err);
    if (r < 0)
        printf("! %s: %s\n", err.where, err.msg);
    else
        printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
}

static void validate(const struct wd_document_ops *ops, struct upp_str json)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_BYTES);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    struct upp_err err = {0};
    if (wd_document_validate(ops, json, &a, &p, &ops, &err) < 0) {
        printf("1\t! %s: %s\n", err.where, err.msg);
        return;
    }
    printf("%zu", p.errors);
    for (size_t i = 0; i < p.list.n; i++)
        printf("\t%s %.*s %.*s", p.list.p[i].rule, UPP_FMT(p.list.p[i].pointer), UPP_FMT(p.list.p[i].sentence));
    printf("\n");
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    while ((n = getline(&line, &size, stdin)) > 0) {
        struct upp_str rest = wb_str(line, (size_t)n - (line[n - 1] == '\n'));
        const struct wd_document_ops *from = take_ops(&rest);
        bool look = wb_str_starts(rest, UPP_STR("?\t"));
        const struct wd_document_ops *to = take_ops(&rest);
        if (!from || (!to && !look)) {
            free(line);
            return fputs("convert: no such dialect\n", stderr), 2;
        }
        if (look)
            validate(from, rest);
        else
            convert(from, to, rest);
    }
    free(line);
    return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
