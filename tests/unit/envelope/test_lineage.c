/* Lineage: direct parents, ancestors, descendants, costs, circles, limits, and how it is drawn. */
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "envelope/lineage.h"
#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

/* An envelope: its id, parents as JSON, and tokens. */
static int add(struct we_lineage *l, const char *id, const char *parents, unsigned input, unsigned output)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    struct upp_str text =
        wb_arena_printf(&a,
                        "{\"role\":\"agent\",\"intent\":\"plan\",\"task\":\"Do %s\",\"agent\":{\"id\":"
                        "\"a.%s\"},\"confidence\":{\"score\":0.75},\"trace\":{\"id\":\"%s\",\"parents\":[%s],"
                        "\"cost\":{\"input_tokens\":%u,\"output_tokens\":%u}}}",
                        id, id, id, parents, input, output);
    yyjson_val *v;
    int r = wj_read(&a, text, NULL, &v, NULL);
    return r < 0 ? r : we_lineage_add(l, v, NULL);
}

struct row {
    const char *id, *parents;
    unsigned input, output;
};

static int build(struct we_lineage **l, const struct row *rows, size_t n)
{
    int r = we_lineage_new(l, NULL);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = add(*l, rows[i].id, rows[i].parents, rows[i].input, rows[i].output);
    return r < 0 ? r : we_lineage_end(*l, NULL);
}

/* "p1 p2": the direct parents. */
static bool has_parents(const struct we_lineage *l, const char *id, const char *want)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(4096);
    size_t n;
    const uint32_t *list = we_lineage_parents(l, we_lineage_find(l, wb_cstr(id)), &n);
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(&got, "%s%.*s", i ? " " : "", UPP_FMT(we_lineage_node(l, list[i])->id));
    test_note("parents of %s", id);
    return test_expect_str(wb_buf_str(&got), wb_cstr(want), __FILE__, __LINE__, "parents");
}

/* The ids of a view, in the order of arrival. */
static bool sees(const struct we_lineage *l, const char *id, unsigned which, const char *want)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf got = WB_BUF(1 << 20);
    struct we_lineage_view v;
    if (we_lineage_view(l, id ? we_lineage_find(l, wb_cstr(id)) : WE_NO_NODE, which, &a, &v, NULL) < 0)
        return EXPECT(false);
    for (size_t i = 0; i < v.n; i++)
        wb_buf_addf(&got, "%s%.*s", i ? " " : "", UPP_FMT(we_lineage_node(l, v.nodes[i])->id));
    for (size_t i = 0; i < v.n_unknown; i++)
        wb_buf_addf(&got, " ?%.*s", UPP_FMT(we_lineage_node(l, v.unknown[i])->id));
    return test_expect_str(wb_buf_str(&got), wb_cstr(want), __FILE__, __LINE__, "view");
}

static bool costs(const struct we_lineage *l, const char *id, unsigned input, unsigned output)
{
    const struct we_lineage_node *n = we_lineage_node(l, we_lineage_find(l, wb_cstr(id)));
    test_note("cost of what follows from %s", id);
    return EXPECT(n->has_subtree) && test_expect_int((long long)n->subtree_input, input, __FILE__, __LINE__, "input") &&
           test_expect_int((long long)n->subtree_output, output, __FILE__, __LINE__, "output");
}

/* Chains as they are on the wire, one join (j, of c and e), and a branch. */
static const struct row diamond[] = {
    {"a", "", 1, 0},      {"b", "\"a\"", 2, 1},        {"c", "\"a\",\"b\"", 4, 1},
    {"d", "\"a\"", 8, 1}, {"e", "\"a\",\"d\"", 16, 1}, {"j", "\"a\",\"b\",\"c\",\"d\",\"e\"", 32, 1},
    {"k", "\"j\"", 64, 1}};

/* covers: ENV-10/1 */
TEST(lineage_has_direct_parents)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    CHECK(build(&l, diamond, WB_LEN(diamond)) >= 0);
    CHECK(has_parents(l, "a", ""));
    CHECK(has_parents(l, "c", "b"));
    CHECK(has_parents(l, "e", "d"));
    CHECK(has_parents(l, "j", "c e"));
    CHECK(has_parents(l, "k", "j"));
    CHECK_INT(we_lineage_node(l, we_lineage_find(l, UPP_STR("k")))->depth, 4);
    CHECK(we_lineage_find(l, UPP_STR("nobody")) == WE_NO_NODE);
}

/* covers: ENV-10/1 */
TEST(lineage_is_asked_for_ancestors_descendants_and_costs)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    CHECK(build(&l, diamond, WB_LEN(diamond)) >= 0);
    CHECK(sees(l, "c", WE_ANCESTORS, "a b c"));
    CHECK(sees(l, "c", WE_DESCENDANTS, "c j k"));
    CHECK(sees(l, "c", WE_ANCESTORS | WE_DESCENDANTS, "a b c j k"));
    CHECK(sees(l, "j", WE_ANCESTORS, "a b c d e j"));
    CHECK(sees(l, NULL, 0, "a b c d e j k"));
    CHECK(costs(l, "a", 127, 6)); /* j and k once, although two ways lead to them */
    CHECK(costs(l, "b", 102, 4));
    CHECK(costs(l, "k", 64, 1));
}

TEST(lineage_takes_any_order)
{
    static const struct row rows[] = {{"c", "\"a\",\"b\"", 1, 1}, {"b", "\"a\"", 1, 1}, {"a", "", 1, 1}};
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    CHECK(build(&l, rows, WB_LEN(rows)) >= 0);
    CHECK(has_parents(l, "c", "b"));
    CHECK(sees(l, "a", WE_DESCENDANTS, "c b a"));
    CHECK(costs(l, "a", 3, 3));
}

TEST(lineage_records_what_is_wrong_with_a_log)
{
    static const struct row rows[] = {{"a", "\"c\",\"a\"", 1, 0},
                                      {"b", "\"a\",\"a\"", 2, 0},
                                      {"c", "\"b\",\"gone\"", 4, 0},
                                      {"a", "\"x\"", 100, 0},
                                      {"", "", 9, 9}};
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    size_t n;
    uint64_t all;
    CHECK(build(&l, rows, WB_LEN(rows)) >= 0);
    const struct we_circle *circles = we_lineage_circles(l, &n, &all);
    CHECK_INT(n, 2);
    CHECK_INT(all, 2);
    CHECK_STR(we_lineage_node(l, circles[0].parent)->id, UPP_STR("a")); /* its own parent */
    CHECK_STR(we_lineage_node(l, circles[1].child)->id, UPP_STR("b"));
    CHECK_STR(we_lineage_node(l, circles[1].parent)->id, UPP_STR("a"));
    CHECK(sees(l, "a", WE_ANCESTORS, "a b c ?gone"));
    CHECK(costs(l, "b", 7, 0)); /* the edge from a to b is left out; the first a counts */
    CHECK(we_lineage_find(l, UPP_STR("x")) == WE_NO_NODE);
}

/* Against the definition: a parent stays unless it is an ancestor of another one. */
TEST_WITH(lineage_of_random_graphs, .no_torture = "thousands of graphs; the others show that faults are handled")
{
    enum { N = 24 };
    for (unsigned seed = 1; seed <= 2000; seed++) {
        WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
        bool named[N][N] = {{0}}, above[N][N] = {{0}};
        unsigned at = seed;
        CHECK(we_lineage_new(&l, NULL) >= 0);
        for (unsigned i = 0; i < N; i++) {
            char id[16], parents[N * 8 + 1] = "";
            size_t n = 0;
            for (unsigned k = 0; k < i; k++) {
                at = at * 1664525 + 1013904223;
                named[i][k] = at >> 24 < 50 || (at >> 16 & 1 && i && above[i - 1][k]);
                if (named[i][k])
                    n += (size_t)snprintf(parents + n, sizeof parents - n, "%s\"n%u\"", n ? "," : "", k);
                for (unsigned m = 0; named[i][k] && m < N; m++)
                    above[i][m] |= above[k][m];
                above[i][k] |= named[i][k];
            }
            (void)snprintf(id, sizeof id, "n%u", i);
            CHECK_INT(add(l, id, parents, 1, 0), 1);
        }
        CHECK(we_lineage_end(l, NULL) >= 0);
        for (unsigned i = 0; i < N; i++) {
            char id[16];
            size_t got, want = 0;
            uint64_t follow = 1;
            (void)snprintf(id, sizeof id, "n%u", i);
            uint32_t node = we_lineage_find(l, wb_cstr(id));
            (void)we_lineage_parents(l, node, &got);
            for (unsigned k = 0; k < N; k++) {
                bool direct = named[i][k];
                for (unsigned m = 0; m < N; m++)
                    direct = direct && !(named[i][m] && above[m][k]);
                want += direct;
                follow += above[k][i];
            }
            test_note("seed %u, node %u", seed, i);
            CHECK_INT(got, want);
            CHECK_INT(we_lineage_node(l, node)->subtree_input, follow);
        }
    }
}

TEST_WITH(lineage_is_bounded, .no_torture = "too many calls")
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL, *wide = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf parents = WB_BUF(8 << 20);
    char id[32];
    int r = 0;
    CHECK(we_lineage_new(&l, NULL) >= 0);
    for (unsigned i = 0; r >= 0 && i <= WE_LINEAGE_NODES; i++) {
        (void)snprintf(id, sizeof id, "n%u", i);
        r = add(l, id, "\"n0\"", 1, 1);
        if (i < WE_LINEAGE_NODES)
            CHECK_INT(r, 1);
    }
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK(we_lineage_end(l, NULL) >= 0);
    CHECK(costs(l, "n0", WE_LINEAGE_NODES, WE_LINEAGE_NODES));

    /* Many parents that have nothing to do with each other: nobody looks at them for long. */
    CHECK(we_lineage_new(&wide, NULL) >= 0);
    for (unsigned i = 0; i < 60000; i++)
        wb_buf_addf(&parents, "%s\"p%u\"", i ? "," : "", i);
    wb_buf_addc(&parents, 0);
    CHECK_INT(add(wide, "x", parents.p, 1, 1), 1);
    CHECK(we_lineage_end(wide, NULL) >= 0);
    CHECK_INT(we_lineage_node(wide, we_lineage_find(wide, UPP_STR("x")))->n_up, 60000);
}

TEST_WITH(lineage_of_a_long_chain, .no_torture = "too many calls")
{
    enum { LENGTH = 3000, NAMED = 1024 /* parents on the wire, at most */ };
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf parents = WB_BUF(1 << 20);
    char id[32];
    CHECK(we_lineage_new(&l, NULL) >= 0);
    for (unsigned i = 0; i < LENGTH; i++) {
        wb_buf_clear(&parents);
        for (unsigned k = i > NAMED ? i - NAMED : 0; k < i; k++)
            wb_buf_addf(&parents, "%s\"n%u\"", parents.n ? "," : "", k);
        wb_buf_addc(&parents, 0);
        (void)snprintf(id, sizeof id, "n%u", i);
        CHECK_INT(add(l, id, parents.p, 1, 1), 1);
    }
    CHECK(we_lineage_end(l, NULL) >= 0);
    for (uint32_t i = 1; i < LENGTH; i++)
        CHECK_INT(we_lineage_node(l, i)->n_up, 1);
    CHECK(costs(l, "n0", LENGTH, LENGTH));
}

/* ---- Writing ------------------------------------------------------------------------------------------------ */

typedef int writer(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out);

static int write_json(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out)
{
    (void)a;
    return we_lineage_json(v, out, NULL);
}

static int write_text(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out)
{
    return we_lineage_text(v, false, 0, a, out, NULL);
}

static int write_dot(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out)
{
    (void)a;
    return we_lineage_dot(v, out, NULL);
}

static int write_svg(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out)
{
    return we_lineage_svg(v, a, out, NULL);
}

static int written(const struct we_lineage *l, const char *id, writer *write, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    struct we_lineage_view v;
    int r = we_lineage_view(l, id ? we_lineage_find(l, wb_cstr(id)) : WE_NO_NODE, WE_ANCESTORS | WE_DESCENDANTS, &a, &v,
                            NULL);
    return r < 0 ? r : write(&v, &a, out);
}

static bool has(const struct wb_buf *out, const char *what)
{
    test_note("%.*s", UPP_FMT(wb_buf_str(out)));
    return test_expect(wb_str_find(wb_buf_str(out), wb_cstr(what), 0) != SIZE_MAX, false, __FILE__, __LINE__, what);
}

/* covers: ENV-10/1 */
TEST(lineage_as_json)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    CHECK(build(&l, diamond, 3) >= 0);
    CHECK(written(l, "b", write_json, &out) >= 0);
    CHECK(has(&out, "{\"id\":\"b\",\"nodes\":[{\"id\":\"a\",\"parents\":[],\"role\":\"agent\",\"agent\":\"a.a\","
                    "\"intent\":\"plan\","
                    "\"task\":\"Do a\",\"score\":0.75,\"cost\":{\"input_tokens\":1,\"output_tokens\":0},"
                    "\"subtree_cost\":{\"input_tokens\":7,\"output_tokens\":2},\"depth\":0,\"relation\":\"ancestor\"},"
                    "{\"id\":\"b\",\"parents\":[\"a\"],"));
    CHECK(has(&out, "],\"cost\":{\"input_tokens\":7,\"output_tokens\":2},\"unknown\":[],\"circles\":[]}"));
}

/* covers: ENV-10/2 */
TEST(lineage_as_lines)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    CHECK(build(&l, diamond, WB_LEN(diamond)) >= 0);
    CHECK(written(l, "d", write_text, &out) >= 0);
    CHECK_STR(wb_buf_str(&out),
              UPP_STR("a  a.a, plan: Do a (score 0.75, 1+0 tokens, 127+6 tokens with what follows)\n"
                      "`- * d  a.d, plan: Do d (score 0.75, 8+1 tokens, 120+4 tokens with what follows)\n"
                      "   `- e  a.e, plan: Do e (score 0.75, 16+1 tokens, 112+3 tokens with what follows)\n"
                      "      `- j  a.j, plan: Do j (score 0.75, 32+1 tokens, 96+2 tokens with what follows)\n"
                      "         `- k  a.k, plan: Do k (score 0.75, 64+1 tokens)\n"));
    wb_buf_clear(&out);
    CHECK(written(l, NULL, write_text, &out) >= 0);
    CHECK(has(&out, "|- b  a.b"));
    CHECK(has(&out, "      `- j  (see above)\n"));
}

static int write_narrow(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out)
{
    return we_lineage_text(v, true, 70, a, out, NULL);
}

TEST(lineage_as_lines_of_a_terminal)
{
    static const struct row rows[] = {{"a", "", 0, 0},
                                      {"a task that is far too long for the line that it is in", "\"a\"", 1, 1}};
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    CHECK(build(&l, rows, 2) >= 0);
    CHECK(written(l, NULL, write_narrow, &out) >= 0);
    CHECK(has(&out, "a  a.a, plan: Do a (score 0.75, 1+1 tokens with what follows)\n"));
    CHECK(has(&out,
              "└─ a task that is far too long for the line that it is in  a.a task that is far too long..., plan: "
              "Do a task tha... (score 0.75, 1+1 tokens)\n"));
}

/* covers: ENV-10/2 */
TEST(lineage_as_pictures)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    CHECK(build(&l, diamond, WB_LEN(diamond)) >= 0);
    CHECK(written(l, NULL, write_dot, &out) >= 0);
    CHECK(wb_str_starts(wb_buf_str(&out), UPP_STR("digraph lineage {\n")));
    CHECK(has(&out, "  n0 [label=\"a.a: plan\\nDo a\\nscore 0.75, 1+0 of 127+6 tokens\", "
                    "tooltip=\"a\"];\n"));
    CHECK(has(&out, "  n2 -> n5;\n  n4 -> n5;\n"));
    wb_buf_clear(&out);
    CHECK(written(l, "j", write_svg, &out) >= 0);
    CHECK(wb_str_ends(wb_buf_str(&out), UPP_STR("</svg>\n")));
    CHECK(has(&out, "a.j: plan</text>"));
    CHECK(has(&out, " stroke-width=\"2.5\""));
    size_t paths = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(&out), UPP_STR("<path "), at)) != SIZE_MAX; at++)
        paths++;
    CHECK_INT(paths, 7);
}

TEST(lineage_labels_are_cut)
{
    static const char *const table[] = {"", "abcd efg", "abcd efgh", "abcd e...", "abcdefgh...", "abcdefgh i"};
    static const char *const texts[] = {" \n ", "abcd  efg", "abcd efgh", "abcd efgh i", "abcdefgh i j", "abcdefgh i"};
    static const size_t max[] = {4, 9, 9, 9, 11, 10};
    for (size_t i = 0; i < WB_LEN(table); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(256);
        we_label_add(&out, wb_cstr(texts[i]), max[i], WE_LABEL_TEXT);
        CHECK_STR(wb_buf_str(&out), wb_cstr(table[i]));
    }
}

TEST(lineage_escapes_texts)
{
    static const char hostile[] =
        "{\"role\":\"user\",\"intent\":\"plan\",\"task\":\"<script>\\\"a\\\" & 'b' \\\\ \\u001b[31m\\n\\u202e\\ud800 "
        "\\u0085 end\",\"trace\":{\"id\":\"<i>\\\"\",\"parents\":[\"\\u0000gone\"]}}";
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    yyjson_val *v;
    CHECK(we_lineage_new(&l, NULL) >= 0);
    CHECK(wj_read(&a, wb_cstr(hostile), NULL, &v, NULL) >= 0);
    CHECK_INT(we_lineage_add(l, v, NULL), 1);
    CHECK(we_lineage_end(l, NULL) >= 0);
    CHECK(written(l, NULL, write_svg, &out) >= 0);
    CHECK(has(&out, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39; \\ [31m end"));
    CHECK(has(&out, "&lt;i&gt;&quot;"));
    CHECK(has(&out, "not in the log"));
    wb_buf_clear(&out);
    CHECK(written(l, NULL, write_dot, &out) >= 0);
    CHECK(has(&out, "<script>\\\"a\\\" & 'b' \\\\ [31m end"));
    wb_buf_clear(&out);
    CHECK(written(l, NULL, write_text, &out) >= 0);
    CHECK(has(&out, "gone  (not in the log)\n`- <i>\"  user, plan: <script>\"a\" & 'b' \\ [31m end\n"));
}

TEST_WITH(lineage_pictures_are_bounded, .no_torture = "too many calls")
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64 << 20);
    char id[32], parent[32] = "";
    CHECK(we_lineage_new(&l, NULL) >= 0);
    for (unsigned i = 0; i < WE_LINEAGE_DRAWN + 5; i++) { /* one long chain */
        (void)snprintf(id, sizeof id, "n%u", i);
        CHECK_INT(add(l, id, parent, 1, 1), 1);
        (void)snprintf(parent, sizeof parent, "\"n%u\"", i);
    }
    CHECK(we_lineage_end(l, NULL) >= 0);
    CHECK(written(l, NULL, write_svg, &out) >= 0);
    CHECK(has(&out, ">5 more are not drawn<"));
    wb_buf_clear(&out);
    CHECK(written(l, NULL, write_dot, &out) >= 0);
    CHECK(has(&out, "label=\"5 more are not drawn\""));
    wb_buf_clear(&out);
    CHECK(written(l, NULL, write_text, &out) >= 0); /* its indentation does not grow with the depth */
    CHECK(out.n < (WE_LINEAGE_DRAWN + 5) * 200);
}
