/* envelope/lineage_draw.c — draws a lineage for Graphviz, and as a picture in SVG.
 *
 * The layout of the picture: rows by depth. Each envelope stands above what follows from it; one with several parents
 * is placed below the first of them that is drawn.
 */
#include "base/defs.h"
#include "envelope/lineage.h"

enum {
    WIDTH = 236,
    HEIGHT = 58,
    GAP_X = 20,
    GAP_Y = 44,
    MARGIN = 16,
    PLACE_X = WIDTH + GAP_X,
    PLACE_Y = HEIGHT + GAP_Y
};
enum { NAME = 30, TASK = 36, ID = 36, WHOLE = 400 /* characters of a task in a tooltip */ };

/* What is drawn: those that are not known first. */
static size_t drawn(const struct we_lineage_view *v)
{
    return WB_MIN(v->n_unknown + v->n, (size_t)WE_LINEAGE_DRAWN);
}

static uint32_t drawn_at(const struct we_lineage_view *v, size_t i)
{
    return i < v->n_unknown ? v->unknown[i] : v->nodes[i - v->n_unknown];
}

static struct upp_str who(const struct we_lineage_node *n)
{
    return n->agent.n ? n->agent : n->role;
}

static void dot_node(const struct we_lineage_view *v, uint32_t node, struct wb_buf *out)
{
    const struct we_lineage_node *n = we_lineage_node(v->lineage, node);
    size_t count;
    const uint32_t *parents = we_lineage_parents(v->lineage, node, &count);
    wb_buf_addf(out, "  n%u [label=\"", node);
    if (n->known) {
        we_label_add(out, who(n), NAME, WE_LABEL_DOT);
        wb_buf_add(out, UPP_STR(": "));
        we_label_add(out, n->intent, NAME, WE_LABEL_DOT);
        wb_buf_add(out, UPP_STR("\\n"));
        we_label_add(out, n->task, TASK, WE_LABEL_DOT);
        wb_buf_add(out, UPP_STR("\\n"));
        we_label_numbers(out, n, true);
    } else
        wb_buf_add(out, UPP_STR("not in the log"));
    wb_buf_add(out, UPP_STR("\", tooltip=\""));
    we_label_add(out, n->id, WHOLE, WE_LABEL_DOT);
    wb_buf_add(out, n->known ? UPP_STR("\"") : UPP_STR("\", style=dashed"));
    wb_buf_add(out, node == v->self ? UPP_STR(", penwidth=2];\n") : UPP_STR("];\n"));
    for (size_t i = 0; i < count; i++)
        if (v->relation[parents[i]])
            wb_buf_addf(out, "  n%u -> n%u;\n", parents[i], node);
}

int we_lineage_dot(const struct we_lineage_view *v, struct wb_buf *out, struct upp_err *err)
{
    size_t n = drawn(v), all = v->n_unknown + v->n;
    wb_buf_add(out, UPP_STR("digraph lineage {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"));
    if (all > n)
        wb_buf_addf(out, "  label=\"%zu more are not drawn\";\n", all - n);
    for (size_t i = 0; i < n; i++)
        dot_node(v, drawn_at(v, i), out);
    wb_buf_add(out, UPP_STR("}\n"));
    return wb_buf_check(out, err);
}

struct place {
    uint32_t above; /* the parent it is placed below; WE_NO_NODE: none */
    uint32_t width; /* columns that it and what is placed below it take */
    uint32_t begin; /* the first of them */
    uint32_t next;  /* the first that is free for what is placed below it */
    bool drawn;
};

struct picture {
    const struct we_lineage_view *v;
    struct wb_buf *out;
    struct place *places; /* by node */
    uint32_t *order;      /* of what is drawn: by depth */
    size_t n;
    uint32_t columns, rows;
};

/* By depth, and in each row as before: a counting sort. */
static void sort(struct picture *p, uint32_t *rows)
{
    for (size_t i = 0; i < p->n; i++)
        rows[we_lineage_node(p->v->lineage, drawn_at(p->v, i))->depth + 1]++;
    for (uint32_t i = 0; i < p->rows; i++)
        rows[i + 1] += rows[i];
    for (size_t i = 0; i < p->n; i++)
        p->order[rows[we_lineage_node(p->v->lineage, drawn_at(p->v, i))->depth]++] = drawn_at(p->v, i);
}

static void place_all(struct picture *p)
{
    size_t n;
    for (size_t i = 0; i < p->n; i++) {
        struct place *at = &p->places[p->order[i]];
        const uint32_t *parents = we_lineage_parents(p->v->lineage, p->order[i], &n);
        at->above = WE_NO_NODE;
        for (size_t k = n; k-- > 0;)
            if (p->places[parents[k]].drawn)
                at->above = parents[k];
    }
    for (size_t i = p->n; i-- > 0;) { /* from below: how wide */
        struct place *at = &p->places[p->order[i]];
        at->width = WB_MAX(at->width, 1u);
        if (at->above != WE_NO_NODE)
            p->places[at->above].width += at->width;
    }
    for (size_t i = 0; i < p->n; i++) { /* from above: where */
        struct place *at = &p->places[p->order[i]];
        uint32_t *next = at->above == WE_NO_NODE ? &p->columns : &p->places[at->above].next;
        at->begin = at->next = *next;
        *next += at->width;
    }
}

static unsigned left_of(const struct place *at)
{
    return MARGIN + PLACE_X * at->begin + PLACE_X * (at->width - 1) / 2;
}

static unsigned top_of(const struct picture *p, uint32_t node)
{
    return MARGIN + PLACE_Y * we_lineage_node(p->v->lineage, node)->depth;
}

static void svg_edges(const struct picture *p, uint32_t node)
{
    size_t n;
    const uint32_t *parents = we_lineage_parents(p->v->lineage, node, &n);
    for (size_t i = 0; i < n; i++) {
        if (!p->places[parents[i]].drawn)
            continue;
        unsigned x1 = left_of(&p->places[parents[i]]) + WIDTH / 2, y1 = top_of(p, parents[i]) + HEIGHT;
        unsigned x2 = left_of(&p->places[node]) + WIDTH / 2, y2 = top_of(p, node);
        wb_buf_addf(p->out,
                    "<path d=\"M%u %uC%u %u %u %u %u %u\" fill=\"none\" stroke=\"#8a8f98\" stroke-width=\"1.5\"/>\n",
                    x1, y1, x1, y1 + GAP_Y / 2, x2, y2 - GAP_Y / 2, x2, y2);
    }
}

static void svg_line(const struct picture *p, unsigned x, unsigned y, const char *style)
{
    wb_buf_addf(p->out, "<text x=\"%u\" y=\"%u\"%s>", x + 10, y, style);
}

static const char *colour(const struct we_lineage_node *n)
{
    static const struct {
        struct upp_str role;
        const char *fill;
    } table[] = {
        {UPP_STR_INIT("user"), "#dbeafe"}, {UPP_STR_INIT("agent"), "#dcfce7"}, {UPP_STR_INIT("tool"), "#fef3c7"}};
    for (size_t i = 0; i < WB_LEN(table); i++)
        if (wb_str_eq(n->role, table[i].role))
            return table[i].fill;
    return n->known ? "#ede9fe" : "#ffffff";
}

static void svg_node(const struct picture *p, uint32_t node)
{
    const struct we_lineage_node *n = we_lineage_node(p->v->lineage, node);
    unsigned x = left_of(&p->places[node]), y = top_of(p, node);
    wb_buf_addf(p->out,
                "<g><rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" stroke=\"%s\"%s/>\n<title>",
                x, y, WIDTH, HEIGHT, colour(n), node == p->v->self ? "#111827" : "#8a8f98",
                node == p->v->self ? " stroke-width=\"2.5\""
                : n->known         ? ""
                                   : " stroke-dasharray=\"4 3\"");
    we_label_add(p->out, n->id, WHOLE, WE_LABEL_XML);
    wb_buf_add(p->out, UPP_STR("\n"));
    we_label_add(p->out, n->task, WHOLE, WE_LABEL_XML);
    wb_buf_add(p->out, UPP_STR("</title>\n"));
    svg_line(p, x, y + 19, " font-weight=\"bold\"");
    if (n->known) {
        we_label_add(p->out, who(n), NAME - 12, WE_LABEL_XML);
        wb_buf_add(p->out, UPP_STR(": "));
        we_label_add(p->out, n->intent, NAME, WE_LABEL_XML);
    } else
        wb_buf_add(p->out, UPP_STR("not in the log"));
    wb_buf_add(p->out, UPP_STR("</text>\n"));
    svg_line(p, x, y + 35, "");
    we_label_add(p->out, n->known ? n->task : n->id, TASK, WE_LABEL_XML);
    wb_buf_add(p->out, UPP_STR("</text>\n"));
    svg_line(p, x, y + 50, " fill=\"#4b5563\" font-size=\"10\"");
    if (n->known)
        we_label_numbers(p->out, n, true);
    wb_buf_add(p->out, UPP_STR("</text></g>\n"));
}

static int svg_prepare(struct picture *p, struct wb_arena *a, struct upp_err *err)
{
    p->n = drawn(p->v);
    for (size_t i = 0; i < p->n; i++)
        p->rows = WB_MAX(p->rows, we_lineage_node(p->v->lineage, drawn_at(p->v, i))->depth + 1);
    uint32_t *rows = wb_new_n(a, uint32_t, (size_t)p->rows + 2);
    p->order = wb_new_n(a, uint32_t, p->n + 1);
    p->places = wb_new_n(a, struct place, we_lineage_count(p->v->lineage) + 1);
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < p->n; i++)
        p->places[drawn_at(p->v, i)].drawn = true;
    sort(p, rows);
    place_all(p);
    return 0;
}

int we_lineage_svg(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out, struct upp_err *err)
{
    struct picture p = {.v = v, .out = out};
    int r = svg_prepare(&p, a, err);
    if (r < 0)
        return r;
    size_t more = v->n_unknown + v->n - p.n;
    unsigned width = 2 * MARGIN + PLACE_X * WB_MAX(p.columns, 1u) - GAP_X,
             height = 2 * MARGIN + PLACE_Y * WB_MAX(p.rows, 1u) - GAP_Y + (more ? 20 : 0);
    wb_buf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
                "font-family=\"sans-serif\" font-size=\"11\" fill=\"#111827\">\n",
                width, height, width, height);
    wb_buf_addf(out, "<rect width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n", width, height);
    for (size_t i = 0; i < p.n; i++)
        svg_edges(&p, p.order[i]);
    for (size_t i = 0; i < p.n; i++)
        svg_node(&p, p.order[i]);
    if (more)
        wb_buf_addf(out, "<text x=\"%d\" y=\"%u\">%zu more are not drawn</text>\n", MARGIN, height - MARGIN, more);
    wb_buf_add(out, UPP_STR("</svg>\n"));
    return wb_buf_check(out, err);
}
