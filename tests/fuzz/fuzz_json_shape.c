/* fuzz/fuzz_json_shape.c — whatever is read by a shape: problems that are gathered are there when the first one is an
 * error, and a plan finds what a search row by row finds.
 */
#include "fuzz/fuzz.h"
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

static void same_node(const struct wj_node *a, const struct wj_node *b)
{
    REQUIRE(a->shape == b->shape && a->from == b->from && a->seen == b->seen && a->null == b->null);
    REQUIRE(a->order == b->order);
}

static void same_text(struct upp_str a, struct upp_str b)
{
    REQUIRE(a.p == b.p && a.n == b.n);
}

static void same_messages(const struct message *a, const struct message *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        same_node(&a[i].node, &b[i].node);
        same_text(a[i].id, b[i].id);
        same_text(a[i].text, b[i].text);
        same_text(a[i].vendor_id, b[i].vendor_id);
        REQUIRE(a[i].role == b[i].role && a[i].metadata.n == b[i].metadata.n);
        REQUIRE(!a[i].usage == !b[i].usage && a[i].parts.n == b[i].parts.n && a[i].replies.n == b[i].replies.n);
        if (a[i].usage)
            same_node(&a[i].usage->node, &b[i].usage->node);
        for (size_t k = 0; k < a[i].parts.n; k++)
            same_node(&a[i].parts.p[k].node, &b[i].parts.p[k].node);
        same_messages(a[i].replies.p, b[i].replies.p, a[i].replies.n);
    }
}

FUZZ(json_shape)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct upp_err err = {0};
    struct told told = {0};
    struct wj_plans plans = {.ordered = true};
    struct chat c, planned;
    yyjson_val *v;
    if (wj_read(&a, in, NULL, &v, &err) < 0)
        return;
    int strict = WJ_DECODE(&a, chat, v, NULL, &c, &err);
    struct wj_decode_opts opts = {
        .size = sizeof opts, .problem = count_problem, .ctx = &told, .max_problems = 1u << 30};
    REQUIRE(strict == 0 || err.msg[0]);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    int r = WJ_DECODE(&a, chat, v, &opts, &c, &err);
    if (!yyjson_is_obj(v)) {
        REQUIRE(r == -UPP_EINVALID && strict == r);
        return;
    }
    REQUIRE(r >= 0 && (unsigned)r == told.n && (r == 0) == (strict == 0));
    opts.plans = &plans;
    REQUIRE(WJ_DECODE(&a, chat, v, &opts, &planned, &err) == r);
    same_node(&c.node, &planned.node);
    same_text(c.id, planned.id);
    same_text(c.title, planned.title);
    REQUIRE(c.version == planned.version && c.state == planned.state);
    REQUIRE(c.tags.n == planned.tags.n && c.messages.n == planned.messages.n);
    same_messages(c.messages.p, planned.messages.p, c.messages.n);
}
