#include "json/regex.h"

#include <stdio.h>

#include "base/buf.h"
#include "support/test.h"

enum { PLENTY = 100000000 };

/* 1: a match, 0: none, < 0: the pattern was refused, see err. */
static int find(struct upp_str pattern, struct upp_str text, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    WB_CLEANUP(wj_regex_room_done) struct wj_regex_memory room = {0};
    struct wj_regex x = {0};
    uint64_t budget = PLENTY;
    int r = wj_regex_new(&a, pattern, &x, err);
    if (r == 0)
        r = wj_regex_room_init(&room, x.n, err);
    return r < 0 ? r : wj_regex_find(&x, text, &room, &budget);
}

TEST(json_regex_finds_what_it_should)
{
    static const struct {
        const char *pattern;
        const char *yes, *no; /* texts that have a match and that have none, separated by '|'; NULL: there are none */
    } rows[] = {
        {"", "|a|abc", NULL},
        {"b", "b|abc", "|a|ac"},
        {"^b", "b|bc", "|ab"},
        {"b$", "b|ab", "|bc|b\n"},
        {"^b$", "b", "|bb|ab"},
        {"^$", "", "a| "},
        {"a.c",
         "abc|a\tc|a\xe2\x82\xac"
         "c",
         "ac|a\nc|a\rc|a\xe2\x80\xa8"
         "c"},
        {"^a*$", "|a|aaaa", "b|aab"},
        {"^a+$", "a|aaaa", "|b"},
        {"^a?b$", "b|ab", "|aab|a"},
        {"^a*?b+?c??$", "ab|b|aabbc", "a|ac"},
        {"^a{3}$", "aaa", "aa|aaaa|"},
        {"^a{2,}$", "aa|aaa", "a|"},
        {"^a{2,4}$", "aa|aaa|aaaa", "a|aaaaa"},
        {"^a{0,2}$", "|a|aa", "aaa"},
        {"^a{0}b$", "b", "ab"},
        {"^(ab){2}$", "abab", "ab|ababab|aab"},
        {"^(a{2}){2,3}$", "aaaa|aaaaaa", "aaaaa|aa"},
        {"^(a|b)*c$", "c|abac", "abd|"},
        {"^(a|bc|)$", "a|bc|", "b|ac"},
        {"^(?:ab|c)+$", "ab|cab", "|b"},
        {"^(?<name>a)b$", "ab", "a"},
        {"a|^b|c$", "a|ba|xc|xax", "xb|cx"},
        {"^(a*)*$", "|aaa", "b"},
        {"^(a*|b)+$", "|aabb", "c"},
        {"^(()|a)+$", "|aa", "b"},
        {"^[abc]$", "a|b|c", "d||ab"},
        {"^[^abc]$", "d|\xf0\x9f\x98\x80|\n", "a|"},
        {"^[a-cx-z]$", "a|b|z|x", "d|w|-"},
        {"^[a-]$", "a|-", "b"},
        {"^[-a]$", "a|-", "b"},
        {"^[]$", NULL, "a|"},
        {"^[^]$", "a|\n", "|ab"},
        {"^[.*+?(){}$^]+$", ".|*+?|$^", "a"},
        {"^[\\]\\\\\\-]+$", "]|\\|-", "a|["},
        {"^[\\d_]+$", "0|9_1", "a|"},
        {"^[^\\d]$", "a|_", "7"},
        {"^[\\D]$", "a", "7"},
        {"^[\\s\\S]$", "a| |\n", "|aa"},
        {"^[a-\\d]+$", "a-7", "b"},
        {"^[\\b]$", "\b", "b"},
        {"^\\d{4}-\\d{2}$", "2026-11", "2026-1|x2026-11|\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa6-11"},
        {"^\\w+$", "aZ_09", "a-b|\xc3\xa9|"},
        {"^\\W$", "-|\xc3\xa9", "a|_"},
        {"^\\s$", " |\t|\xc2\xa0|\xe2\x80\x83|\xef\xbb\xbf", "a|\xe2\x80\x8b|"},
        {"^\\S+$", "ab|\xc3\xa9", "a b|"},
        {"\\bcat\\b", "cat|a cat.|the cat", "cats|scat|_cat"},
        {"\\Bcat", "scat|_cat", "cat|a cat"},
        {"^\\t\\n\\v\\f\\r\\x41\\u00e9\\u{1F600}\\cA\\/\\.$", "\t\n\v\f\rA\xc3\xa9\xf0\x9f\x98\x80\x01/.", "x"},
        {"^\\ud83d\\ude00$", "\xf0\x9f\x98\x80", "\xed\xa0\xbd"},
        {"^\\ud83d$", "\xed\xa0\xbd", "\xf0\x9f\x98\x80"},
        {"^.$", "\xf0\x9f\x98\x80|\xed\xa0\xbd|\xc3\xa9", "\xc3\xa9\xc3\xa9"},
        {"^[\xf0\x9f\x98\x80-\xf0\x9f\x98\x82]$", "\xf0\x9f\x98\x81", "\xf0\x9f\x98\x83"},
        {"^a{$", "a{", "a"},
        {"^a{,3}$", "a{,3}", "aaa"},
        {"^}]$", "}]", "}"},
        {"^[\\w.+-]+@[\\w-]+\\.[\\w.-]+$", "a.b+c@d-e.org", "a@b|@b.c"},
        {"^(https?|ftp)://[^\\s/$.?#].[^\\s]*$", "https://a.b/c|ftp://x.y", "gopher://a.b|http:// "},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++)
        for (int want = 0; want < 2; want++) {
            struct upp_str rest = wb_cstr(want ? rows[i].yes : rows[i].no), text;
            while (rest.p && wb_str_split(&rest, '|', &text)) {
                struct upp_err err = {0};
                test_note("/%s/ with '%.*s': %s", rows[i].pattern, UPP_FMT(text), err.msg);
                CHECK_INT(find(wb_cstr(rows[i].pattern), text, &err), want);
            }
        }
    CHECK_INT(find(UPP_STR("^a\\0\\x00b$"), UPP_STR("a\0\0b"), NULL), 1);
    CHECK_INT(find(UPP_STR("a\\|b"), UPP_STR("a|b"), NULL), 1);
}

TEST(json_regex_says_what_it_refuses_and_where)
{
    static const struct {
        struct upp_str pattern;
        const char *msg;
    } rows[] = {
        {UPP_STR_INIT("a(?=b)"), "character 5: lookaround is not supported"},
        {UPP_STR_INIT("(?!b)"), "character 4: lookaround is not supported"},
        {UPP_STR_INIT("(?<=b)"), "character 5: lookaround is not supported"},
        {UPP_STR_INIT("(?<!b)"), "character 5: lookaround is not supported"},
        {UPP_STR_INIT("(?i:b)"), "character 2: this kind of group is not supported"},
        {UPP_STR_INIT("(a)\\1"), "character 6: backreferences are not supported"},
        {UPP_STR_INIT("\\k<a>"), "character 3: backreferences are not supported"},
        {UPP_STR_INIT("\\00"), "character 3: backreferences are not supported"},
        {UPP_STR_INIT("\\p{L}"), "character 3: classes by Unicode property (\\p) are not supported"},
        {UPP_STR_INIT("[\\P{L}]"), "character 4: classes by Unicode property (\\p) are not supported"},
        {UPP_STR_INIT("\\a"), "character 3: there is no such escape"},
        {UPP_STR_INIT("\\\xc3\xa9"), "character 3: there is no such escape"},
        {UPP_STR_INIT("a\\"), "character 3: expected something after the backslash"},
        {UPP_STR_INIT("\\x4"), "character 3: expected two hexadecimal digits after \\x"},
        {UPP_STR_INIT("\\u12g4"), "character 3: expected four hexadecimal digits after \\u"},
        {UPP_STR_INIT("\\u{110000}"), "character 10: \\u{...} is no character"},
        {UPP_STR_INIT("\\u{}"), "character 4: \\u{...} is no character"},
        {UPP_STR_INIT("[a"), "character 3: expected ']' for this class"},
        {UPP_STR_INIT("[b-a]"), "character 5: a range in a class ends before it begins"},
        {UPP_STR_INIT("(a"), "character 3: expected ')' for a group"},
        {UPP_STR_INIT("(?<a"), "character 5: expected '>' after the name of a group"},
        {UPP_STR_INIT("\xc3\xa9)"), "character 2: a ')' that closes nothing"},
        {UPP_STR_INIT("*a"), "character 1: there is nothing to repeat before this"},
        {UPP_STR_INIT("a|+"), "character 3: there is nothing to repeat before this"},
        {UPP_STR_INIT("{2}"), "character 1: there is nothing to repeat before this"},
        {UPP_STR_INIT("a**"), "character 3: there is nothing to repeat before this"},
        {UPP_STR_INIT("^*"), "character 3: there is nothing to repeat before this"},
        {UPP_STR_INIT("\\b+"), "character 4: there is nothing to repeat before this"},
        {UPP_STR_INIT("a{3,2}"), "character 7: the most of a quantifier is less than its least"},
        {UPP_STR_INIT("a\xff"), "character 2: expected UTF-8"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        struct upp_err err = {0};
        test_note("/%.*s/", UPP_FMT(rows[i].pattern));
        CHECK_INT(find(rows[i].pattern, UPP_STR("a"), &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(rows[i].msg));
    }
}

/* A pattern made of n times `piece` between two others. */
static int find_many(const char *before, const char *piece, size_t n, const char *after, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    wb_buf_add(&b, wb_cstr(before));
    for (size_t i = 0; i < n; i++)
        wb_buf_add(&b, wb_cstr(piece));
    wb_buf_add(&b, wb_cstr(after));
    return b.failed ? -UPP_ENOMEM : find(wb_buf_str(&b), UPP_STR("a"), err);
}

TEST(json_regex_has_limits)
{
    struct upp_err err = {0};
    CHECK_INT(find_many("", "a?", WJ_REGEX_STEPS / 2 - 1, "", &err), 1);
    CHECK_INT(find_many("", "a?", WJ_REGEX_STEPS / 2, "", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the pattern needs more than 4096 steps"));
    CHECK_INT(find(UPP_STR("^a{0,4000}$"), UPP_STR("a"), &err), -UPP_ELIMIT);
    CHECK_INT(find(UPP_STR("^a{1,2000}$"), UPP_STR("a"), &err), 1);
    CHECK_INT(find(UPP_STR("(((a{20}){20}){20}){20}"), UPP_STR("a"), &err), -UPP_ELIMIT);
    CHECK_INT(find(UPP_STR("a{99999999999999999999}"), UPP_STR("a"), &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the pattern repeats more than 4096 times"));
    CHECK_INT(find(UPP_STR("(){4096}a"), UPP_STR("a"), &err), 1);
    CHECK_INT(find_many("[", "ac", WJ_REGEX_RANGES / 2, "]", &err), 1);
    CHECK_INT(find_many("[", "ac", WJ_REGEX_RANGES / 2, "e]", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the pattern needs more than 4096 ranges in classes"));
    CHECK_INT(
        find_many("", "(", WJ_REGEX_DEPTH, "a))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))", &err),
        1);
    CHECK_INT(find_many("", "(", WJ_REGEX_DEPTH + 1, "a", &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("the pattern has groups deeper than 64"));
}

/* Patterns that bring backtracking matchers down: each takes about the text times the pattern. */
TEST_WITH(json_regex_does_not_blow_up, .no_torture = "nothing but work")
{
    static const char *const patterns[] = {
        "^(a+)+$", "^(a|aa)+$", "^(a*)*b$", "(a?){30}a{30}$", "^(.*)*x$", "(.*,){11}P", "^([a-zA-Z0-9]+\\s?)*$"};
    enum { LENGTH = 50000 };
    static char text[LENGTH + 1];
    memset(text, 'a', LENGTH);
    text[LENGTH] = '!';
    for (size_t i = 0; i < WB_LEN(patterns); i++) {
        test_note("/%s/", patterns[i]);
        CHECK_INT(find(wb_cstr(patterns[i]), wb_str(text, LENGTH + 1), NULL), 0);
    }
    CHECK_INT(find(UPP_STR("^(a+)+!$"), wb_str(text, LENGTH + 1), NULL), 1);
}

TEST_WITH(json_regex_counts_its_rounds_past_16_bits, .no_torture = "nothing but work")
{
    enum { LENGTH = 70000 };
    static char text[LENGTH];
    memset(text, 'a', LENGTH);
    text[LENGTH - 1] = 'b';
    CHECK_INT(find(UPP_STR("^a*b$"), wb_str(text, LENGTH), NULL), 1);
    CHECK_INT(find(UPP_STR("c|^a*$"), wb_str(text, LENGTH), NULL), 0);
}

TEST(json_regex_stops_when_the_budget_is_spent)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wj_regex_room_done) struct wj_regex_memory room = {0};
    struct wj_regex x;
    struct upp_str text = UPP_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    uint64_t budget = 1000;
    CHECK(wj_regex_new(&a, UPP_STR("(a|b|c)+d"), &x, NULL) == 0 && wj_regex_room_init(&room, x.n, NULL) == 0);
    CHECK_INT(wj_regex_find(&x, text, &room, &budget), 0);
    CHECK(budget > 0 && budget < 900);
    budget = 50;
    CHECK_INT(wj_regex_find(&x, text, &room, &budget), -UPP_ELIMIT);
    CHECK_INT(budget, 0);
}

static bool found_at(const char *pattern, const char *text, size_t from, size_t want_start, size_t want_end)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wj_regex_room_done) struct wj_regex_memory room = {0};
    struct wj_regex x;
    uint64_t budget = PLENTY;
    size_t start = 0, end = 0;
    if (!EXPECT(wj_regex_new(&a, wb_cstr(pattern), &x, NULL) == 0 && wj_regex_room_init(&room, x.n, NULL) == 0))
        return false;
    test_note("/%s/ in '%s' from %zu", pattern, text, from);
    int r = wj_regex_where(&x, wb_cstr(text), from, &room, &budget, &start, &end);
    return EXPECT(r == (want_end > want_start)) && EXPECT(!r || (start == want_start && end == want_end));
}

TEST(json_regex_says_where_a_match_is)
{
    CHECK(found_at("b+", "abbbc", 0, 1, 4));
    CHECK(found_at("b+", "abbbc", 2, 2, 4));
    CHECK(found_at("b+", "abbbc", 4, 0, 0));
    CHECK(found_at("a|ab|abc", "xabcd", 0, 1, 4)); /* the longest */
    CHECK(found_at("^a", "aa", 1, 0, 0));          /* the front is that of the text */
    CHECK(found_at("\\bb", "ab b", 0, 3, 4));
    CHECK(found_at("c$", "cc", 0, 1, 2));
    CHECK(found_at("x*", "aaxx", 0, 2, 4)); /* nothing is no match */
    CHECK(found_at("x*", "aa", 0, 0, 0));
    CHECK(found_at(".", "\xe2\x82\xac!", 0, 0, 3)); /* characters, not bytes */
}

TEST(json_regex_where_stops_when_the_budget_is_spent)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wj_regex_room_done) struct wj_regex_memory room = {0};
    struct wj_regex x;
    uint64_t budget = 200;
    size_t start, end;
    CHECK(wj_regex_new(&a, UPP_STR("(a|b)+c"), &x, NULL) == 0 && wj_regex_room_init(&room, x.n, NULL) == 0);
    CHECK_INT(wj_regex_where(&x, UPP_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 0, &room, &budget, &start, &end),
              -UPP_ELIMIT);
}
