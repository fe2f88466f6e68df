/* Members and items of a text, told apart without reading it. */
#include "json/scan.h"

#include <string.h>

#include "base/buf.h"
#include "support/test.h"

/* What is found, as "name=value;"; "!" at the end where the text is bad. */
static void finds(struct upp_str text, char bracket, const struct wj_extents *known, const char *expected)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf found = WB_BUF(1 << 16);
    struct wj_scan s;
    struct upp_str name, value;
    wj_scan_init(&s, text, bracket, known);
    while (wj_scan_next(&s, &name, &value))
        wb_buf_addf(&found, "%.*s=%.*s;", UPP_FMT(name), UPP_FMT(value));
    if (s.bad)
        wb_buf_addc(&found, '!');
    test_note("%.*s: %.*s", UPP_FMT(text), UPP_FMT(wb_buf_str(&found)));
    EXPECT(wb_str_eq(wb_buf_str(&found), wb_cstr(expected)));
}

TEST(json_scan_finds_members_and_items)
{
    static const struct {
        const char *text;
        char bracket;
        const char *found;
    } cases[] = {
        {"{}", '{', ""},
        {"[]", '[', ""},
        {"{\"a\":1,\"b\":\"x\",\"c\":null}", '{', "a=1;b=\"x\";c=null;"},
        {"[1,\"],\\\"\",[[],{}],{\"a\":[\"}\"]},true]", '[', "=1;=\"],\\\"\";=[[],{}];={\"a\":[\"}\"]};=true;"},
        {"{\"a\\\\\":\"\\\\\",\"\":{\"b\":\"{[\"}}", '{', "a\\\\=\"\\\\\";={\"b\":\"{[\"};"},
        {"{\"long\":\"a text that is longer than sixteen bytes, with \\\"quotes\\\" in it\",\"n\":[1234567890123456789,"
         "{\"more\":\"of it, and that is longer, too\"}],\"z\":0}",
         '{',
         "long=\"a text that is longer than sixteen bytes, with \\\"quotes\\\" in it\";n=[1234567890123456789,"
         "{\"more\":\"of it, and that is longer, too\"}];z=0;"},
        /* Other brackets, and what is no JSON. */
        {"{}", '[', "!"},
        {"", '{', "!"},
        {"{", '{', "!"},
        {"[", '[', "!"},
        {"{\"a\":1", '{', "a=1;!"},
        {"{\"a\":1}x", '{', "a=1;!"},
        {"{\"a\":1,}", '{', "a=1;!"},
        {"[1,]", '[', "=1;!"},
        {"[,1]", '[', "!"},
        {"{\"a\"}", '{', "!"},
        {"{\"a\":}", '{', "!"},
        {"{a:1}", '{', "!"},
        {"{\"a\":\"x", '{', "!"},
        {"{\"a\":\"x\\", '{', "!"},
        {"{\"a\":{\"b\":[1}", '{', "!"},
        {"[1 2]", '[', "=1 2;"}, /* within a value nobody looks */
    };
    for (size_t i = 0; i < WB_LEN(cases); i++)
        finds(wb_cstr(cases[i].text), cases[i].bracket, NULL, cases[i].found);
}

/* What is known is stepped over, and not looked at. */
TEST(json_scan_steps_over_what_is_known)
{
    static const char text[] = "before{\"a\":[{???},{\"b\":1},{[[[}],\"c\":{???},\"d\":2}";
    const struct wj_extent at[] = {{12, 17}, {26, 31}, {37, 42}, {60, 70}};
    struct wj_extents known = {text, at, WB_LEN(at)};
    struct upp_str object = wb_str(text + 6, sizeof text - 7);
    finds(object, '{', &known, "a=[{???},{\"b\":1},{[[[}];c={???};d=2;");
    finds(object, '{', NULL, "!");
}
