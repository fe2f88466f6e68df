#include <pthread.h>
#include <stdio.h>
#include <upp/schema.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/schema.h"
#include "support/test.h"

/* The report on a value, "" when it fits; or what failed. */
static const char *report_of(const char *schema, const char *json, struct upp_schema_report *ret)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_err err = {0};
    int r = upp_schema_new(wb_cstr(schema), &s, &err);
    if (r == 0)
        r = upp_schema_check(s, wb_cstr(json), NULL, ret, &err);
    if (r < 0)
        (void)snprintf(ret->text, sizeof ret->text, "%s: %s: %s", upp_code_name(r), err.where, err.msg);
    return ret->text;
}

struct row {
    const char *schema, *json, *report;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct upp_schema_report report;
        test_note("%s with %s", rows[i].schema, rows[i].json);
        CHECK_STR(wb_cstr(report_of(rows[i].schema, rows[i].json, &report)), wb_cstr(rows[i].report));
    }
}

/* covers: UPP-17/1 */
TEST(schema_checks_any_value)
{
    static const struct row rows[] = {
        {"true", "[1,{}]", ""},
        {"{}", "null", ""},
        {"false", "1", "the value: no value is allowed here"},
        {"{\"type\":\"null\"}", "null", ""},
        {"{\"type\":\"null\"}", "false", "the value: false is not null"},
        {"{\"type\":\"boolean\"}", "0", "the value: 0 is not a boolean"},
        {"{\"type\":\"string\"}", "\"x\"", ""},
        {"{\"type\":\"string\"}", "{\"a\":1}", "the value: an object is not a string"},
        {"{\"type\":\"array\"}", "\"[]\"", "the value: '[]' is not an array"},
        {"{\"type\":\"object\"}", "[]", "the value: an array is not an object"},
        {"{\"type\":\"number\"}", "1e400", ""},
        {"{\"type\":\"integer\"}", "1.0", ""},
        {"{\"type\":\"integer\"}", "-0.0e5", ""},
        {"{\"type\":\"integer\"}", "12345678901234567890123456789e3", ""},
        {"{\"type\":\"integer\"}", "3.5", "the value: 3.5 is not an integer"},
        {"{\"type\":\"integer\"}", "1e-1", "the value: 1e-1 is not an integer"},
        {"{\"type\":[\"integer\",\"string\"]}", "\"\"", ""},
        {"{\"type\":[\"integer\",\"string\"]}", "7", ""},
        {"{\"type\":[\"integer\",\"null\"]}", "0.5", "the value: 0.5 is not null or an integer"},
        {"{\"const\":1}", "1.0", ""},
        {"{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[2.0],\"a\":1}", ""},
        {"{\"const\":null}", "0", "the value: 0 is not null"},
        {"{\"const\":\"a\\n\"}", "\"b\"", "the value: 'b' is not 'a\\n'"},
        {"{\"const\":[]}", "{}", "the value: an object is not the one value that is allowed"},
        {"{\"enum\":[\"a\",1,null,[2]]}", "[2]", ""},
        {"{\"enum\":[\"a\",1,null]}", "true", "the value: true is not one of 'a', 1, null"},
        {"{\"enum\":[]}", "1", "the value: 1 is not one of none"},
        {"{\"enum\":[9007199254740993]}", "9007199254740992",
         "the value: 9007199254740992 is not one of 9007199254740993"},
        {"{\"type\":\"string\",\"enum\":[\"a\"]}", "3", "the value: 3 is not a string"}, /* one reason is enough */
        {"{\"title\":7,\"x-own\":{\"type\":1},\"format\":\"date\",\"$comment\":\"\"}", "1", ""},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_checks_numbers_exactly)
{
    static const struct row rows[] = {
        {"{\"minimum\":5}", "5", ""},
        {"{\"minimum\":5}", "4.999999999999999999999999999999",
         "the value: 4.999999999999999999999999999999 is less than 5"},
        {"{\"maximum\":9007199254740992}", "9007199254740993",
         "the value: 9007199254740993 is more than 9007199254740992"},
        {"{\"maximum\":1e300}", "1e301", "the value: 1e301 is more than 1e300"},
        {"{\"exclusiveMinimum\":0}", "0.0", "the value: 0.0 is not more than 0"},
        {"{\"exclusiveMinimum\":0}", "1e-9999999999999999999999", ""},
        {"{\"exclusiveMaximum\":-1}", "-1", "the value: -1 is not less than -1"},
        {"{\"minimum\":3,\"exclusiveMinimum\":true}", "3", "the value: 3 is not more than 3"}, /* draft 4 */
        {"{\"minimum\":3,\"exclusiveMinimum\":false}", "3", ""},
        {"{\"exclusiveMaximum\":true}", "3", ""},
        {"{\"minimum\":2,\"maximum\":1}", "1.5", "the value: 1.5 is less than 2\nthe value: 1.5 is more than 1"},
        {"{\"minimum\":2}", "\"1\"", ""},
        {"{\"multipleOf\":0.01}", "19.99", ""},
        {"{\"multipleOf\":0.01}", "0.075", "the value: 0.075 is not a multiple of 0.01"},
        {"{\"multipleOf\":7}", "700000000000000000000000000000000000", ""},
        {"{\"multipleOf\":7}", "1e500", "the value: 1e500 is not a multiple of 7"},
        {"{\"multipleOf\":1.5e1}", "-30", ""},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_checks_strings_by_characters)
{
    static const struct row rows[] = {
        {"{\"minLength\":2}", "\"\\ud83d\\ude00\"", "the value: has 1 character, fewer than 2"},
        {"{\"minLength\":2}", "\"\\u00e9\\ud83d\"", ""}, /* half a pair is one */
        {"{\"maxLength\":1.0}", "\"\\u20ac\\u20ac\"", "the value: has 2 characters, more than 1"},
        {"{\"maxLength\":1e30}", "\"abc\"", ""},
        {"{\"maxLength\":1}", "12", ""},
        {"{\"pattern\":\"^[a-z]+\\\\d$\"}", "\"abc1\"", ""},
        {"{\"pattern\":\"^[a-z]+\\\\d$\"}", "\"ABC\"", "the value: 'ABC' does not match the pattern '^[a-z]+\\\\d$'"},
        {"{\"pattern\":\"^\\\\ud83d$\"}", "\"\\ud83d\"", ""},
        {"{\"minLength\":5,\"pattern\":\"^x\"}", "\"ab\"",
         "the value: has 2 characters, fewer than 5\nthe value: 'ab' does not match the pattern '^x'"},
        {"{\"const\":\"\\ud800\"}", "\"\\ud800\"", ""},
        {"{\"const\":\"\\ud800\"}", "\"\\ud801\"", "the value: '\xef\xbf\xbd' is not '\xef\xbf\xbd'"},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_checks_arrays)
{
    static const struct row rows[] = {
        {"{\"items\":{\"type\":\"integer\"}}", "[1,2]", ""},
        {"{\"items\":{\"type\":\"integer\"}}", "[1,\"a\",null]",
         "/1: 'a' is not an integer\n/2: null is not an integer"},
        {"{\"items\":false}", "[]", ""},
        {"{\"items\":false}", "[1]", "/0: no value is allowed here"},
        {"{\"prefixItems\":[{\"const\":1},true],\"items\":{\"const\":3}}", "[1,2,3]", ""},
        {"{\"prefixItems\":[{\"const\":1},true],\"items\":{\"const\":3}}", "[2,2,2]", "/0: 2 is not 1\n/2: 2 is not 3"},
        {"{\"prefixItems\":[{\"const\":1}]}", "[1,2,3]", ""},
        {"{\"items\":[{\"const\":1}],\"additionalItems\":false}", "[1,2]",
         "/1: no value is allowed here"}, /* draft 7 */
        {"{\"items\":{\"const\":1},\"additionalItems\":false}", "[1,1]", ""},
        {"{\"minItems\":2}", "[1]", "the value: has 1 item, fewer than 2"},
        {"{\"maxItems\":1}", "[1,2]", "the value: has 2 items, more than 1"},
        {"{\"maxItems\":1,\"items\":{\"type\":\"null\"}}", "[1,null]",
         "the value: has 2 items, more than 1\n/0: 1 is not null"},
        {"{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]",
         "/2: the same as item 1; each must be another"},
        {"{\"uniqueItems\":true}", "[1,\"1\",true,[1],null]", ""},
        {"{\"contains\":{\"type\":\"null\"}}", "[1]", "the value: has 0 items that fit `contains`, fewer than 1"},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":0,\"maxContains\":1}", "[null,null]",
         "the value: has 2 items that fit `contains`, more than 1"},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_checks_objects)
{
    static const struct row rows[] = {
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"b\":1}", ""},
        {"{\"properties\":{\"a\":{\"type\":\"string\"},\"b/c~\":false}}", "{\"a\":1,\"b/c~\":2}",
         "/a: 1 is not a string\n/b~1c~0: no value is allowed here"},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":\"x\",\"a\":\"y\"}",
         "INVALID_REQUEST: /a: expected each member once, found a second one of this name"},
        {"{\"required\":[\"city\",\"days\"]}", "{\"days\":1}", "/city: missing"},
        {"{\"required\":[\"a\",\"a\",\"\"]}", "{}", "/: missing\n/a: missing"},
        {"{\"required\":[\"a\"]}", "[]", ""},
        {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"required\":[\"c\"]}}}}}", "{\"a\":{\"b\":{}}}",
         "/a/b/c: missing"},
        {"{\"additionalProperties\":false}", "{\"x\":1}", "/x: not allowed here"},
        {"{\"properties\":{\"b\":true,\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"x\":1}",
         "/x: not allowed; allowed are 'a', 'b'"},
        {"{\"required\":[\"x\"],\"additionalProperties\":false}", "{\"x\":1}", "/x: not allowed here"},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"number\"}}", "{\"a\":\"\",\"b\":\"\"}",
         "/b: '' is not a number"},
        {"{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}},\"additionalProperties\":false}",
         "{\"x-a\":\"\",\"x-b\":1,\"y\":1}", "/x-b: 1 is not a string\n/y: not allowed here"},
        {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"ab\":1,\"A1\":2}",
         "/A1: 'A1' does not match the pattern '^[a-z]+$'"},
        {"{\"minProperties\":1}", "{}", "the value: has 0 members, fewer than 1"},
        {"{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", "the value: has 2 members, more than 1"},
        {"{\"dependentRequired\":{\"card\":[\"address\",\"name\"]}}", "{\"card\":1,\"name\":1}", "/address: missing"},
        {"{\"dependentRequired\":{\"card\":[\"address\"]}}", "{}", ""},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_checks_combinations)
{
    static const struct row rows[] = {
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2", ""},
        {"{\"allOf\":[{\"minimum\":5},{\"maximum\":3}]}", "4",
         "the value: 4 is less than 5\nthe value: 4 is more than 3"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "null", ""},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1", "the value: 1 is not null or a string"},
        {"{\"anyOf\":[{\"type\":\"object\",\"required\":[\"a\"]},{\"type\":\"null\"}]}", "{}", "/a: missing"},
        {"{\"anyOf\":[{\"$ref\":\"#/$defs/"
         "o\"},{\"type\":\"null\"}],\"$defs\":{\"o\":{\"type\":\"object\",\"required\":[\"a\"]}}}",
         "{}", "/a: missing"},
        {"{\"anyOf\":[{\"minimum\":5},{\"maximum\":3}]}", "4", "the value: 4 fits none of the 2 alternatives"},
        {"{\"anyOf\":[false]}", "4", "the value: 4 fits none of the 1 alternatives"},
        {"{\"oneOf\":[{\"minimum\":2},{\"maximum\":3}]}", "4", ""},
        {"{\"oneOf\":[{\"minimum\":2},{\"maximum\":3}]}", "2.5",
         "the value: fits more than one of the 2 alternatives, and must fit one"},
        {"{\"oneOf\":[{\"type\":\"array\",\"items\":{\"type\":\"null\"}},{\"type\":\"string\"}]}", "[1]",
         "/0: 1 is not null"},
        {"{\"not\":{\"type\":\"null\"}}", "1", ""},
        {"{\"not\":{\"type\":\"null\"}}", "null", "the value: fits what it must not fit"},
        {"{\"not\":{\"not\":{\"required\":[\"a\"]}}}", "{}", "the value: fits what it must not fit"},
        {"{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}", "{\"a\":1}",
         "/b: missing"},
        {"{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}", "{\"b\":1}",
         "/c: missing"},
        {"{\"then\":false,\"else\":false}", "1", ""},
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_follows_references)
{
    static const struct row rows[] = {
        {"{\"properties\":{\"a\":{\"$ref\":\"#/definitions/n\"}},\"definitions\":{\"n\":{\"type\":\"number\"}}}",
         "{\"a\":null}", "/a: null is not a number"},
        {"{\"$ref\":\"#/$defs/a~1b%25~0%C3%A9\",\"$defs\":{\"a/b%~\\u00e9\":{\"type\":\"null\"}}}", "1",
         "the value: 1 is not null"},
        {"{\"properties\":{\"next\":{\"$ref\":\"#\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"v\"]}",
         "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", "/next/next/v: missing"},
        {"{\"properties\":{\"a\":{\"minimum\":2},\"b\":{\"$ref\":\"#/properties/a\",\"maximum\":3}}}",
         "{\"a\":1,\"b\":4}", "/a: 1 is less than 2\n/b: 4 is more than 3"}, /* what stands beside it counts */
        {"{\"$defs\":{\"\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/\"}", "1", "the value: 1 is not null"},
        {"{\"prefixItems\":[{\"type\":\"null\"},{\"$ref\":\"#/prefixItems/0\"}]}", "[null,1]", "/1: 1 is not null"},
        {"{\"$id\":\"https://a.b/c#\",\"$defs\":{\"n\":{\"type\":\"null\"}},\"items\":{\"$ref\":\"https://a.b/c#/$defs/"
         "n\"}}",
         "[1]", "/0: 1 is not null"},
        {"{\"$id\":\"T\",\"properties\":{\"x\":{\"$ref\":\"T\"}},\"type\":\"object\"}", "{\"x\":1}",
         "/x: 1 is not an object"},
        {"{\"$defs\":{\"n\":{\"type\":\"null\"},\"s\":{\"$id\":\"s\",\"$defs\":{\"n\":{\"type\":\"string\"}},\"items\":"
         "{\"$ref\":"
         "\"#/$defs/n\"}}},\"$ref\":\"#/$defs/s\"}",
         "[1]", "/0: 1 is not a string"},                                     /* seen from the nearest $id */
        {"{\"$defs\":{\"bad\":{\"$ref\":\"https://elsewhere/\"}}}", "1", ""}, /* nothing leads there */
    };
    check_rows(rows, WB_LEN(rows));
}

/* covers: UPP-17/1 */
TEST(schema_says_what_is_wrong_with_itself)
{
    static const struct {
        const char *schema, *where, *msg;
    } rows[] = {
        {"{", "line 1, column 2 (byte 1)",
         "schema: expected a member name in double quotes or '}', found the end of the text"},
        {"7", "", "schema: expected a schema: an object, true or false, found the number 7"},
        {"{\"type\":\"text\"}", "/type", "schema: expected the name of a type, found 'text'"},
        {"{\"type\":[\"null\",1]}", "/type/1", "schema: expected the name of a type, found the number 1"},
        {"{\"type\":[]}", "/type", "schema: expected at least one type"},
        {"{\"enum\":1}", "/enum", "schema: expected an array, found the number 1"},
        {"{\"properties\":[]}", "/properties", "schema: expected an object of schemas, found an array"},
        {"{\"properties\":{\"a\":null}}", "/properties/a",
         "schema: expected a schema: an object, true or false, found null"},
        {"{\"required\":true}", "/required", "schema: expected an array of names, found true"},
        {"{\"required\":[\"a\",1]}", "/required/1", "schema: expected the name of a member, found the number 1"},
        {"{\"additionalProperties\":1}", "/additionalProperties",
         "schema: expected a schema: an object, true or false, found the number 1"},
        {"{\"patternProperties\":{\"(\":{}}}", "/patternProperties/(",
         "schema: pattern: character 2: expected ')' for a group"},
        {"{\"patternProperties\":1}", "/patternProperties",
         "schema: expected an object of schemas, found the number 1"},
        {"{\"dependentRequired\":{\"a\":1}}", "/dependentRequired/a",
         "schema: expected an array of names, found the number 1"},
        {"{\"dependentRequired\":[]}", "/dependentRequired",
         "schema: expected an object of arrays of names, found an array"},
        {"{\"items\":1}", "/items", "schema: expected a schema: an object, true or false, found the number 1"},
        {"{\"items\":[{}],\"prefixItems\":[{}]}", "/items",
         "schema: expected one schema, as there are prefixItems, found an array"},
        {"{\"prefixItems\":[]}", "/prefixItems", "schema: expected an array of schemas, at least one, found an array"},
        {"{\"uniqueItems\":1}", "/uniqueItems", "schema: expected true or false, found the number 1"},
        {"{\"anyOf\":[]}", "/anyOf", "schema: expected an array of schemas, at least one, found an array"},
        {"{\"oneOf\":{}}", "/oneOf", "schema: expected an array of schemas, at least one, found an object"},
        {"{\"allOf\":[1]}", "/allOf/0", "schema: expected a schema: an object, true or false, found the number 1"},
        {"{\"not\":\"\"}", "/not", "schema: expected a schema: an object, true or false, found a string"},
        {"{\"if\":1}", "/if", "schema: expected a schema: an object, true or false, found the number 1"},
        {"{\"minimum\":\"1\"}", "/minimum", "schema: expected a number, found a string"},
        {"{\"exclusiveMaximum\":null}", "/exclusiveMaximum", "schema: expected a number, found null"},
        {"{\"multipleOf\":0}", "/multipleOf", "schema: expected a number above 0"},
        {"{\"multipleOf\":\"\"}", "/multipleOf", "schema: expected a number, found a string"},
        {"{\"minLength\":-1}", "/minLength", "schema: expected a whole number, at least 0, found the number -1"},
        {"{\"maxItems\":1.5}", "/maxItems", "schema: expected a whole number, at least 0, found the number 1.5"},
        {"{\"minProperties\":\"1\"}", "/minProperties", "schema: expected a whole number, at least 0, found a string"},
        {"{\"pattern\":1}", "/pattern", "schema: expected a string, found the number 1"},
        {"{\"properties\":{\"a\":{\"pattern\":\"a(?=b)\"}}}", "/properties/a/pattern",
         "schema: pattern: character 5: lookaround is not supported"},
        {"{\"type\":\"null\",\"type\":\"string\"}", "/type",
         "schema: expected each member once, found a second one of this name"},
        {"{\"$ref\":1}", "/$ref", "schema: expected a string, found the number 1"},
        {"{\"$ref\":\"#/a/b\",\"a\":{}}", "/$ref", "schema: nothing is at '#/a/b'"},
        {"{\"$ref\":\"#/a/01\",\"a\":[{},{}]}", "/$ref", "schema: nothing is at '#/a/01'"},
        {"{\"$ref\":\"#/a%2\",\"a\":{}}", "/$ref", "schema: nothing is at '#/a%2'"},
        {"{\"$ref\":\"#/a~\",\"a\":{}}", "/$ref", "schema: nothing is at '#/a~'"},
        {"{\"$ref\":\"#/a\",\"a\":[1]}", "/a", "schema: expected a schema: an object, true or false, found an array"},
        {"{\"$ref\":\"#here\"}", "/$ref", "schema: expected a reference by pointer (#/...), found the anchor '#here'"},
        {"{\"items\":{\"$ref\":\"https://x/y\"}}", "/items/$ref",
         "schema: expected a reference into this schema (#/...), found 'https://x/y'"},
        {"{\"$dynamicRef\":\"#a\"}", "/$dynamicRef",
         "schema: references that depend on where they are met from are not supported"},
        {"{\"$ref\":\"#\"}", "", "schema: a schema that refers to itself for the same value, without end"},
        {"{\"items\":{\"anyOf\":[true,{\"not\":{\"$ref\":\"#/items\"}}]}}", "/items",
         "schema: a schema that refers to itself for the same value, without end"},
        {"{\"if\":true,\"then\":{\"allOf\":[{\"oneOf\":[{\"$ref\":\"#\"}]}]}}", "",
         "schema: a schema that refers to itself for the same value, without end"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_schema *s = NULL;
        struct upp_err err = {0};
        test_note("%s", rows[i].schema);
        int r = upp_schema_new(wb_cstr(rows[i].schema), &s, &err);
        ALWAYS(r < 0 && !s);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.where), wb_cstr(rows[i].where));
        CHECK_STR(wb_cstr(err.msg), wb_cstr(rows[i].msg));
    }
}

/* ---- Reports ------------------------------------------------------------------------------------------ */

struct seen {
    char p[2000];
    size_t n;
    unsigned calls;
};

static void note(void *arg, const char *pointer, const char *reason)
{
    struct seen *s = arg;
    s->n += (size_t)snprintf(s->p + s->n, sizeof s->p - s->n, "[%s|%s]", pointer, reason);
    s->calls++;
}

/* covers: UPP-17/2 */
TEST(schema_reports_each_violation_of_arguments)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct seen seen = {.n = 0};
    static struct upp_schema_report report;
    CHECK(
        upp_schema_new(UPP_STR("{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":"
                               "\"integer\",\"minimum\":1},\"unit\":{\"enum\":[\"C\",\"F\"]}},\"required\":[\"city\"],"
                               "\"additionalProperties\":false}"),
                       &s, NULL) == 0);
    CHECK_INT(upp_schema_check(s, UPP_STR("{\"days\":3.5,\"unit\":\"K\",\"place\":\"Rome\"}"),
                               UPP_OPTS(upp_schema_opts, .violation = note, .arg = &seen), &report, NULL),
              4);
    CHECK_STR(wb_cstr(report.text),
              UPP_STR("/city: missing\n/days: 3.5 is not an integer\n/unit: 'K' is not one of 'C', 'F'\n"
                      "/place: not allowed; allowed are 'city', 'days', 'unit'"));
    CHECK_STR(wb_str(seen.p, seen.n),
              UPP_STR("[/city|missing][/days|3.5 is not an integer][/unit|'K' is not one of 'C', 'F']"
                      "[/place|not allowed; allowed are 'city', 'days', 'unit']"));
    CHECK(report.violations == 4 && report.shown == 4);
    CHECK_INT(upp_schema_check(s, UPP_STR("{\"city\":\"Rome\"}"), NULL, &report, NULL), 0);
    CHECK(report.violations == 0 && report.shown == 0 && report.text[0] == 0);
    CHECK_INT(upp_schema_check(s, UPP_STR("[]"), NULL, NULL, NULL), 1);
}

TEST(schema_report_has_an_end)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20);
    struct seen seen = {.n = 0};
    static struct upp_schema_report report;
    CHECK(upp_schema_new(UPP_STR("{\"items\":{\"type\":\"null\"}}"), &s, NULL) == 0);
    for (int i = 0; i < 40; i++)
        wb_buf_addf(&json, "%c%d", i ? ',' : '[', i);
    wb_buf_addc(&json, ']');
    CHECK(wb_buf_check(&json, NULL) == 0);
    CHECK_INT(upp_schema_check(s, wb_buf_str(&json), UPP_OPTS(upp_schema_opts, .violation = note, .arg = &seen),
                               &report, NULL),
              40);
    CHECK(report.violations == 40 && report.shown == UPP_SCHEMA_SHOWN && seen.calls == UPP_SCHEMA_SHOWN);
    CHECK(wb_str_ends(wb_cstr(report.text), UPP_STR("\n/15: 15 is not null\nand 24 more")));
}

/* Long pointers and long reasons: the text is full before there are UPP_SCHEMA_SHOWN, and is still text. */
TEST(schema_report_is_cut_at_whole_lines)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(1u << 20), schema = WB_BUF(1u << 20);
    struct upp_schema_report report;
    wb_buf_add(&schema, UPP_STR("{\"additionalProperties\":{\"enum\":["));
    for (int i = 0; i < 60; i++)
        wb_buf_addf(&schema, "%s\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac %d\"", i ? "," : "", i);
    wb_buf_add(&schema, UPP_STR("]}}"));
    wb_buf_addc(&json, '{');
    for (int i = 0; i < 20; i++) {
        wb_buf_addf(&json, "%s\"%d", i ? "," : "", i);
        for (int k = 0; k < 200; k++)
            wb_buf_add(&json, UPP_STR("\xc3\xa9"));
        wb_buf_add(&json, UPP_STR("\":\"\\u0001\\ud800 and what goes on and on and on and on and on and on and on\""));
    }
    wb_buf_addc(&json, '}');
    CHECK(wb_buf_check(&json, NULL) == 0 && wb_buf_check(&schema, NULL) == 0);
    CHECK(upp_schema_new(wb_buf_str(&schema), &s, NULL) == 0);
    CHECK_INT(upp_schema_check(s, wb_buf_str(&json), NULL, &report, NULL), 20);
    CHECK(report.shown > 4 && report.shown < UPP_SCHEMA_SHOWN);
    CHECK(wb_utf8_valid(wb_cstr(report.text), NULL));
    size_t lines = 0;
    for (const char *p = report.text; *p; p++)
        lines += *p == '\n';
    char end[32];
    (void)snprintf(end, sizeof end, "\nand %u more", (unsigned)(20 - report.shown));
    CHECK_INT(lines, report.shown);
    CHECK(wb_str_ends(wb_cstr(report.text), wb_cstr(end)));
}

/* ---- Values, texts, threads --------------------------------------------------------------------------- */

TEST(schema_checks_values_that_are_read)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_schema_report report;
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("{\"a\":{\"b\":[1,{\"const\":2}]}}"), NULL, &v, NULL) == 0);
    yyjson_val *inner = yyjson_obj_get(yyjson_obj_get(v, "a"), "b");
    CHECK(wj_schema_new(yyjson_arr_get(inner, 1), &s, NULL) == 0);
    CHECK_INT(wj_schema_check(s, yyjson_arr_get(inner, 0), NULL, &report, NULL), 1);
    CHECK_STR(wb_cstr(report.text), UPP_STR("the value: 1 is not 2")); /* pointers are from the value */
}

TEST(schema_check_refuses_what_is_not_json)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_err err = {0};
    CHECK(upp_schema_new(UPP_STR("true"), &s, NULL) == 0);
    CHECK_INT(upp_schema_check(s, UPP_STR("{\"a\":}"), NULL, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("line 1, column 6 (byte 5)"));
    CHECK_INT(upp_schema_check(s, UPP_STR(""), NULL, NULL, &err), -UPP_EINVALID);
    upp_schema_free(NULL);
}

/* Which of the two counts, two readers may see differently. */
TEST(schema_is_not_fit_by_members_that_are_there_twice)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_err err = {0};
    CHECK(upp_schema_new(UPP_STR("true"), &s, NULL) == 0);
    CHECK_INT(upp_schema_check(s, UPP_STR("{\"a\":{\"b\":1,\"\\u0062\":2}}"), NULL, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/a/b"));
}

static void *check_many(void *arg)
{
    const struct upp_schema *s = arg;
    size_t n = 0;
    for (int i = 0; i < 200; i++) {
        struct upp_schema_report report;
        n += upp_schema_check(s, UPP_STR("{\"a\":[\"xx1\",\"y\"]}"), NULL, &report, NULL) == 1 &&
             strcmp(report.text, "/a/1: 'y' does not match the pattern '^(x|y)+\\\\d$'") == 0;
    }
    return n == 200 ? arg : NULL;
}

TEST_WITH(schema_is_used_by_several_threads, .no_torture = "faults are for one thread at a time")
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    pthread_t threads[4];
    void *ok[WB_LEN(threads)] = {0};
    CHECK(upp_schema_new(UPP_STR("{\"properties\":{\"a\":{\"items\":{\"pattern\":\"^(x|y)+\\\\d$\"}}}}"), &s, NULL) ==
          0);
    for (size_t i = 0; i < WB_LEN(threads); i++)
        if (pthread_create(&threads[i], NULL, check_many, s) != 0)
            threads[i] = pthread_self();
    for (size_t i = 0; i < WB_LEN(threads); i++)
        if (!pthread_equal(threads[i], pthread_self()))
            (void)pthread_join(threads[i], &ok[i]);
    for (size_t i = 0; i < WB_LEN(threads); i++)
        CHECK(ok[i]);
}
