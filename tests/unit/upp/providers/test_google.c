/* What talk files cannot say of the Gemini adapter. covers: UPP-13d */
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/reader.h"
#include "support/test.h"
#include "upp/providers/google.h"
#include "upp/providers/google_args.h"
#include "upp/providers/call_id.h"

static const struct upp_part hi = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("Hi")};
static const struct upp__vendor at_its_own = {.adapter = &upp__google,
                                              .provider = "google",
                                              .model = UPP_STR_INIT("gemini-x"),
                                              .base_url = UPP_STR_INIT("https://h")};

/* Writes a request of one message. */
static int write_one(struct writing *w, const struct upp__vendor *v, uint8_t role, const struct upp_part *parts,
                     size_t n, bool whole, struct upp_err *err)
{
    struct upp_part copy[8];
    struct upp_message m = {.role = role, .parts = copy, .n_parts = n};
    memcpy(copy, parts, n * sizeof *parts);
    const struct upp_message *list[] = {&m};
    struct upp_request req = {.messages = list, .n_messages = 1, .whole = whole};
    return writing_write(w, v, &req, err);
}

TEST(google_address_holds_model_and_method)
{
    static const struct {
        const char *base, *version, *model;
        bool whole;
        const char *url;
    } cases[] = {
        {"https://h", NULL, "gemini-x", true, "https://h/v1beta/models/gemini-x:generateContent"},
        {"https://h", NULL, "gemini-x", false, "https://h/v1beta/models/gemini-x:streamGenerateContent?alt=sse"},
        {"https://h/v1beta/", NULL, "gemini-x", true, "https://h/v1beta/models/gemini-x:generateContent"},
        {"https://h", "v1", "gemini-x", true, "https://h/v1/models/gemini-x:generateContent"},
        {"https://h/v1", "v1", "gemini-x", true, "https://h/v1/models/gemini-x:generateContent"},
        {"https://h", NULL, "models/gemini-x", true, "https://h/v1beta/models/gemini-x:generateContent"},
        {"https://h", NULL, "tunedModels/mine", true, "https://h/v1beta/tunedModels/mine:generateContent"},
        {"https://h", NULL, "a b?c#d%e:f\xc3\xa9", true,
         "https://h/v1beta/models/a%20b%3Fc%23d%25e%3Af%C3%A9:generateContent"},
        {"https://h/v1beta/models/gemini-x", NULL, "gemini-x", true,
         "https://h/v1beta/models/gemini-x:generateContent"},
        {"https://h/p/models/m:generateContent", NULL, "x", false,
         "https://h/p/models/m:streamGenerateContent?alt=sse"},
        {"https://h/p/models/m:streamGenerateContent?alt=sse", NULL, "x", false,
         "https://h/p/models/m:streamGenerateContent?alt=sse"},
        {"https://h?tenant=7", NULL, "x", true, "https://h/v1beta/models/x:generateContent?tenant=7"},
        {"https://h/?tenant=7", NULL, "x", false, "https://h/v1beta/models/x:streamGenerateContent?tenant=7&alt=sse"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp__vendor v = at_its_own;
        struct upp_err err = {0};
        v.base_url = wb_cstr(cases[i].base);
        v.api_version = wb_cstr(cases[i].version);
        v.model = wb_cstr(cases[i].model);
        WB_CLEANUP(writing_done) struct writing w;
        test_note("case %zu", i);
        CHECK(write_one(&w, &v, UPP_ROLE_USER, &hi, 1, cases[i].whole, &err) == 0);
        CHECK_STR(w.out.url, wb_cstr(cases[i].url));
    }
}

TEST(google_key_goes_as_auth_says)
{
    static const struct {
        const char *auth, *name, *value;
    } cases[] = {{"", "x-goog-api-key", "KEY"},
                 {"x-goog-api-key", "x-goog-api-key", "KEY"},
                 {"bearer", "authorization", "Bearer KEY"},
                 {"x-api-key", NULL, NULL}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp__vendor v = at_its_own;
        struct upp_err err = {0};
        v.auth = wb_cstr(cases[i].auth);
        WB_CLEANUP(writing_done) struct writing w;
        int r = write_one(&w, &v, UPP_ROLE_USER, &hi, 1, true, &err);
        test_note("case %zu", i);
        if (!cases[i].name) {
            CHECK_INT(r, -UPP_EINVALID);
            continue;
        }
        CHECK(r == 0 && w.out.n_headers == 2);
        CHECK_STR(w.out.headers[1].name, wb_cstr(cases[i].name));
        CHECK_STR(w.out.headers[1].value, wb_cstr(cases[i].value));
    }
}

/* Only where the name says that it is of the third generation, or later. */
TEST(google_signs_calls_of_others_for_models_that_want_it)
{
    static const struct {
        const char *model;
        bool signs;
    } cases[] = {{"gemini-3-pro-preview", true}, {"gemini-3.1-flash", true},  {"models/gemini-3-pro", true},
                 {"gemini-10-ultra", true},      {"gemini-2.5-flash", false}, {"gemini-flash-latest", false},
                 {"gemma-3-27b", false},         {"gemini-", false},          {"learnlm", false}};
    const struct upp_part call = {
        .kind = UPP_PART_CALL, .id = UPP_STR("a"), .name = UPP_STR("f"), .text = UPP_STR("not JSON")};
    const struct upp_part two[] = {call, call};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp__vendor v = at_its_own;
        struct upp_err err = {0};
        v.model = wb_cstr(cases[i].model);
        WB_CLEANUP(writing_done) struct writing w;
        CHECK(write_one(&w, &v, UPP_ROLE_ASSISTANT, two, 2, true, &err) == 0);
        struct upp_str body = wb_buf_str(&w.out.body), word = UPP_STR("thoughtSignature");
        size_t first = wb_str_find(body, word, 0);
        test_note("case %zu", i);
        CHECK((first != SIZE_MAX) == cases[i].signs);
        CHECK(first == SIZE_MAX || wb_str_find(body, word, first + 1) == SIZE_MAX); /* the first call alone */
        CHECK(wb_str_find(body, UPP_STR("\"args\":{\"INVALID_JSON\":\"not JSON\"}"), 0) != SIZE_MAX);
    }
}

TEST(google_metadata_of_a_part_goes_onto_it)
{
    const struct upp_media video = {.source = UPP_SOURCE_URL, .data = UPP_STR("https://youtu.be/x")};
    const struct upp_part parts[] = {
        {.kind = UPP_PART_VIDEO,
         .media = &video,
         .metadata = UPP_STR("{\"google\":{\"videoMetadata\":{\"fps\":1},\"fileData\":1},\"other\":{\"x\":1}}")},
        {.kind = UPP_PART_TEXT, .text = UPP_STR("What?"), .metadata = UPP_STR("{\"google\":{\"y\":2}}")},
    };
    WB_CLEANUP(writing_done) struct writing w;
    struct upp_err err = {0};
    CHECK(write_one(&w, &at_its_own, UPP_ROLE_USER, parts, 2, true, &err) == 0);
    CHECK_STR(wb_buf_str(&w.out.body),
              UPP_STR("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"fileData\":{\"fileUri\":\"https://youtu.be/x\"},"
                      "\"videoMetadata\":{\"fps\":1}},{\"text\":\"What?\",\"y\":2}]}]}"));
}

/* Of the user's own it is refused, with its place; of what was said before it is lost, and told. */
TEST(google_media_without_a_type)
{
    const struct upp_media bytes = {.source = UPP_SOURCE_BASE64, .data = UPP_STR("AAAA")};
    const struct upp_part parts[] = {hi, {.kind = UPP_PART_BINARY, .media = &bytes}, {.kind = UPP_PART_IMAGE}};
    struct upp_err err = {0};
    {
        WB_CLEANUP(writing_done) struct writing w;
        CHECK_INT(write_one(&w, &at_its_own, UPP_ROLE_USER, parts, 3, true, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg),
                  UPP_STR("message 0, part 1 (binary): Google wants to know the type of the data, and it has none"));
    }
    WB_CLEANUP(writing_done) struct writing w;
    CHECK(write_one(&w, &at_its_own, UPP_ROLE_ASSISTANT, parts, 3, true, &err) == 0);
    CHECK_STR(wb_buf_str(&w.out.body), UPP_STR("{\"contents\":[{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]}]}"));
}

/* ---- Ids ------------------------------------------------------------------------------------- */

TEST(google_minted_ids_are_never_the_same)
{
    WB_CLEANUP(reading_done) struct reading g;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    struct upp_str one, two;
    struct upp_err err = {0};
    yyjson_val *v;
    CHECK(reading_init(&g, &upp__google, "gemini-x"));
    CHECK(upp__call_id_new(&g.r, &one, &err) == 0 && upp__call_id_new(&g.r, &two, &err) == 0);
    CHECK(!wb_str_eq(one, two) && upp__call_id_is_ours(one) && upp__call_id_is_ours(two));
    CHECK(wj_read(&a, wb_arena_printf(&a, "[%.*s]", UPP_FMT(wb_buf_str(&g.r.own_ids))), NULL, &v, &err) == 0);
    CHECK(upp__call_id_listed(v, one) && upp__call_id_listed(v, two) && !upp__call_id_listed(v, UPP_STR("call_1")));
    CHECK(!upp__call_id_listed(NULL, one) && !upp__call_id_is_ours(UPP_STR("call_1")) &&
          !upp__call_id_is_ours(UPP_STR("")));
    CHECK(!upp__call_id_is_ours(UPP_STR("call_0123456789abcdef0123456789abcdeg")));
}

TEST(google_ids_have_a_limit)
{
    WB_CLEANUP(reading_done) struct reading g;
    struct upp_err err = {0};
    CHECK(reading_init(&g, &upp__google, "gemini-x"));
    g.r.own_ids.max = 60;
    struct upp_str call = UPP_STR("{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\"}}]}}]}");
    CHECK(reading_event(&g, call, &err) == 0);
    reading_taken(&g);
    CHECK_INT(reading_event(&g, call, &err), -UPP_ELIMIT);
}

/* ---- What is kept ---------------------------------------------------------------------------- */

TEST(google_what_is_kept_has_a_limit)
{
    static const char *const events[] = {
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"0123456789\"}]}}]}",
        "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"a\",\"name\":\"f\"}}]}}]}",
        "{\"usageMetadata\":{\"promptTokenCount\":1234567890}}",
    };
    for (size_t i = 0; i < WB_LEN(events); i++) {
        WB_CLEANUP(reading_done) struct reading g;
        struct upp_err err = {0};
        CHECK(reading_init(&g, &upp__google, "gemini-x"));
        struct upp__google_own *own = g.r.own;
        own->text.max = own->raw.max = own->usage.max = i ? 40 : 25;
        int r = 0;
        for (unsigned k = 0; k < 3 && r == 0; k++) {
            r = reading_event(&g, wb_cstr(events[i]), &err);
            reading_taken(&g);
        }
        test_note("case %zu", i);
        CHECK_INT(r, -UPP_ELIMIT);
        CHECK(err.code == UPP_ELIMIT && err.msg[0]);
    }
}

/* ---- Arguments in pieces --------------------------------------------------------------------- */

/* Adds pieces, given as an array, and writes what they make. */
static int assemble(const char *json, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    yyjson_val *v, *piece;
    struct wj_writer w;
    int r = wj_read(&a, wb_cstr(json), NULL, &v, err);
    struct upp__google_args *args = upp__google_args_new(&a);
    if (r < 0 || !args)
        return r < 0 ? r : wb_arena_check(&a, err);
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    while (r == 0 && (piece = yyjson_arr_iter_next(&it)))
        r = upp__google_args_add(args, piece, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, out, err);
    upp__google_args_write(args, &w);
    return wj_writer_check(&w);
}

TEST(google_args_come_together)
{
    static const struct {
        const char *pieces, *whole;
    } cases[] = {
        {"[]", "{}"},
        {"[{\"jsonPath\":\"$.a\"}]", "{}"},
        {"[{\"jsonPath\":\"$.a\",\"stringValue\":\"x\"},{\"jsonPath\":\"$.b\",\"numberValue\":1.50},"
         "{\"jsonPath\":\"$.a\",\"stringValue\":\"y\"}]",
         "{\"a\":\"xy\",\"b\":1.50}"},
        {"[{\"jsonPath\":\"$.a.b.c\",\"boolValue\":false},{\"jsonPath\":\"$.a.d\",\"nullValue\":null}]",
         "{\"a\":{\"b\":{\"c\":false},\"d\":null}}"},
        {"[{\"jsonPath\":\"$.a[2]\",\"numberValue\":3},{\"jsonPath\":\"$.a[0]\",\"stringValue\":\"\"},"
         "{\"jsonPath\":\"$.a[1].x[0]\",\"boolValue\":true}]",
         "{\"a\":[\"\",{\"x\":[true]},3]}"},
        {"[{\"jsonPath\":\"$['a.b']\",\"numberValue\":1},{\"jsonPath\":\"$[\\\"c d\\\"][\'e]\']\",\"numberValue\":2}]",
         "{\"a.b\":1,\"c d\":{\"e]\":2}}"},
        {"[{\"jsonPath\":\"$.h\",\"stringValue\":\"\\ud83d\"},{\"jsonPath\":\"$.h\",\"stringValue\":\"\\ude00\"}]",
         "{\"h\":\"\xf0\x9f\x98\x80\"}"},
        {"[{\"jsonPath\":\"$.n\",\"numberValue\":1},{\"jsonPath\":\"$.n\",\"numberValue\":22}]", "{\"n\":22}"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK(assemble(cases[i].pieces, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(cases[i].whole));
    }
}

TEST(google_args_refuse_places_that_are_none)
{
    static const char *const paths[] = {
        "",     "$",     "a",      "$a",   "$.",   "$..a",  "$.a[",   "$.a[]", "$.a[x]", "$.a[-1]",
        "$['a", "$['a'", "$['a'x", "$.a.", "$[0]", "$.t.x", "$.t[0]", "$.o",   "$.o[0]", "$.a[99999999999999999999]"};
    for (size_t i = 0; i < WB_LEN(paths); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
        struct upp_err err = {0};
        char pieces[256];
        (void)snprintf(pieces, sizeof pieces,
                       "[{\"jsonPath\":\"$.t\",\"stringValue\":\"x\"},{\"jsonPath\":\"$.o.x\",\"numberValue\":1},"
                       "{\"jsonPath\":\"%s\",\"numberValue\":1}]",
                       paths[i]);
        test_note("case %zu", i);
        CHECK_INT(assemble(pieces, &b, &err), -UPP_EPROTO);
    }
}

TEST(google_args_have_limits)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf deep = WB_BUF(1 << 16);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    struct upp_err err = {0};
    CHECK_INT(assemble("[{\"jsonPath\":\"$.a[16384]\",\"numberValue\":1}]", &b, &err), -UPP_ELIMIT);
    CHECK_INT(assemble("[{\"jsonPath\":\"$.a[4000000000]\",\"numberValue\":1}]", &b, &err), -UPP_ELIMIT);
    CHECK(assemble("[{\"jsonPath\":\"$.a[16000]\",\"numberValue\":1}]", &b, &err) == 0);
    for (unsigned levels = WJ_MAX_DEPTH - 1; levels <= WJ_MAX_DEPTH; levels++) {
        wb_buf_clear(&deep);
        wb_buf_add(&deep, UPP_STR("[{\"jsonPath\":\"$"));
        for (unsigned i = 0; i < levels; i++)
            wb_buf_add(&deep, UPP_STR(".a"));
        wb_buf_add(&deep, UPP_STR("\",\"numberValue\":1}]"));
        wb_buf_addc(&deep, 0);
        CHECK(!deep.failed);
        wb_buf_clear(&b);
        CHECK_INT(assemble(deep.p, &b, &err), levels < WJ_MAX_DEPTH ? 0 : -UPP_ELIMIT);
    }
}

/* Places that are looked for from the beginning, again and again: an answer of a few MB must not take minutes. */
TEST_WITH(google_args_in_no_order_have_a_limit, .no_torture = "thousands of pieces that do the same")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    struct upp_err err = {0};
    wb_buf_add(&in, UPP_STR("[{\"jsonPath\":\"$.a[16000]\",\"numberValue\":1}"));
    for (unsigned i = 0; i < 2000; i++)
        wb_buf_add(&in, UPP_STR(",{\"jsonPath\":\"$.a[15999]\",\"numberValue\":1}"));
    wb_buf_addc(&in, ']');
    wb_buf_addc(&in, 0);
    CHECK(!in.failed);
    CHECK_INT(assemble(in.p, &b, &err), -UPP_ELIMIT);
}
