#include "server/http/body.h"

#include "base/defs.h"
#include "support/test.h"

struct asked {
    struct sv_http     http;
    struct sv_exchange x;
    struct sv_body     b;
};

static void donep(struct asked *q)
{
    wb_arena_done(&q->x.arena);
    sv_http_done(&q->http);
}

static int reads(struct asked *q, const char *text, struct upp_err *err)
{
    sv_http_init(&q->http, NULL);
    q->x = (struct sv_exchange){.request = &q->http, .arena = WB_ARENA(1u << 20)};
    wb_buf_add(&q->http.body, wb_cstr(text));
    int r = wb_buf_check(&q->http.body, err);
    return r < 0 ? r : sv_body_read(&q->x, &q->b, err);
}

TEST(body_is_an_object_or_nothing)
{
    static const struct {
        const char *text;
        int         r;
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
        struct upp_err                 err = {0};
        test_note("%s", cases[i].text);
        CHECK_INT(reads(&q, cases[i].text, &err), cases[i].r);
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
    }
}

/* Too deep is the client's fault: not a limit that passes when it tries again. */
TEST(body_too_deep_is_invalid)
{
    WB_CLEANUP(donep) struct asked q;
    char                           deep[1024];
    struct upp_err                 err = {0};
    memcpy(deep, "{\"a\":", 5);
    memset(deep + 5, '[', sizeof deep - 6);
    deep[sizeof deep - 1] = 0;
    CHECK_INT(reads(&q, deep, &err), -UPP_EINVALID);
    CHECK_INT(err.code, UPP_EINVALID);
}

TEST(body_members)
{
    WB_CLEANUP(donep) struct asked q;
    struct upp_err                 err = {0};
    struct upp_str                 s;
    yyjson_val                    *v = NULL;
    bool                           t = false;
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
