/* The options of a run as doors read them: by other names, with the limits of metadata. */
#include "server/doors/options.h"

#include "base/defs.h"
#include "support/test.h"

struct asked {
    struct sv_http http;
    struct sv_exchange x;
    struct sv_body b;
};

static const char *const known[] = {SV_OPTIONS, "max_tokens", NULL};

static void donep(struct asked *q)
{
    sv_reply_done(&q->x.reply);
    wb_arena_done(&q->x.arena);
    sv_http_done(&q->http);
}

static int reads(struct asked *q, const char *text, const struct sv_alias *aliases, struct upp_str *ret,
                 struct upp_err *err)
{
    sv_http_init(&q->http, NULL);
    q->x = (struct sv_exchange){.request = &q->http, .arena = WB_ARENA(1u << 20)};
    wb_buf_add(&q->http.body, wb_cstr(text));
    int r = wb_buf_check(&q->http.body, err);
    sv_reply_init(&q->x.reply);
    if (r >= 0)
        r = sv_body_read(&q->x, known, &q->b, err);
    return r < 0 ? r : sv_options_read(&q->x, &q->b, q->b.root, UPP_STR("main"), aliases, ret, err);
}

TEST(options_have_other_names_at_other_doors)
{
    static const struct sv_alias aliases[] = {
        {"max_completion_tokens", "max_tokens"}, {"truncation_strategy", NULL}, {NULL, NULL}};
    static const struct {
        const char *text;
        const struct sv_alias *aliases;
        const char *want, *where; /* want NULL: there are none */
    } cases[] = {
        {"{}", NULL, NULL, NULL},
        {"{\"max_tokens\":5}", NULL, NULL, NULL},
        {"{\"max_tokens\":5,\"temperature\":null}", aliases, "{\"max_completion_tokens\":5}", NULL},
        {"{\"max_tokens\":5,\"max_completion_tokens\":6}", aliases, "{\"max_completion_tokens\":6}", NULL},
        {"{\"max_tokens\":0}", aliases, NULL, "/max_tokens"},
        {"{\"truncation_strategy\":7}", aliases, NULL, NULL},
        {"{\"truncation_strategy\":7}", NULL, NULL, "/truncation_strategy"},
        {"{\"metadata\":{\"actors\":[{\"id\":1}],\"parent_id\":null,\"a\":\"b\"}}", NULL,
         "{\"metadata\":{\"actors\":[{\"id\":1}],\"parent_id\":null,\"a\":\"b\"}}", NULL},
        {"{\"metadata\":{\"a\":[]}}", NULL, NULL, "/metadata/a"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(donep) struct asked q;
        struct upp_err err = {0};
        struct upp_str got = {0};
        test_note("%s", cases[i].text);
        CHECK_INT(reads(&q, cases[i].text, cases[i].aliases, &got, &err), cases[i].where ? -UPP_EINVALID : 0);
        CHECK_STR(got, wb_cstr(cases[i].want));
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where ? cases[i].where : ""));
    }
}
