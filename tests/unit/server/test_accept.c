#include "server/http/reply.h"

#include "support/test.h"

TEST(accept_weighs_media_types)
{
    static const struct {
        const char *accept;
        bool json; /* rather than HTML */
    } cases[] = {
        {"application/json", true},
        {"APPLICATION/JSON", true},
        {"text/html, application/json", false},
        {"text/html;q=0.5, application/json", true},
        {"text/html;q=0.5,application/json;q=0.51", true},
        {"text/html;q=0.51,application/json;q=0.5", false},
        {"text/html ; level=1 ; Q=0.123 , application/json; charset=utf-8; q=0.124", true},
        {"application/json;q=0", false},
        {"application/json;q=0.000, text/html;q=0", false},
        {"*/*;q=0.1, application/json;q=0", false},
        {"*/*", false},
        {"application/*", true},
        {"application/*;q=0.5, */*", false},
        {"application/json, text/plain, */*", true},                                /* as axios asks */
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false}, /* as browsers do */
        {"text/html, */*", false},
        {"application/json;q=half, text/html;q=0.9", true}, /* no weight */
        {"application/json;q=1.5.5, text/html", false},
        {"application/jsonl", false},
        {"application", false},
        {"/*", false},
        {",;,", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_note("%s", cases[i].accept);
        CHECK(sv_accept_prefers(wb_cstr(cases[i].accept), "application/json", "text/html") == cases[i].json);
    }
    CHECK(!sv_accept_prefers((struct upp_str){NULL, 0}, "application/json", "text/html"));
}
