#include "json/read.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/hooks.h"
#include "json/compact.h"
#include "json/value.h"
#include "json/write.h"
#include "support/fault.h"
#include "support/test.h"

/* The classes of texts on which JSON parsers are known to differ. docs/json.md has the rulings in words.
 * msg NULL: accepted, and written back as `out` (NULL: as it came). */
static const struct {
    const char *class;
    struct upp_str text;
    const char *out, *msg, *where;
} cases[] = {
#define YES(class_, text_)                                                                                             \
    {                                                                                                                  \
        class_, UPP_STR_INIT(text_), NULL, NULL, NULL                                                                  \
    }
#define YES_AS(class_, text_, out_)                                                                                    \
    {                                                                                                                  \
        class_, UPP_STR_INIT(text_), out_, NULL, NULL                                                                  \
    }
#define NO(class_, text_, msg_, at_)                                                                                   \
    {                                                                                                                  \
        class_, UPP_STR_INIT(text_), NULL, msg_, at_                                                                   \
    }
    /* clang-format off: a table */
    /* ---- must be accepted ---- */
    YES("scalar at the top", "0"), YES("scalar at the top", "-1"), YES("scalar at the top", "\"\""),
    YES("scalar at the top", "true"), YES("scalar at the top", "false"), YES("scalar at the top", "null"),
    YES_AS("blanks around", " \t\r\n1\t\r\n ", "1"),
    YES_AS("blanks inside", "{ \"a\" :\t[ 1 ,\n2 ] }", "{\"a\":[1,2]}"), YES("empty containers", "[]"),
    YES("empty containers", "{}"), YES("empty containers", "[[],{},[{}]]"), YES("empty name", "{\"\":0}"),
    YES("number: zero", "[0,-0,0.0,-0.0,0e0,0E+5,0e-999]"),
    YES("number: fraction and exponent", "[1.5,1e5,1E5,1e+5,1e-5,1.5e5,-1.5E-5]"),
    YES("number: leading zeros in the exponent", "[1e00,1e-007]"),
    YES("number: more digits than a double has", "[3.14159265358979323846264338327950288419716939937510]"),
    YES("number: more than 64 bits", "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]"),
    YES("string: every short escape", "[\"\\\"\\\\\\b\\f\\n\\r\\t\"]"),
    YES_AS("string: escaped solidus", "\"a\\/b\"", "\"a/b\""),
    YES_AS("string: escapes of ordinary letters", "\"\\u0041\\u00e9\\u20AC\"", "\"A\xc3\xa9\xe2\x82\xac\""),
    YES_AS("string: escaped pair", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""),
    YES_AS("string: escaped pair in capitals", "\"\\uD83D\\uDE00\"", "\"\xf0\x9f\x98\x80\""),
    YES("string: DEL, U+2028 and U+2029 raw", "\"\x7f\xe2\x80\xa8\xe2\x80\xa9\""),
    YES("string: highest and lowest of each length",
        "\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
    YES("string: noncharacters", "\"\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\xbf\xbf\""),
    YES("string: byte order mark inside", "\"\xef\xbb\xbf\""),
    YES("string: control characters as escapes", "\"\\u0000\\u0001\\u001f\""),

    /* ---- implementations differ: ours ---- */
    YES("duplicate names are kept", "{\"a\":1,\"b\":2,\"a\":3}"), YES("duplicate names are kept", "{\"a\":1,\"a\":1}"),
    YES("number: huge exponent is kept", "[1e400,-1e400,1e-400,1e1000000000000000000000,123e-10000000]"),
    YES("string: NUL is kept", "[\"\\u0000\",\"a\\u0000b\",{\"\\u0000\":1}]"),
    YES("string: lone high surrogate is kept", "\"\\ud800\""),
    YES("string: lone high surrogate is kept", "\"a\\udbffb\""),
    YES("string: lone low surrogate is kept", "\"\\udc00\""),
    YES("string: lone low surrogate is kept", "{\"\\udfff\":\"\\udfff\"}"),
    YES("string: halves in the wrong order", "\"\\ude00\\ud83d\""),
    YES("string: two high halves", "\"\\ud800\\ud800\""),
    YES_AS("string: a high half before a pair", "\"\\ud83d\\ud83d\\ude00\"", "\"\\ud83d\xf0\x9f\x98\x80\""),
    YES_AS("string: a high half, an escape, a low half", "\"\\ud83d\\n\\uDE00\"", "\"\\ud83d\\n\\ude00\""),
    YES("string: a backslash before what looks like a half", "[\"\\\\ud800\",\"\\ud800\",\"\\\\\\\\ud800\"]"),
    YES("string: a half after an escaped backslash", "[\"\\\\\\ud800\"]"),
    NO("byte order mark is refused", "\xef\xbb\xbf{}", "expected a value, found a byte order mark",
       "line 1, column 1 (byte 0)"),
    NO("UTF-16 is refused", "\xff\xfe[\0]\0", "expected a value, found the byte 0xff", "line 1, column 1 (byte 0)"),

    /* ---- must be refused ---- */
    NO("no value", "", "expected a value, found the end of the text", "line 1, column 1 (byte 0)"),
    NO("no value", "  \n ", "expected a value, found the end of the text", "line 2, column 2 (byte 4)"),
    NO("no value", "\0", "expected a value, found the byte 0x00", "line 1, column 1 (byte 0)"),
    NO("two values", "1 2", "expected the end of the text, found '2'", "line 1, column 3 (byte 2)"),
    NO("two values", "{}{}", "expected the end of the text, found '{'", "line 1, column 3 (byte 2)"),
    NO("rubbish after the value", "[]]", "expected the end of the text, found ']'", "line 1, column 3 (byte 2)"),
    NO("rubbish after the value", "[]\0", "expected the end of the text, found the byte 0x00",
       "line 1, column 3 (byte 2)"),
    NO("rubbish after the value", "\"a\"x", "expected the end of the text, found 'x'", "line 1, column 4 (byte 3)"),
    NO("array: not closed", "[", "expected a value, found the end of the text", "line 1, column 2 (byte 1)"),
    NO("array: not closed", "[1", "expected ',' or ']', found the end of the text", "line 1, column 3 (byte 2)"),
    NO("array: not closed", "[1,", "expected a value, found the end of the text", "line 1, column 4 (byte 3)"),
    NO("array: trailing comma", "[1,]", "expected a value, found ']'", "line 1, column 4 (byte 3)"),
    NO("array: only a comma", "[,]", "expected a value, found ','", "line 1, column 2 (byte 1)"),
    NO("array: two commas", "[1,,2]", "expected a value, found ','", "line 1, column 4 (byte 3)"),
    NO("array: no comma", "[1 2]", "expected ',' or ']', found '2'", "line 1, column 4 (byte 3)"),
    NO("array: colon", "[\"a\":1]", "expected ',' or ']', found ':'", "line 1, column 5 (byte 4)"),
    NO("array: closed by a brace", "[1}", "expected ',' or ']', found '}'", "line 1, column 3 (byte 2)"),
    NO("object: not closed", "{", "expected a member name in double quotes or '}', found the end of the text",
       "line 1, column 2 (byte 1)"),
    NO("object: not closed", "{\"a\":1", "expected ',' or '}', found the end of the text", "line 1, column 7 (byte 6)"),
    NO("object: no value", "{\"a\"", "expected ':' after a member name, found the end of the text",
       "line 1, column 5 (byte 4)"),
    NO("object: no value", "{\"a\":}", "expected a value, found '}'", "line 1, column 6 (byte 5)"),
    NO("object: no colon", "{\"a\" 1}", "expected ':' after a member name, found '1'", "line 1, column 6 (byte 5)"),
    NO("object: two colons", "{\"a\"::1}", "expected a value, found ':'", "line 1, column 6 (byte 5)"),
    NO("object: trailing comma", "{\"a\":1,}", "expected a member name in double quotes after ',', found '}'",
       "line 1, column 8 (byte 7)"),
    NO("object: no comma", "{\"a\":1 \"b\":2}", "expected ',' or '}', found '\"'", "line 1, column 8 (byte 7)"),
    NO("object: name without quotes", "{a:1}", "expected a member name in double quotes or '}', found 'a'",
       "line 1, column 2 (byte 1)"),
    NO("object: name in single quotes", "{'a':1}", "expected a member name in double quotes or '}', found '''",
       "line 1, column 2 (byte 1)"),
    NO("object: number as name", "{1:1}", "expected a member name in double quotes or '}', found '1'",
       "line 1, column 2 (byte 1)"),
    NO("object: closed by a bracket", "{\"a\":1]", "expected ',' or '}', found ']'", "line 1, column 7 (byte 6)"),
    NO("number: leading zero", "01", "expected a number without leading zeros", "line 1, column 1 (byte 0)"),
    NO("number: leading zero", "[-012]", "expected a number without leading zeros", "line 1, column 3 (byte 2)"),
    NO("number: leading plus", "+1", "expected a value, found '+'", "line 1, column 1 (byte 0)"),
    NO("number: leading point", ".5", "expected a value, found '.'", "line 1, column 1 (byte 0)"),
    NO("number: trailing point", "1.", "expected a digit after the decimal point, found the end of the text",
       "line 1, column 3 (byte 2)"),
    NO("number: trailing point", "[1.]", "expected a digit after the decimal point, found ']'",
       "line 1, column 4 (byte 3)"),
    NO("number: point before the exponent", "1.e5", "expected a digit after the decimal point, found 'e'",
       "line 1, column 3 (byte 2)"),
    NO("number: only a minus", "-", "expected a digit after '-', found the end of the text",
       "line 1, column 2 (byte 1)"),
    NO("number: two minuses", "--1", "expected a digit after '-', found '-'", "line 1, column 2 (byte 1)"),
    NO("number: empty exponent", "1e", "expected a digit in the exponent, found the end of the text",
       "line 1, column 3 (byte 2)"),
    NO("number: empty exponent", "1e+", "expected a digit in the exponent, found the end of the text",
       "line 1, column 4 (byte 3)"),
    NO("number: two exponents", "1e5e5", "expected the end of the text, found 'e'", "line 1, column 4 (byte 3)"),
    NO("number: hexadecimal", "0x1F", "expected the end of the text, found 'x'", "line 1, column 2 (byte 1)"),
    NO("number: NaN", "NaN", "expected a value, found 'N'", "line 1, column 1 (byte 0)"),
    NO("number: Infinity", "[Infinity]", "expected a value, found 'I'", "line 1, column 2 (byte 1)"),
    NO("number: -Infinity", "-Infinity", "expected a digit after '-', found 'I'", "line 1, column 2 (byte 1)"),
    NO("number: letters after it", "[1a]", "expected ',' or ']', found 'a'", "line 1, column 3 (byte 2)"),
    NO("number: digits of another script", "[\xef\xbc\x91]", "expected a value, found the byte 0xef",
       "line 1, column 2 (byte 1)"),
    NO("number: separators", "[1_000]", "expected ',' or ']', found '_'", "line 1, column 3 (byte 2)"),
    NO("word: capitals", "[True]", "expected a value, found 'T'", "line 1, column 2 (byte 1)"),
    NO("word: cut", "[tru]", "expected a value, found 't'", "line 1, column 2 (byte 1)"),
    NO("word: longer", "[nulls]", "expected ',' or ']', found 's'", "line 1, column 6 (byte 5)"),
    NO("word: unknown", "undefined", "expected a value, found 'u'", "line 1, column 1 (byte 0)"),
    NO("comment", "[1/* one */]", "expected ',' or ']', found '/'", "line 1, column 3 (byte 2)"),
    NO("comment", "// one\n1", "expected a value, found '/'", "line 1, column 1 (byte 0)"),
    NO("comment", "1 # one", "expected the end of the text, found '#'", "line 1, column 3 (byte 2)"),
    NO("blank that is none", "[\x0c]", "expected a value, found the byte 0x0c", "line 1, column 2 (byte 1)"),
    NO("blank that is none", "[1\xc2\xa0]", "expected ',' or ']', found the byte 0xc2", "line 1, column 3 (byte 2)"),
    NO("blank that is none", "[1\xe2\x80\xa8]", "expected ',' or ']', found the byte 0xe2",
       "line 1, column 3 (byte 2)"),
    NO("string: not closed", "\"", "expected a closing quote for this string, found the end of the text",
       "line 1, column 1 (byte 0)"),
    NO("string: not closed", "[\"abc", "expected a closing quote for this string, found the end of the text",
       "line 1, column 2 (byte 1)"),
    NO("string: not closed", "[\"abc\\\"]", "expected a closing quote for this string, found the end of the text",
       "line 1, column 2 (byte 1)"),
    NO("string: single quotes", "['a']", "expected a value, found '''", "line 1, column 2 (byte 1)"),
    NO("string: without quotes", "[a]", "expected a value, found 'a'", "line 1, column 2 (byte 1)"),
    NO("string: raw line break", "[\"a\nb\"]",
       "expected control characters in a string as escapes, found the byte 0x0a", "line 1, column 4 (byte 3)"),
    NO("string: raw tab", "[\"\t\"]", "expected control characters in a string as escapes, found the byte 0x09",
       "line 1, column 3 (byte 2)"),
    NO("string: raw NUL", "[\"a\0\"]", "expected control characters in a string as escapes, found the byte 0x00",
       "line 1, column 4 (byte 3)"),
    NO("string: raw 0x1f", "[\"\x1f\"]", "expected control characters in a string as escapes, found the byte 0x1f",
       "line 1, column 3 (byte 2)"),
    NO("escape: unknown", "[\"\\a\"]", "expected one of \" \\ / b f n r t u after the backslash, found 'a'",
       "line 1, column 4 (byte 3)"),
    NO("escape: \\x", "[\"\\x41\"]", "expected one of \" \\ / b f n r t u after the backslash, found 'x'",
       "line 1, column 4 (byte 3)"),
    NO("escape: capital U", "[\"\\U0041\"]", "expected one of \" \\ / b f n r t u after the backslash, found 'U'",
       "line 1, column 4 (byte 3)"),
    NO("escape: NUL after it", "[\"\\\0\"]",
       "expected one of \" \\ / b f n r t u after the backslash, found the byte 0x00", "line 1, column 4 (byte 3)"),
    NO("escape: cut", "\"\\", "expected an escape after the backslash, found the end of the text",
       "line 1, column 3 (byte 2)"),
    NO("escape: too few digits", "[\"\\u00A\"]", "expected four hexadecimal digits after \\u",
       "line 1, column 3 (byte 2)"),
    NO("escape: too few digits", "\"\\u00", "expected four hexadecimal digits after \\u", "line 1, column 2 (byte 1)"),
    NO("escape: wrong digits", "[\"\\u00G0\"]", "expected four hexadecimal digits after \\u",
       "line 1, column 3 (byte 2)"),
    NO("escape: wrong digits after a high half", "[\"\\ud800\\u00G0\"]", "expected four hexadecimal digits after \\u",
       "line 1, column 9 (byte 8)"),
    NO("escape: cut after a high half", "[\"\\ud800\\u\"]", "expected four hexadecimal digits after \\u",
       "line 1, column 9 (byte 8)"),
    NO("UTF-8: continuation alone", "[\"\x80\"]", "expected UTF-8 in a string, found the byte 0x80",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: character cut", "[\"\xc3\"]", "expected UTF-8 in a string, found the byte 0xc3",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: character cut", "[\"\xe2\x82\"]", "expected UTF-8 in a string, found the byte 0xe2",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: character cut", "[\"\xf0\x9f\x98\"]", "expected UTF-8 in a string, found the byte 0xf0",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: character cut by the end", "\"\xe2\x82", "expected UTF-8 in a string, found the byte 0xe2",
       "line 1, column 2 (byte 1)"),
    NO("UTF-8: overlong", "[\"\xc0\xaf\"]", "expected UTF-8 in a string, found the byte 0xc0",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: overlong", "[\"\xc1\xbf\"]", "expected UTF-8 in a string, found the byte 0xc1",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: overlong", "[\"\xe0\x80\xaf\"]", "expected UTF-8 in a string, found the byte 0xe0",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: overlong", "[\"\xf0\x80\x80\xaf\"]", "expected UTF-8 in a string, found the byte 0xf0",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: overlong NUL", "[\"\xc0\x80\"]", "expected UTF-8 in a string, found the byte 0xc0",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: above U+10FFFF", "[\"\xf4\x90\x80\x80\"]", "expected UTF-8 in a string, found the byte 0xf4",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: five bytes", "[\"\xf8\x88\x80\x80\x80\"]", "expected UTF-8 in a string, found the byte 0xf8",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: raw high surrogate", "[\"\xed\xa0\x80\"]", "expected UTF-8 in a string, found the byte 0xed",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: raw low surrogate", "[\"\xed\xbf\xbf\"]", "expected UTF-8 in a string, found the byte 0xed",
       "line 1, column 3 (byte 2)"),
    NO("UTF-8: raw pair in six bytes", "[\"\xed\xa0\xbd\xed\xb8\x80\"]",
       "expected UTF-8 in a string, found the byte 0xed", "line 1, column 3 (byte 2)"),
    NO("UTF-8: raw half after an escaped one", "[\"\\ud83d\xed\xb8\x80\"]",
       "expected UTF-8 in a string, found the byte 0xed", "line 1, column 9 (byte 8)"),
    NO("UTF-8: Latin-1", "[\"caf\xe9\"]", "expected UTF-8 in a string, found the byte 0xe9",
       "line 1, column 6 (byte 5)"),
    NO("UTF-8: 0xff", "[\"\xff\"]", "expected UTF-8 in a string, found the byte 0xff", "line 1, column 3 (byte 2)"),
    NO("UTF-8: bad outside strings", "[1,\xe9]", "expected a value, found the byte 0xe9", "line 1, column 4 (byte 3)"),
    NO("UTF-8: bad in a name", "{\"\xff\":1}", "expected UTF-8 in a string, found the byte 0xff",
       "line 1, column 3 (byte 2)"),
    NO("a place in several lines", "{\n  \"caf\xc3\xa9\": [1,\n\t2 3]}", "expected ',' or ']', found '3'",
       "line 3, column 4 (byte 20)"),
    NO("lone half and an error behind it", "[\"\\ud800\",]", "expected a value, found ']'",
       "line 1, column 11 (byte 10)"),
    /* clang-format on */
};

TEST(json_read_classes_of_texts)
{
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wj_syntax seen;
        yyjson_val *v = NULL;

        test_note("case %zu, %s", i, cases[i].class);
        int r = wj_read(&a, cases[i].text, NULL, &v, &err);
        CHECK(r != -UPP_ENOMEM);
        if (cases[i].msg) {
            CHECK_INT(r, -UPP_EINVALID);
            ALWAYS(!v);
            CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
            CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
            CHECK_INT(wj_syntax(cases[i].text, WJ_MAX_DEPTH, &seen, NULL), -UPP_EINVALID);
            continue;
        }
        CHECK_INT(r, 0);
        CHECK_INT(wj_syntax(cases[i].text, WJ_MAX_DEPTH, &seen, NULL), 0);
        CHECK_INT(wj_write(v, &b, &err), 0);
        CHECK_STR(wb_buf_str(&b), cases[i].out ? wb_cstr(cases[i].out) : cases[i].text);
    }
}

TEST(json_read_every_prefix_of_a_text_is_refused)
{
    static const char whole[] = "{\"a\":[1,-2.5e+3,\"x\\n\\ud83d\\ude00\\ud800\xc3\xa9\",true,false,null,{}],\"b\":[]}";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        /* On the heap and of the exact size, for ASan to see a read behind it. */
        char *cut = malloc(n ? n : 1);
        yyjson_val *v;
        if (cut)
            memcpy(cut, whole, n);
        test_note("%zu bytes", n);
        int r = cut ? wj_read(&a, wb_str(cut, n), NULL, &v, NULL) : -UPP_ENOMEM;
        free(cut);
        CHECK_INT(r, -UPP_EINVALID);
    }
}

TEST(json_read_keeps_what_the_header_promises_of_values)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("{\"n\":12.50,\"s\":\"a\\u0000\\ud800\",\"n\":[]}"), NULL, &v, NULL) == 0);
    CHECK(yyjson_is_obj(v) && yyjson_obj_size(v) == 3);
    yyjson_val *n = yyjson_obj_get(v, "n"), *s = yyjson_obj_get(v, "s");
    CHECK(yyjson_is_raw(n));
    CHECK_STR(wb_str(yyjson_get_raw(n), yyjson_get_len(n)), UPP_STR("12.50"));
    CHECK_STR(wb_str(yyjson_get_str(s), yyjson_get_len(s)), UPP_STR("a\0\xed\xa0\x80"));
    CHECK(n == v + 2 && s == v + 4); /* in a row, names and values */
}

TEST(json_read_no_text_and_limits)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *v = NULL;
    struct upp_err err = {0};
    CHECK_INT(wj_read(&a, (struct upp_str){0}, NULL, &v, &err), -UPP_EINVALID);
    CHECK_INT(wj_read(&a, UPP_STR("[1,2]"), UPP_OPTS(wj_read_opts, .max_bytes = 4), &v, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("expected at most 4 bytes of JSON, found 5"));
    CHECK_INT(wj_read(&a, UPP_STR("[1,2]"), UPP_OPTS(wj_read_opts, .max_bytes = 5), &v, &err), 0);
    v = NULL;

    CHECK_INT(wj_read(&a, UPP_STR("[[[1]]]"), UPP_OPTS(wj_read_opts, .depth = 2), &v, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("nested deeper than 2 levels"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("line 1, column 3 (byte 2)"));
    ALWAYS(!v);
    CHECK_INT(wj_read(&a, UPP_STR("[[],[1,2,3],[{}]]"), UPP_OPTS(wj_read_opts, .depth = 2), &v, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.where), UPP_STR("line 1, column 14 (byte 13)"));
    CHECK_INT(wj_read(&a, UPP_STR("[[],[1,2,3],{}]"), UPP_OPTS(wj_read_opts, .depth = 2), &v, &err), 0);
    CHECK_INT(wj_read(&a, UPP_STR("7"), UPP_OPTS(wj_read_opts, .depth = 1), &v, &err), 0);

    CHECK_INT(wj_read(&a, UPP_STR("\xef\xbb\xbf[1]"), UPP_OPTS(wj_read_opts, .flags = WJ_SKIP_BOM), &v, &err), 0);
    CHECK_INT(
        wj_read(&a, UPP_STR("\xef\xbb\xbf\xef\xbb\xbf[1]"), UPP_OPTS(wj_read_opts, .flags = WJ_SKIP_BOM), &v, &err),
        -UPP_EINVALID);
}

TEST(json_read_stays_inside_the_arena)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 10);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    yyjson_val *v = NULL;
    struct upp_err err = {0};
    wb_buf_addc(&b, '[');
    for (int i = 0; i < 20000; i++)
        wb_buf_add(&b, UPP_STR("0,"));
    wb_buf_add(&b, UPP_STR("0]"));
    CHECK_INT(wj_read(&a, wb_buf_str(&b), NULL, &v, &err), -UPP_ELIMIT);
    ALWAYS(!v);
    wb_arena_reset(&a);
    CHECK_INT(wj_read(&a, UPP_STR("[0]"), NULL, &v, &err), 0);
}

/* yyjson guesses how many values a text has, so that a dense one grows: within the chunk of the arena, out of it, and
 * never within it. What was read before must stay as it is. */
TEST(json_read_documents_that_grow)
{
    enum { TEXTS = 14 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 16);
    yyjson_val *v[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        wb_buf_clear(&text);
        wb_buf_addc(&text, '[');
        for (size_t k = 0; k < (size_t)1 << i; k++)
            wb_buf_add(&text, k ? UPP_STR(",7") : UPP_STR("7"));
        wb_buf_addc(&text, ']');
        CHECK(wb_buf_check(&text, NULL) == 0);
        CHECK(wj_read(&a, wb_buf_str(&text), NULL, &v[i], NULL) == 0);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        ALWAYS(yyjson_arr_size(v[i]) == (size_t)1 << i);
        yyjson_val *item;
        yyjson_arr_iter it = yyjson_arr_iter_with(v[i]);
        while ((item = yyjson_arr_iter_next(&it)))
            ALWAYS(yyjson_is_raw(item) && wb_str_eq(wj_text(item), UPP_STR("7")));
    }
}

/* Depth at its limits: exactly, one more, and far more; arrays and objects; closed and not. */
TEST(json_read_depth)
{
    static const struct {
        size_t levels;
        unsigned limit;
        const char *open, *close;
        int r;
    } depths[] = {
        {127, 0, "[", "]", 0},
        {128, 0, "[", "]", 0},
        {129, 0, "[", "]", -UPP_ELIMIT},
        {128, 0, "{\"a\":[", "]}", -UPP_ELIMIT},
        {64, 0, "{\"a\":[", "]}", 0},
        {65, 0, "{\"a\":[", "]}", -UPP_ELIMIT},
        {129, 0, "[0,", ",0]", -UPP_ELIMIT},
        {128, 0, "[0,", ",0]", 0},
        {1024, 1024, "[", "]", 0},
        {1025, 1024, "[", "]", -UPP_ELIMIT},
        {1025, 5000, "[", "]", -UPP_ELIMIT},
        {100000, 0, "[", "]", -UPP_ELIMIT},
        {100000, 0, "[", "", -UPP_ELIMIT},
        {100000, 0, "{\"a\":", "", -UPP_ELIMIT},
        {100, 0, "[", "", -UPP_EINVALID},
    };
    for (size_t i = 0; i < WB_LEN(depths); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(32u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4u << 20), out = WB_BUF(4u << 20);
        yyjson_val *v;
        test_note("case %zu", i);
        for (size_t k = 0; k < depths[i].levels; k++)
            wb_buf_add(&b, wb_cstr(depths[i].open));
        if (depths[i].close[0] == ',')
            wb_buf_addc(&b, '0');
        for (size_t k = 0; k < depths[i].levels; k++)
            wb_buf_add(&b, wb_cstr(depths[i].close));
        CHECK(wb_buf_check(&b, NULL) == 0);
        struct wj_read_opts opts = {.size = sizeof opts, .depth = depths[i].limit};
        CHECK_INT(wj_read(&a, wb_buf_str(&b), &opts, &v, NULL), depths[i].r);
        if (depths[i].r == 0) {
            CHECK(wj_write(v, &out, NULL) == 0);
            CHECK_STR(wb_buf_str(&out), wb_buf_str(&b));
        }
    }
}

/* ---- Hostile texts: linear in memory and time --------------------------------------------------- */

static size_t high, live;

static void *peak_alloc(size_t n)
{
    size_t *p = malloc(n + 16);
    if (!p)
        return NULL;
    p[0] = n;
    live += n;
    high = WB_MAX(high, live);
    return p + 2;
}

static void peak_release(void *q)
{
    size_t *p = (size_t *)q - 2;
    live -= p[0];
    free(p);
}

static void *peak_resize(void *q, size_t n)
{
    size_t *p = (size_t *)q - 2, old = p[0];
    p = realloc(p, n + 16);
    if (!p)
        return NULL;
    p[0] = n;
    live += n - old;
    high = WB_MAX(high, live);
    return p + 2;
}

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What one text cost: peak memory for each byte of it, and time. */
static bool cost_of(struct upp_str text, int want, double *factor, double *seconds)
{
    struct wb_arena a = WB_ARENA(SIZE_MAX);
    yyjson_val *v;
    high = live = 0;
    double began = cpu_s();
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .max_bytes = SIZE_MAX / 64), &v, NULL);
    *seconds = cpu_s() - began;
    wb_arena_done(&a);
    *factor = ((double)high - 8192) / (double)text.n;
    return r == want && live == 0;
}

static struct upp_str hostile(const char *head, const char *body, const char *tail, size_t n)
{
    size_t k = strlen(body), count = n / k, at = strlen(head);
    char *p = malloc(at + count * k + strlen(tail) + 1);
    if (!p)
        abort();
    memcpy(p, head, at);
    for (size_t i = 0; i < count; i++, at += k)
        memcpy(p + at, body, k);
    strcpy(p + at, tail); /* NOLINT: room was made for it */
    return wb_str(p, at + strlen(tail));
}

TEST_WITH(json_read_hostile_texts_cost_linear_time_and_memory,
          .no_torture = "it replaces the table that injects faults", .seconds = 120)
{
    static const struct {
        const char *name, *head, *body, *tail;
        int r;
    } texts[] = {
        {"open arrays", "", "[", "", -UPP_ELIMIT},
        {"open objects", "", "{\"\":", "", -UPP_ELIMIT},
        {"tiny numbers", "[0", ",0", "]", 0},
        {"tiny numbers, spaced", "[ 0", ",0", "]", 0},
        {"tiny arrays", "[0", ",[]", "]", 0},
        {"tiny objects", "[0", ",{}", "]", 0},
        {"tiny members", "{\"\":0", ",\"\":0", "}", 0},
        {"duplicate members", "{\"name\":0", ",\"name\":0", "}", 0},
        {"one long number", "1", "9", "", 0},
        {"one long exponent", "1e1", "9", "", 0},
        {"one long string", "\"", "x", "\"", 0},
        {"one string of escapes", "\"", "\\n", "\"", 0},
        {"one string of NULs", "\"", "\\u0000", "\"", 0},
        {"one string of lone halves", "\"", "\\ud800", "\"", 0},
        {"one string of pairs", "\"", "\\ud83d\\ude00", "\"", 0},
        {"only blanks", "", " ", "", -UPP_EINVALID},
        {"blanks and a value", "", "\n", "0", 0},
        {"a quote never closed", "\"", "\\\"", "", -UPP_EINVALID},
        {"bad at the very end", "[0", ",0", "}", -UPP_EINVALID},
    };
    struct upp_hooks before = *wb_hooks();
    struct upp_hooks mine = before;
    mine.alloc = peak_alloc;
    mine.resize = peak_resize;
    mine.release = peak_release;
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        double factor = 0, small = 0, large = 0;
        struct upp_str one = hostile(texts[i].head, texts[i].body, texts[i].tail, 1u << 18);
        struct upp_str ten = hostile(texts[i].head, texts[i].body, texts[i].tail, 10u << 18);
        bool ok = upp_global_init(&mine, NULL) == 0 && cost_of(one, texts[i].r, &factor, &small) &&
                  cost_of(ten, texts[i].r, &factor, &large);
        int back = upp_global_init(&before, NULL);
        free((void *)(uintptr_t)one.p);
        free((void *)(uintptr_t)ten.p);
        test_note("%s: %.1f bytes a byte, %.4f s and %.4f s", texts[i].name, factor, small, large);
        CHECK(back == 0 && ok);
        CHECK(factor <= 13.0);                /* read.h */
        CHECK(large < 10 * 8 * small + 0.05); /* ten times the text; 8: room for a slow moment */
    }
}

TEST(json_read_unique_names)
{
    static const struct {
        const char *text, *where;
    } texts[] = {
        {"{\"a\":1,\"b\":2}", NULL},
        {"{\"a\":1,\"b\":2,\"a\":3}", "/a"},
        {"[1,{\"x\":{\"q~/\":1,\"r\":2,\"q~/\":3}}]", "/1/x/q~0~1"},
        {"[{\"a\":1},{\"a\":1}]", NULL},
        {"{\"\\u0061\":1,\"a\":2}", "/a"},
        {"{\"a\":1,\"A\":2,\"\":3,\" \":4}", NULL},
        {"{\"m00\":0,\"m01\":0,\"m02\":0,\"m03\":0,\"m04\":0,\"m05\":0,\"m06\":0,\"m07\":0,\"m08\":0,\"m09\":0,"
         "\"m10\":0,\"m11\":0,\"m12\":0,\"m13\":0}",
         NULL},
        {"{\"m00\":0,\"m01\":0,\"m02\":0,\"m03\":0,\"m04\":0,\"m05\":0,\"m06\":0,\"m07\":0,\"m08\":0,\"m09\":0,"
         "\"m10\":0,\"m11\":0,\"m12\":0,\"m03\":0}",
         "/m03"},
    };
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        yyjson_val *v;
        test_note("case %zu", i);
        int r = wj_read(&a, wb_cstr(texts[i].text), UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, &err);
        CHECK_INT(r, texts[i].where ? -UPP_EINVALID : 0);
        if (texts[i].where) {
            CHECK_STR(wb_cstr(err.where), wb_cstr(texts[i].where));
            CHECK_STR(wb_cstr(err.msg), UPP_STR("expected each member once, found a second one of this name"));
        }
    }
}

/* As many bytes as there may be where nobody says otherwise, and one more, which is not looked at. */
TEST_WITH(json_read_has_a_limit_of_bytes, .no_torture = "16 MiB a run")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(14 * (size_t)WJ_MAX_BYTES);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(WJ_MAX_BYTES);
    struct upp_err err = {0};
    yyjson_val *v = NULL;
    CHECK(wb_buf_reserve(&text, WJ_MAX_BYTES));
    memset(text.p, '0', WJ_MAX_BYTES);
    text.n = WJ_MAX_BYTES;
    memcpy(text.p, "[\"", 2);
    memcpy(text.p + text.n - 2, "\"]", 2);
    CHECK_INT(wj_read(&a, wb_buf_str(&text), NULL, &v, &err), 0);
    CHECK(yyjson_get_len(yyjson_arr_get_first(v)) == WJ_MAX_BYTES - 4);
    CHECK(wj_is_compact(wb_buf_str(&text), NULL) && !wj_is_compact(wb_str(text.p, text.n + 1), NULL));
    CHECK_INT(wj_read(&a, wb_str(text.p, text.n + 1), NULL, &v, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("expected at most 16777216 bytes of JSON, found 16777217"));
}
