/* Envelopes: what is read of one, how problems are reported, and those that we write. */
#include "base/str.h"
#include "dialects/core/convert.h"
#include "envelope/envelope.h"
#include "support/envelopes.h"
#include "support/test.h"

TEST(envelope_is_read)
{
    static const char more[] = ",\"agent\":{\"id\":\"i\",\"name\":\"n\",\"model\":\"m\"},\"inputs\":{\"context\":\"c\","
                               "\"resources\":[{\"type\":\"db\",\"id\":\"d\"}],"
                               "\"parameters\":{\"target\":\"x\"}},\"outputs\":{\"artifacts\":[{\"kind\":\"plan\","
                               "\"name\":\"p\"}],\"next_actions\":[{\"intent\":"
                               "\"plan\",\"task\":\"t\"}]},\"confidence\":{\"score\":0.25,\"rationale\":\"r\"},"
                               "\"trace\":{\"parents\":[\"p1\",\"p2\"],\"id\":\"me\","
                               "\"tags\":[\"t1\"],\"cost\":{\"input_tokens\":3,\"output_tokens\":4}},\"other\":1";
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    const char *text = envelopes_text(&a, "agent", "tool.call", more);
    CHECK(envelopes_read(&a, text, &e) >= 0);
    CHECK_STR(e.json, wb_cstr(text));
    CHECK(e.json.p != text); /* a copy */
    CHECK_INT(e.intent, WE_TOOL_CALL);
    CHECK_STR(e.role, UPP_STR("agent"));
    CHECK_STR(e.task, UPP_STR("Do it"));
    CHECK_STR(e.agent_id, UPP_STR("i"));
    CHECK_STR(e.model, UPP_STR("m"));
    CHECK_STR(e.context, UPP_STR("c"));
    CHECK_STR(e.id, UPP_STR("me"));
    CHECK_STR(we_parent(&e), UPP_STR("p2"));
    CHECK(we_has_tag(&e, UPP_STR("t1")) && !we_has_tag(&e, UPP_STR("t")));
    CHECK(e.has_score && e.score == 0.25 && !e.default_score && e.resources && e.artifacts && e.actions &&
          e.parameters);
    CHECK(e.has_cost && e.input_tokens == 3 && e.output_tokens == 4);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK(!e.has_score && !e.has_cost && !e.id.p && !e.parents && !e.tags && !e.context.p && !we_parent(&e).p);
}

TEST(envelope_problems_are_listed)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    struct we_envelope e, before = {.intent = 77};
    struct upp_err err = {0};
    struct upp_str text;
    static const char bad[] =
        "{\"protocol\":\"x\",\"role\":\"user\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent\":\"plan\","
        "\"task\":\"\",\"content\":{\"type\":\"text\"}}";
    e = before;
    CHECK_INT(we_read(&a, wb_cstr(bad), &p, &e, &err), -UPP_EINVALID);
    ALWAYS(e.intent == 77);
    CHECK_INT(p.errors, 2);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/protocol"));
    CHECK(we_write_error(&a, &(struct we_error){.code = "invalid", .text = wb_cstr(err.msg), .problems = &p}, &text,
                         NULL) >= 0);
    CHECK(we_read(&a, text, NULL, &e, NULL) >= 0);
    CHECK(wb_str_find(text, UPP_STR("\"problems\":[{\"pointer\":\"/protocol\",\"rule\":\"ENV-1.1\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(text, UPP_STR("\"pointer\":\"/task\""), 0) != SIZE_MAX);
    CHECK(we_is_error(&e) && e.has_score && e.score == 0);
    CHECK_INT(we_read(&a, UPP_STR("[]"), NULL, &e, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("an envelope must be an object"));
    CHECK_INT(we_read(&a, UPP_STR("{"), NULL, &e, &err), -UPP_EINVALID);
}

TEST(envelope_size_and_depth_are_limited)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
    struct we_envelope e;
    for (unsigned i = 0; i < WE_MAX_DEPTH; i++)
        wb_buf_addc(&b, '[');
    for (unsigned i = 0; i < WE_MAX_DEPTH; i++)
        wb_buf_addc(&b, ']');
    wb_buf_addc(&b, 0);
    CHECK(!b.failed);
    const char *deep = wb_arena_printf(&a, ",\"x\":%s", b.p).p;
    CHECK(deep != NULL);
    const char *text = envelopes_text(&a, "user", "plan", deep);
    CHECK(text != NULL);
    CHECK_INT(we_read(&a, wb_cstr(text), NULL, &e, NULL), -UPP_ELIMIT);
    wb_buf_clear(&b);
    CHECK(wb_buf_reserve(&b, WE_MAX_BYTES + 1));
    memset(b.p, ' ', WE_MAX_BYTES + 1);
    CHECK_INT(we_read(&a, wb_str(b.p, WE_MAX_BYTES + 1), NULL, &e, NULL), -UPP_ELIMIT);
}

/* covers: ENV-6/1, ENV-6/4 */
TEST(envelope_chain_is_full_or_direct)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    const struct upp_str *parents;
    size_t n;
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ",\"trace\":{\"parents\":[\"a\",\"b\"],\"id\":\"c\"}"),
                         &e) >= 0);
    CHECK(we_chain(&a, &e, false, &parents, &n, NULL) >= 0);
    CHECK_INT(n, 3);
    CHECK_STR(parents[0], UPP_STR("a"));
    CHECK_STR(parents[2], UPP_STR("c"));
    CHECK(we_chain(&a, &e, true, &parents, &n, NULL) >= 0);
    CHECK_INT(n, 1);
    CHECK_STR(parents[0], UPP_STR("c"));
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ",\"trace\":{\"tags\":[]}"), &e) >= 0);
    CHECK(we_chain(&a, &e, false, &parents, &n, NULL) >= 0);
    CHECK_INT(n, 0); /* never "unknown", never an object */
}

TEST(envelope_chain_is_limited)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct we_envelope e;
    const struct upp_str *parents;
    size_t n;
    wb_buf_add(&b, UPP_STR(",\"trace\":{\"id\":\"me\",\"parents\":[\"0\""));
    for (unsigned i = 1; i < 2000; i++)
        wb_buf_addf(&b, ",\"%u\"", i);
    wb_buf_add(&b, UPP_STR("]}"));
    wb_buf_addc(&b, 0);
    CHECK(!b.failed);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", b.p), &e) >= 0);
    CHECK(we_chain(&a, &e, false, &parents, &n, NULL) >= 0);
    CHECK_INT(n, WE_MAX_PARENTS);
    CHECK_STR(parents[n - 1], UPP_STR("me"));
    CHECK_STR(parents[n - 2], UPP_STR("1999"));
}

TEST(envelope_is_retraced)
{
    static const struct {
        const char *from, *to;
    } table[] = {
        {"", ",\"trace\":{\"parents\":[\"p\"],\"id\":\"new\",\"tags\":[\"x\"]}}"},
        {",\"trace\":{\"id\":\"o\",\"tags\":[\"x\"],\"cost\":{}},\"z\":1.50",
         ",\"trace\":{\"parents\":[\"p\"],\"id\":\"new\",\"tags\":[\"x\"],\"cost\":{}},\"z\":1.50}"},
        {",\"trace\":{\"parents\":[],\"y\":2}",
         ",\"trace\":{\"parents\":[\"p\"],\"id\":\"new\",\"y\":2,\"tags\":[\"x\"]}}"},
        {",\"trace\":{\"tags\":[\"a\"],\"id\":\"o\"}",
         ",\"trace\":{\"parents\":[\"p\"],\"tags\":[\"a\",\"x\"],\"id\":\"new\"}}"},
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    const struct upp_str p = UPP_STR_INIT("p"), x = UPP_STR_INIT("x");
    for (size_t i = 0; i < WB_LEN(table); i++) {
        struct we_envelope e;
        struct upp_str text;
        CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", table[i].from), &e) >= 0);
        CHECK(we_retrace(&a, &e, UPP_STR("new"), &p, 1, &x, 1, &text, NULL) >= 0);
        test_note("%s", text.p);
        CHECK(wb_str_ends(text, wb_cstr(table[i].to)));
        CHECK(we_read(&a, text, NULL, &e, NULL) >= 0);
    }
}

TEST(envelope_handshakes)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope h, e;
    struct we_peer peer;
    struct upp_str text;
    const char *why = NULL;
    CHECK(we_write_handshake(&a, &(struct we_announcement){.max_tokens = 16000}, &text, NULL) >= 0);
    CHECK(we_read(&a, text, NULL, &h, NULL) >= 0);
    CHECK(we_is_handshake(&h) && we_peer_read(&h, &peer) && peer.max_tokens == 16000 && peer.types == 31);
    CHECK(
        envelopes_read(&a,
                       "{\"protocol\":\"multiagent-1.0\",\"role\":\"system\",\"timestamp\":\"2026-01-02T03:04:05Z\","
                       "\"intent\":\"reflect\",\"task\":\"t\","
                       "\"content\":{\"type\":\"json\",\"data\":{\"supports\":[\"json\",\"new\"],\"max_tokens\":100}}}",
                       &h) >= 0);
    CHECK(we_peer_read(&h, &peer) && peer.types == 4);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK(!we_is_handshake(&e) && !we_peer_read(&e, &(struct we_peer){0}));
    CHECK(!we_peer_takes(&peer, &e, &why));
    CHECK_STR(wb_cstr(why), UPP_STR("it has not announced this content type"));
    peer.types |= 1;
    CHECK(we_peer_takes(&peer, &e, &why));
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ",\"inputs\":{\"parameters\":{\"max_tokens\":101}}"),
                         &e) >= 0);
    CHECK(!we_peer_takes(&peer, &e, &why));
}
