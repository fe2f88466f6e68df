#include "json/shape.h"

#include "base/buf.h"
#include "dialects/agentapi/agentapi.h"
#include "dialects/envelope/envelope.h"
#include "dialects/pydantic/pydantic.h"
#include "dialects/thread/thread.h"
#include "dialects/ui/doc.h"
#include "json/read.h"
#include "support/chat.h"
#include "support/test.h"

/* What a compiler cannot see. NULL, or a sentence. */
static const char *wrong_with(const struct wj_shape *s)
{
    if (s->n == 0 || s->n > WJ_ROWS)
        return "a shape has 1 to 64 rows";
    for (unsigned i = 0; i < s->n; i++) {
        const struct wj_field *f = &s->fields[i];
        if (f->off < sizeof(struct wj_node) || f->off + f->kind->size > s->size)
            return "a row is of another struct";
        if ((f->flags & F_OR) && (i + 1 == s->n || !wb_str_eq(f->name, f[1].name)))
            return "F_OR without a next row of the same name";
        if ((f->flags & (F_OR | F_ALIAS)) == (F_OR | F_ALIAS) && !(f[1].flags & F_ALIAS))
            return "F_OR from an alias to what is none";
        if (i == 0 && (f->flags & F_ALIAS))
            return "F_ALIAS without a row before it";
        if ((f->flags & F_BAD_ITEMS) && f->kind != &wj_kind_arr)
            return "F_BAD_ITEMS on what is no array";
        for (unsigned k = 0; k < i; k++)
            if (wb_str_eq(f->name, s->fields[k].name) && !(s->fields[i - 1].flags & F_OR))
                return "two rows of one name without F_OR";
    }
    return NULL;
}

TEST(shape_marks_belong_to_the_member)
{
    struct usage bare = {.input = 3}; /* of no shape: nothing is marked */
    CHECK(!WJ_IS_SET(&bare, input));
}

/* At file scope, as all tables: rows of arrays hold compound literals. */
struct odd {
    struct wj_node node;
    struct upp_str s;
    uint64_t i;
};
#define S(nm, fl) F_STR(struct odd, s, nm, fl)
static const struct wj_field alias_or[] = {S("a", 0), S("b", F_ALIAS | F_OR), S("b", 0)}, alone_or[] = {S("a", F_OR)},
                             or_other[] = {S("a", F_OR), S("b", 0)}, alias[] = {S("a", F_ALIAS)},
                             twice[] = {S("a", 0), S("b", 0), S("a", 0)}, items[] = {S("a", F_BAD_ITEMS)},
                             foreign[] = {F_STR(struct message, vendor_id, "a", 0)},
                             good[] = {S("a", F_OR), F_U64(struct odd, i, "a", 0), S("b", F_ALIAS)};
static const struct {
    struct wj_shape shape;
    const char *wrong;
} wrong_cases[] = {
    {{"s", good, WB_LEN(good), sizeof(struct odd)}, NULL},
    {{"s", good, 0, sizeof(struct odd)}, "a shape has 1 to 64 rows"},
    {{"s", good, 65, sizeof(struct odd)}, "a shape has 1 to 64 rows"},
    {{"s", alone_or, 1, sizeof(struct odd)}, "F_OR without a next row of the same name"},
    {{"s", or_other, 2, sizeof(struct odd)}, "F_OR without a next row of the same name"},
    {{"s", alias, 1, sizeof(struct odd)}, "F_ALIAS without a row before it"},
    {{"s", alias_or, 3, sizeof(struct odd)}, "F_OR from an alias to what is none"},
    {{"s", twice, 3, sizeof(struct odd)}, "two rows of one name without F_OR"},
    {{"s", items, 1, sizeof(struct odd)}, "F_BAD_ITEMS on what is no array"},
    {{"s", foreign, 1, sizeof(struct odd)}, "a row is of another struct"},
};
#undef S

TEST(shape_tables_are_checked)
{
    for (size_t i = 0; i < WB_LEN(wrong_cases); i++) {
        const char *wrong = wrong_with(&wrong_cases[i].shape);
        test_note("case %zu", i);
        CHECK_STR(wb_cstr(wrong), wb_cstr(wrong_cases[i].wrong));
    }
    static const struct wj_shape *const shapes[] = {
        &chat.of,         &message.of,     &usage.of,        &part.of,        &wd_ui_part.of,     &wd_ui_message.of,
        &wd_pai_usage.of, &wd_pai_part.of, &wd_pai_item.of,  &wd_tp_usage.of, &wd_pai_message.of, &wd_tp_message.of,
        &wd_tp_turn.of,   &wd_tp_agent.of, &wd_tp_thread.of, &wd_envelope.of, &wd_aap_content.of, &wd_aap_message.of,
    };
    for (size_t i = 0; i < WB_LEN(shapes); i++) {
        test_note("%s", shapes[i]->name);
        CHECK(!wrong_with(shapes[i]));
    }
}

/* Sixty-four rows, all of them seen, in and out of order. */
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)      EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
struct wide {
    struct wj_node node;
#define MEMBER(n) uint64_t m##n;
    ALL(MEMBER)
};
static const struct wj_field wide_rows[] = {
#define ROW(n) F_U64(struct wide, m##n, "m" #n, F_NULLABLE),
    ALL(ROW)};
WJ_SHAPE(wide, struct wide, wide_rows);

TEST(shape_of_64_rows)
{
    CHECK_INT(wide.of.n, 64);
    for (int step = 1; step < 64; step += 2) { /* each odd step goes through all 64 */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct wide w;
        yyjson_val *v;
        for (int i = 0; i < 64; i++) {
            int row = i * step % 64;
            wb_buf_addf(&b, "%c\"m%d%d\":", i ? ',' : '{', row / 8, row % 8);
            if (i % 5 == 4)
                wb_buf_add(&b, UPP_STR("null"));
            else
                wb_buf_addf(&b, "%d.00", i);
        }
        wb_buf_add(&b, UPP_STR(",\"unknown\":1}"));
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, NULL) == 0);
        CHECK(WJ_DECODE(&a, wide, v, NULL, &w, NULL) == 0);
        CHECK(w.node.seen == ~(uint64_t)0 && w.m00 == 0);
        for (int i = 0; i < 64; i++) {
            uint64_t m;
            memcpy(&m, (const char *)&w + wide_rows[i * step % 64].off, sizeof m);
            CHECK(i % 5 == 4 ? w.node.null >> (i * step % 64) & 1 : m == (uint64_t)i);
        }
    }
}
