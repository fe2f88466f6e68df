#include "server/http/body.h"

#include "base/defs.h"
#include "support/test.h"

struct asked {
    struct sv_http http;
    struct sv_exchange x;
    struct sv_body b;
};

static const char *const known[] = {"a", "b", NULL};

static void donep(struct asked *q)
{
    sv_reply_done(&q->x.reply);
    wb_arena_done(&q->x.arena);
    sv_http_done(&q->http);
}

static int reads(struct asked *q, const char *text, struct upp_err *err)
{
    sv_http_init(&q->http, NULL);
    q->x = (struct sv_exchange){.request = &q->http, .arena = WB_ARENA(1u << 20)};
    wb_buf_add(&q->http.body, wb_cstr(text));
    int r = wb_buf_check(&q->http.body, err);
    sv_reply_init(&q->x.reply);
    return r < 0 ? r : sv_body_read(&q->x, known, &q->b, err);
}

TEST(body_is_an_object_or_nothing)
{
    static const struct {
        const char *text;
        int r;
        const char *where;
    } cases[] = {
        {"", 0, ""},
        {" \r\n ", 0, ""},
        {"{}", 0, ""},
        {"{\"a\":{\"b\":1,\"b\":1}}", -UPP_EINVALID, "/a/b"},
        {"[]", -UPP_EINVALID, ""},
        {"null", -UPP_EINVALID, ""},
        {"\"x\"", -UPP_EINVALID, ""},
        {"{", -UPP_EINVALID, "line 1, column 2 (byte 1)"},
        {"{}{}", -UPP_EINVALID, "line 1, column 3 (byte 2)"},
        {"{\"a\":\"\xff\"}", -UPP_EINVALID, "line 1, column 7 (byte 6)"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct asked q;
        struct upp_err err = {0};
        test_note("%s", cases[i].text);
        CHECK_INT(reads(&q, cases[i].text, &err), cases[i].r);
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
    }
}

/* Too deep is the client's fault: not a limit that passes when it tries again. */
TEST(body_too_deep_is_invalid)
{
    WB_CLEANUP(donep) struct asked q;
    char deep[1024];
    struct upp_err err = {0};
    memcpy(deep, "{\"a\":", 5);
    memset(deep + 5, '[', sizeof deep - 6);
    deep[sizeof deep - 1] = 0;
    CHECK_INT(reads(&q, deep, &err), -UPP_EINVALID);
    CHECK_INT(err.code, UPP_EINVALID);
}

TEST(body_members)
{
    WB_CLEANUP(donep) struct asked q;
    struct upp_err err = {0};
    struct upp_str s;
    yyjson_val *v = NULL;
    bool t = false;
    CHECK_INT(reads(&q, "{\"s\":\"x\",\"t\":true,\"o\":{\"in/ner\":[1]},\"a\":[1.50,null],\"n\":null}", &err), 0);
    yyjson_val *root = q.b.root;
    CHECK_INT(sv_body_str(&q.b, root, UPP_STR("s"), &s, &err), 1);
    CHECK_STR(s, UPP_STR("x"));
    CHECK_INT(sv_body_bool(&q.b, root, UPP_STR("t"), &t, &err), 1);
    CHECK(t);
    CHECK_INT(sv_body_object(&q.b, root, UPP_STR("o"), &v, &err), 1);
    CHECK_INT(sv_body_str(&q.b, v, UPP_STR("in/ner"), &s, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/o/in~1ner"));
    CHECK_INT(sv_body_array(&q.b, root, UPP_STR("a"), &v, &err), 1);
    CHECK_INT(sv_body_text(&q.x.arena, v, &s, &err), 0);
    CHECK_STR(s, UPP_STR("[1.50,null]"));
    CHECK_INT(sv_body_text(&q.x.arena, NULL, &s, &err), 0);
    CHECK(!s.p);
    /* Null is absent, for all of them; so is what is not there, and everything where there is no body. */
    static const char *const none[] = {"n", "nothing"};
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(sv_body_str(&q.b, root, wb_cstr(none[i]), &s, &err), 0);
        CHECK_INT(sv_body_bool(&q.b, root, wb_cstr(none[i]), &t, &err), 0);
        CHECK_INT(sv_body_object(&q.b, root, wb_cstr(none[i]), &v, &err), 0);
        CHECK_INT(sv_body_array(&q.b, root, wb_cstr(none[i]), &v, &err), 0);
    }
    CHECK_INT(sv_body_str(&q.b, NULL, UPP_STR("s"), &s, &err), 0);
    /* Of another kind. */
    CHECK_INT(sv_body_str(&q.b, root, UPP_STR("t"), &s, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/t"));
    CHECK_INT(sv_body_bool(&q.b, root, UPP_STR("s"), &t, &err), -UPP_EINVALID);
    CHECK_INT(sv_body_object(&q.b, root, UPP_STR("a"), &v, &err), -UPP_EINVALID);
    CHECK_INT(sv_body_array(&q.b, root, UPP_STR("o"), &v, &err), -UPP_EINVALID);
}

/* Members that the route does not know are named in a header: at most 16, and only names that fit one. */
TEST(body_reports_what_it_ignores)
{
    static const struct {
        const char *text, *header;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", ""},
        {"{\"a\":1,\"temperature\":0.5,\"b\":2,\"top_p\":1}", "weft-ignored: temperature, top_p\r\n"},
        {"{\"x\\r\\nset-cookie: y\":1,\"\":2,\"ok\":3}", "weft-ignored: ?, ?, ok\r\n"},
        {"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":1,\"13\":1,"
         "\"14\":1,"
         "\"15\":1,\"16\":1,\"17\":1,\"18\":1}",
         "weft-ignored: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...\r\n"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct asked q;
        struct upp_err err = {0};
        CHECK_INT(reads(&q, cases[i].text, &err), 0);
        CHECK_STR(wb_buf_str(&q.x.reply.headers), wb_cstr(cases[i].header));
    }
}
