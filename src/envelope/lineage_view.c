/* envelope/lineage_view.c — writes a lineage as JSON, and as lines for a terminal. */
#include "base/defs.h"
#include "base/utf8.h"
#include "envelope/lineage.h"
#include "json/number.h"
#include "json/write.h"

enum {
    TASK = 72 /* characters of it in a line */,
    TASK_LEAST = 16,
    NUMBERS = 256,
    ID = 64,
    NAME = 32,
    INDENT = 32 /* levels that are indented */
};

/* ---- Labels ------------------------------------------------------------------------------------------------ */

/* Not shown: control characters, those that change the direction of what follows, and what is no character in XML. */
static bool is_shown(uint32_t c)
{
    return c > 0x20 && (c < 0x7f || c > 0x9f) && !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) &&
           !(c >= 0xd800 && c <= 0xdfff) && c != 0xfffe && c != 0xffff;
}

static void add_char(struct wb_buf *out, struct upp_str bytes, enum we_label form)
{
    static const struct {
        char c;
        struct upp_str dot, xml;
    } escapes[] = {
        {'"', UPP_STR_INIT("\\\""), UPP_STR_INIT("&quot;")}, {'\\', UPP_STR_INIT("\\\\"), UPP_STR_INIT("\\")},
        {'&', UPP_STR_INIT("&"), UPP_STR_INIT("&amp;")},     {'<', UPP_STR_INIT("<"), UPP_STR_INIT("&lt;")},
        {'>', UPP_STR_INIT(">"), UPP_STR_INIT("&gt;")},      {'\'', UPP_STR_INIT("'"), UPP_STR_INIT("&#39;")}};
    for (size_t i = 0; form != WE_LABEL_TEXT && bytes.n == 1 && i < WB_LEN(escapes); i++)
        if (escapes[i].c == bytes.p[0])
            bytes = form == WE_LABEL_DOT ? escapes[i].dot : escapes[i].xml;
    wb_buf_add(out, bytes);
}

/* How many characters there are, up to one more than max; or writes at most max of them. */
static size_t scan(struct wb_buf *out, struct upp_str text, size_t max, enum we_label form)
{
    size_t done = 0;
    bool gap = false;
    for (size_t at = 0, n; at < text.n && done < max; at += n) {
        uint32_t c = 0;
        n = wb_utf8_decode(text, at, &c);
        if (!n || !is_shown(c)) {
            gap = done > 0;
            n = n ? n : 1;
            continue;
        }
        if (gap && done + 1 >= max)
            return out ? done : max; /* the blank would be the last one */
        if (gap && out)
            wb_buf_addc(out, ' ');
        done += 1 + (size_t)gap;
        gap = false;
        if (out)
            add_char(out, wb_str_sub(text, at, n), form);
    }
    return done;
}

void we_label_add(struct wb_buf *out, struct upp_str text, size_t max, enum we_label form)
{
    if (scan(NULL, text, max + 1, form) <= max) {
        (void)scan(out, text, max, form);
        return;
    }
    (void)scan(out, text, max - 3, form);
    wb_buf_add(out, UPP_STR("..."));
}

static void add_pair(struct wb_buf *out, uint64_t input, uint64_t output)
{
    wb_buf_addf(out, "%llu+%llu", (unsigned long long)input, (unsigned long long)output);
}

void we_label_numbers(struct wb_buf *out, const struct we_lineage_node *n, bool brief)
{
    char score[WJ_NUM_MAX];
    size_t length = n->has_score ? wj_num_format(n->score, score) : 0;
    bool own = n->input_tokens || n->output_tokens,
         below = n->n_down && n->has_subtree && (n->subtree_input || n->subtree_output);
    if (length)
        wb_buf_addf(out, "score %.*s%s", (int)length, score, own || below ? ", " : "");
    if (own || (below && brief))
        add_pair(out, n->input_tokens, n->output_tokens);
    if (own && (!below || !brief))
        wb_buf_add(out, UPP_STR(" tokens"));
    if (below && (own || brief))
        wb_buf_add(out, brief ? UPP_STR(" of ") : UPP_STR(", "));
    if (below) {
        add_pair(out, n->subtree_input, n->subtree_output);
        wb_buf_add(out, brief ? UPP_STR(" tokens") : UPP_STR(" tokens with what follows"));
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

static void put_cost(struct wj_writer *w, const char *name, uint64_t input, uint64_t output)
{
    wj_put_open(w, name, '{');
    wj_put_u64(w, "input_tokens", input);
    wj_put_u64(w, "output_tokens", output);
    wj_write_close(w, '}');
}

static void put_node(struct wj_writer *w, const struct we_lineage_view *v, uint32_t node)
{
    static const char *const relations[] = {"none", "ancestor", "self", "descendant"};
    const struct we_lineage_node *n = we_lineage_node(v->lineage, node);
    size_t count;
    const uint32_t *parents = we_lineage_parents(v->lineage, node, &count);
    wj_write_open(w, '{');
    wj_put_str(w, "id", n->id);
    wj_put_open(w, "parents", '[');
    for (size_t i = 0; i < count; i++)
        wj_write_str(w, we_lineage_node(v->lineage, parents[i])->id);
    wj_write_close(w, ']');
    wj_put_str(w, "role", n->role);
    wj_put_str(w, "agent", n->agent);
    wj_put_str(w, "intent", n->intent);
    wj_put_str(w, "task", n->task);
    wj_write_name(w, UPP_STR("score"));
    if (n->has_score)
        wj_write_f64(w, n->score);
    else
        wj_write_null(w);
    put_cost(w, "cost", n->input_tokens, n->output_tokens);
    if (n->has_subtree)
        put_cost(w, "subtree_cost", n->subtree_input, n->subtree_output);
    else
        wj_put_null(w, "subtree_cost");
    wj_put_u64(w, "depth", n->depth);
    if (v->relation[node] < WB_LEN(relations))
        wj_put_str(w, "relation", wb_cstr(relations[v->relation[node]]));
    wj_write_close(w, '}');
}

int we_lineage_json(const struct we_lineage_view *v, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    size_t n;
    uint64_t all;
    const struct we_circle *circles = we_lineage_circles(v->lineage, &n, &all);
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", v->self == WE_NO_NODE ? (struct upp_str){0} : we_lineage_node(v->lineage, v->self)->id);
    wj_put_open(&w, "nodes", '[');
    for (size_t i = 0; i < v->n; i++)
        put_node(&w, v, v->nodes[i]);
    wj_write_close(&w, ']');
    put_cost(&w, "cost", v->input_tokens, v->output_tokens);
    wj_put_open(&w, "unknown", '[');
    for (size_t i = 0; i < v->n_unknown; i++)
        wj_write_str(&w, we_lineage_node(v->lineage, v->unknown[i])->id);
    wj_write_close(&w, ']');
    wj_put_open(&w, "circles", '[');
    for (size_t i = 0; i < n; i++) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "child", we_lineage_node(v->lineage, circles[i].child)->id);
        wj_put_str(&w, "parent", we_lineage_node(v->lineage, circles[i].parent)->id);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

/* ---- Lines -------------------------------------------------------------------------------------------------- */

/* A node whose children are being written. */
struct level {
    uint32_t node, next; /* next: of its children */
    bool last;           /* of its parent's children */
};

struct lines {
    const struct we_lineage_view *v;
    struct wb_buf *out;
    struct level *levels;
    size_t n;
    uint8_t *done; /* written, with all that follows */
    bool utf8;
    unsigned columns;
};

static void write_indent(const struct lines *s, bool last)
{
    size_t from = s->n > INDENT ? s->n - INDENT : 0;
    if (from)
        wb_buf_addf(s->out, "(%zu) ", s->n);
    for (size_t i = WB_MAX(from, (size_t)1); i < s->n; i++)
        wb_buf_add(s->out, s->levels[i].last ? UPP_STR("   ") : s->utf8 ? UPP_STR("│  ") : UPP_STR("|  "));
    if (s->n)
        wb_buf_add(s->out, s->utf8 ? last ? UPP_STR("└─ ") : UPP_STR("├─ ") : last ? UPP_STR("`- ") : UPP_STR("|- "));
}

/* The task and the numbers behind it. */
static void write_task(const struct lines *s, const struct we_lineage_node *n, size_t begin)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf numbers = WB_BUF(NUMBERS);
    we_label_numbers(&numbers, n, false);
    size_t used = wb_utf8_count(wb_str_sub(wb_buf_str(s->out), begin, SIZE_MAX)) + numbers.n + 3; /* " ()" */
    size_t left = s->columns > used ? s->columns - used : 0;
    we_label_add(s->out, n->task, s->columns ? WB_MAX(WB_MIN(left, (size_t)TASK), (size_t)TASK_LEAST) : TASK,
                 WE_LABEL_TEXT);
    if (numbers.n)
        wb_buf_addf(s->out, " (%.*s)", UPP_FMT(wb_buf_str(&numbers)));
    wb_buf_addc(s->out, '\n');
    if (numbers.failed && !s->out->failed)
        s->out->failed = numbers.failed;
}

static void write_line(const struct lines *s, uint32_t node, bool last)
{
    const struct we_lineage_node *n = we_lineage_node(s->v->lineage, node);
    size_t begin = s->out->n;
    write_indent(s, last);
    if (node == s->v->self)
        wb_buf_add(s->out, UPP_STR("* "));
    we_label_add(s->out, n->id, ID, WE_LABEL_TEXT);
    if (s->done[node] || !n->known) {
        wb_buf_add(s->out, s->done[node] ? UPP_STR("  (see above)\n") : UPP_STR("  (not in the log)\n"));
        return;
    }
    wb_buf_add(s->out, UPP_STR("  "));
    we_label_add(s->out, n->agent.n ? n->agent : n->role, NAME, WE_LABEL_TEXT);
    wb_buf_add(s->out, UPP_STR(", "));
    we_label_add(s->out, n->intent, NAME, WE_LABEL_TEXT);
    wb_buf_add(s->out, UPP_STR(": "));
    write_task(s, n, begin);
}

/* The next child that is part of the view; false: none is left. */
static bool next_child(const struct lines *s, struct level *at, uint32_t *ret)
{
    size_t n;
    const uint32_t *children = we_lineage_children(s->v->lineage, at->node, &n);
    while (at->next < n && !s->v->relation[children[at->next]])
        at->next++;
    if (at->next >= n)
        return false;
    *ret = children[at->next++];
    return true;
}

static void write_tree(struct lines *s, uint32_t root)
{
    uint32_t child, peek;
    write_line(s, root, true);
    s->done[root] = true;
    s->levels[s->n++] = (struct level){.node = root, .last = true};
    while (s->n) {
        struct level *at = &s->levels[s->n - 1];
        if (!next_child(s, at, &child)) {
            s->n--;
            continue;
        }
        struct level then = *at;
        bool last = !next_child(s, &then, &peek);
        write_line(s, child, last);
        if (s->done[child])
            continue;
        s->done[child] = true;
        s->levels[s->n++] = (struct level){.node = child, .last = last};
    }
}

static bool is_root(const struct we_lineage_view *v, uint32_t node)
{
    size_t n;
    const uint32_t *parents = we_lineage_parents(v->lineage, node, &n);
    for (size_t i = 0; i < n; i++)
        if (v->relation[parents[i]])
            return false;
    return true;
}

static void write_circles(const struct we_lineage_view *v, struct wb_buf *out)
{
    size_t n;
    uint64_t all;
    const struct we_circle *circles = we_lineage_circles(v->lineage, &n, &all);
    for (size_t i = 0; i < n; i++) {
        wb_buf_add(out, UPP_STR("circle: "));
        we_label_add(out, we_lineage_node(v->lineage, circles[i].child)->id, ID, WE_LABEL_TEXT);
        wb_buf_add(out, UPP_STR(" names as its parent "));
        we_label_add(out, we_lineage_node(v->lineage, circles[i].parent)->id, ID, WE_LABEL_TEXT);
        wb_buf_add(out, UPP_STR(", which follows from it\n"));
    }
    if (all > n)
        wb_buf_addf(out, "and %llu more\n", (unsigned long long)(all - n));
}

int we_lineage_text(const struct we_lineage_view *v, bool utf8, unsigned columns, struct wb_arena *a,
                    struct wb_buf *out, struct upp_err *err)
{
    size_t all = we_lineage_count(v->lineage) + 1;
    struct lines s = {.v = v,
                      .out = out,
                      .utf8 = utf8,
                      .columns = columns,
                      .levels = wb_new_n(a, struct level, all),
                      .done = wb_new_n(a, uint8_t, all)};
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < v->n_unknown; i++)
        write_tree(&s, v->unknown[i]);
    for (size_t i = 0; i < v->n; i++)
        if (is_root(v, v->nodes[i]))
            write_tree(&s, v->nodes[i]);
    write_circles(v, out);
    return wb_buf_check(out, err);
}
