/* A program that uses the public headers: valid C and valid C++. */
#include <stdio.h>
#include <upp/upp.h>
#include <weft/weft.h>

static const struct upp_str name = UPP_STR_INIT("weft");

int main(void)
{
    struct upp_err err = {};
    struct upp_str s = UPP_STR("hello");

    struct upp_schema *schema = NULL;
    struct upp_schema_report report;
    if (weft_global_init(NULL, &err) < 0)
        return fprintf(stderr, "%s: %s\n", upp_code_name(err.code), err.msg), 1;
    if (upp_schema_new(UPP_STR("{\"type\":\"null\"}"), &schema, &err) < 0 ||
        upp_schema_check(schema, UPP_STR("1"), NULL, &report, &err) != 1)
        return 1;
    upp_schema_free(schema);
    if (upp_fail(&err, UPP_EINVALID, "%.*s", UPP_FMT(s)) != -UPP_EINVALID || upp_wrap(&err, -UPP_EINVALID, "in") >= 0)
        return 1;
    return printf("%.*s %s: %s\n", UPP_FMT(name), upp_version(), err.msg) > 0 ? 0 : 1;
}
