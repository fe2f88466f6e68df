/* interop/schema/cases.c — the checker over files of the public JSON Schema test suite.
 *
 *     schema_cases FILE...
 *
 * A line a case: FILE, GROUP, CASE, `ok` or `bad`, and what was seen; tabs between them.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "json/read.h"
#include "json/schema.h"
#include "json/value.h"

static const char *one_line(yyjson_val *v, char *buf, size_t size)
{
    return wj_quote(v ? wj_text(v) : UPP_STR(""), buf, size);
}

static void tell(const char *file, yyjson_val *group, yyjson_val *test, bool ok, const char *seen)
{
    char a[512], b[512];
    printf("%s\t%s\t%s\t%s\t", file, one_line(yyjson_obj_get(group, "description"), a, sizeof a),
           one_line(yyjson_obj_get(test, "description"), b, sizeof b), ok ? "ok" : "bad");
    for (const char *p = seen; *p; p++)
        putchar(*p == '\n' || *p == '\t' ? ' ' : *p);
    putchar('\n');
}

static void run_case(const char *file, yyjson_val *group, yyjson_val *test, const struct upp_schema *s)
{
    static struct upp_schema_report report;
    struct upp_err err = {0};
    bool valid = yyjson_get_bool(yyjson_obj_get(test, "valid"));
    int r = wj_schema_check(s, yyjson_obj_get(test, "data"), NULL, &report, &err);
    tell(file, group, test, r >= 0 && (r == 0) == valid, r < 0 ? err.msg : r == 0 ? "it fits" : report.text);
}

static void run_group(const char *file, yyjson_val *group)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_err err = {0};
    int r = wj_schema_new(yyjson_obj_get(group, "schema"), &s, &err);
    size_t i, n;
    yyjson_val *test;
    yyjson_arr_foreach(yyjson_obj_get(group, "tests"), i, n, test)
    {
        if (r < 0)
            tell(file, group, test, false, err.msg);
        else
            run_case(file, group, test, s);
    }
}

static int run_file(const char *file, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    yyjson_val *groups, *group;
    size_t i, n;
    int r = wb_file_read(file, &text, err);
    if (r == 0)
        r = wj_read(&a, wb_buf_str(&text), NULL, &groups, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(groups, i, n, group) run_group(file, group);
    return 0;
}

int main(int argc, char **argv)
{
    struct upp_err err;
    for (int i = 1; i < argc; i++)
        if (run_file(argv[i], &err) < 0)
            return fprintf(stderr, "%s: %s: %s\n", argv[i], err.where, err.msg), 1;
    return 0;
}
