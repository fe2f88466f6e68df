/* fuzz/fuzz_json_shape.c — what shapes read they write back, token for token.
 *
 * Collected problems or none, the object that comes out encodes to the tokens that went in. Edits of it encode to
 * something that reads as those edits.
 */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "fuzz/tokens.h"
#include "json/compare.h"
#include "json/read.h"
#include "support/chat.h"

struct told {
    unsigned n;
};

static void count_problem(void *ctx, const char *pointer, const char *sentence)
{
    struct told *told = ctx;
    REQUIRE(pointer && sentence && sentence[0]);
    REQUIRE_SHOWN(pointer);
    REQUIRE_SHOWN(sentence);
    told->n++;
}

static void round_trip(struct wb_arena *a, const struct chat *c, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b   = WB_BUF(64u << 20);
    struct upp_err                        err = {0};
    yyjson_val                           *w;
    REQUIRE(WJ_ENCODE(chat, c, &b, &err) == 0);
    REQUIRE(wj_read(a, wb_buf_str(&b), NULL, &w, &err) == 0);
    REQUIRE(same_tokens(v, w));
    REQUIRE(wj_equal(v, w, &err) == 1);
}

/* A few edits that must come back. */
static void edit(struct wb_arena *a, struct chat *c)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b   = WB_BUF(64u << 20);
    struct upp_err                        err = {0};
    struct chat                           d;
    yyjson_val                           *w;
    c->title  = UPP_STR("edited");
    c->tags.p = NULL;
    WJ_SET(c, version, 42);
    for (size_t i = 0; i < c->messages.n; i++) {
        struct message *m = &c->messages.p[i];
        m->text           = UPP_STR("\xed\xa0\x80");
        m->parts.p        = NULL;
        m->metadata.p     = NULL;
        WJ_SET(m, role, ROLE_TOOL);
    }
    REQUIRE(WJ_ENCODE(chat, c, &b, &err) == 0);
    REQUIRE(wj_read(a, wb_buf_str(&b), NULL, &w, &err) == 0);
    REQUIRE(WJ_DECODE(a, chat, w, NULL, &d, &err) == 0);
    REQUIRE(wb_str_eq(d.title, c->title) && d.version == 42 && d.messages.n == c->messages.n);
    for (size_t i = 0; i < d.messages.n; i++)
        REQUIRE(wb_str_eq(d.messages.p[i].text, UPP_STR("\xed\xa0\x80")) && d.messages.p[i].role == ROLE_TOOL);
}

FUZZ(json_shape)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(256u << 20);
    struct upp_err                            err  = {0};
    struct told                               told = {0};
    struct chat                               c;
    yyjson_val                               *v;
    if (wj_read(&a, in, NULL, &v, &err) < 0)
        return;
    int                   strict = WJ_DECODE(&a, chat, v, NULL, &c, &err);
    struct wj_decode_opts opts   = {
          .size = sizeof opts, .problem = count_problem, .ctx = &told, .max_problems = 1u << 30};
    if (strict == 0)
        round_trip(&a, &c, v);
    else
        REQUIRE(err.msg[0]);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    int r = WJ_DECODE(&a, chat, v, &opts, &c, &err);
    if (!yyjson_is_obj(v)) {
        REQUIRE(r == -UPP_EINVALID && strict == r);
        return;
    }
    REQUIRE(r >= 0 && (unsigned)r == told.n && (r == 0) == (strict == 0));
    round_trip(&a, &c, v);
    if (r == 0)
        edit(&a, &c);
}
