/* cli/tree_view.c — draws the branches, checkpoints and threads of a tree with lines. */
#include "cli/tree_view.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/iso8601.h"
#include "base/utf8.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/run_view.h"

enum {
    LEVELS = 24, /* that are drawn with lines; deeper nodes print their depth */
    DOTS = 16,   /* more are only counted */
    WORDS = 48,  /* characters */
    THREADS = 3, /* more are only counted */
};

/* A path from the root, and how far each node on it is done. */
struct drawing {
    FILE *out;
    const struct wl_thread *thread;
    const struct wa_tree_summary *look;
    const struct cli_drawing *how;
    struct wb_arena memory;
    uint32_t *nodes; /* on the path */
    size_t *next;    /* index of each one's next child */
    size_t depth;    /* length of the path */
};

/* All of the same width. */
static const struct {
    const char *pass, *gap, *child, *last, *dot, *more;
} styles[] = {
    {"|  ", "   ", "|- ", "`- ", ".", "..."},
    {"\xe2\x94\x82  ", "   ", "\xe2\x94\x9c\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80 ", "\xe2\x80\xa2", "\xe2\x80\xa6"},
};

static bool is_last(const struct drawing *x, size_t level)
{
    const struct wa_summary_node *parent = &x->look->nodes[x->nodes[level - 1]];
    return x->next[level - 1] == parent->n_children; /* `next` was advanced when the path entered the child */
}

/* An id, or a word, in a colour. */
static void draw_in(const struct drawing *x, enum cli_colour colour, struct upp_str text)
{
    cli_colour(x->out, x->how->coloured, colour);
    cli_print_text(x->out, text, 0);
    cli_colour(x->out, x->how->coloured, CLI_PLAIN);
}

/* The lines that pass by, or lead here. */
static void draw_lines(const struct drawing *x, bool leads)
{
    size_t drawn = WB_MIN(x->depth, (size_t)LEVELS);
    for (size_t i = 1; i <= drawn; i++) {
        bool last = is_last(x, i), ends = leads && i == drawn;
        (void)fputs(ends   ? (last ? styles[x->how->utf8].last : styles[x->how->utf8].child)
                    : last ? styles[x->how->utf8].gap
                           : styles[x->how->utf8].pass,
                    x->out);
    }
    if (leads && x->depth > LEVELS)
        (void)fprintf(x->out, "(%zu deep) ", x->depth);
}

/* The beginning of a text, on one line. */
static void draw_words(const struct drawing *x, struct upp_str words)
{
    size_t n = 0, at = 0;
    bool cut = words.n + 4 > WA_LOOK_WORDS; /* the text was truncated already, or might have been */
    for (; at < words.n && n < WORDS; n++) {
        uint32_t c;
        size_t len = wb_wtf8_decode(words, at, &c);
        at += len ? len : 1;
    }
    cut |= at < words.n;
    (void)fputs("  \"", x->out);
    for (size_t i = 0; i < at;) {
        size_t line = i;
        while (line < at && words.p[line] != '\n' && words.p[line] != '\t')
            line++;
        cli_print_text(x->out, wb_str(words.p + i, line - i), 0);
        if (line < at)
            (void)putc(' ', x->out);
        i = line + 1;
    }
    (void)fprintf(x->out, "%s\"", cut ? styles[x->how->utf8].more : "");
}

static void draw_dots(const struct drawing *x, size_t n)
{
    const char *dot = styles[x->how->utf8].dot;
    if (!n || x->how->checkpoints)
        return;
    (void)fputs("  ", x->out);
    if (n > DOTS)
        (void)fprintf(x->out, "%s x %zu", dot, n);
    else
        while (n--)
            (void)fputs(dot, x->out);
}

/* The other threads that end here. */
static void draw_threads(const struct drawing *x, const struct wa_summary_node *n)
{
    size_t others = 0;
    char id[64];
    for (size_t i = 0; i < n->n_threads; i++) {
        if (wb_uuid_eq(n->threads[i].id, x->thread->id))
            continue;
        if (others++ >= THREADS)
            continue;
        (void)fputs(others == 1 ? "  <- " : ", ", x->out);
        draw_in(x, CLI_CYAN, wb_cstr(cli_id("thread_", n->threads[i].id, id)));
        if (n->threads[i].messages < n->messages)
            (void)fprintf(x->out, " at %u", n->threads[i].messages);
    }
    if (others > THREADS)
        (void)fprintf(x->out, " and %zu more", others - THREADS);
}

static void draw_checkpoints(const struct drawing *x, const struct wa_summary_node *n)
{
    for (size_t i = 0; x->how->checkpoints && i < n->n_checkpoints; i++) {
        const struct wa_summary_checkpoint *cp = &n->checkpoints[i];
        struct wb_time time = wb_time_from_ms(cp->time_ms);
        char text[WB_TIME_TEXT];
        draw_lines(x, false);
        (void)fprintf(x->out, "%s%s ", n->n_children ? styles[x->how->utf8].pass : styles[x->how->utf8].gap,
                      styles[x->how->utf8].dot);
        draw_in(x, CLI_CYAN, cp->id);
        (void)fputs("  ", x->out);
        draw_in(x, CLI_DIM, wb_time_upp(&time, text));
        (void)fprintf(x->out, "  step %u, %u message%s%s\n", cp->step, cp->messages, cp->messages == 1 ? "" : "s",
                      cp->imported ? ", imported" : "");
    }
}

static void draw_node(const struct drawing *x)
{
    uint32_t at = x->nodes[x->depth];
    const struct wa_summary_node *n = &x->look->nodes[at];
    bool current = at == x->look->current;
    draw_lines(x, true);
    if (x->how->numbers)
        (void)fprintf(x->out, "[%u] ", at + 1);
    if (current)
        draw_in(x, CLI_GREEN, UPP_STR("* "));
    if (x->depth)
        (void)fprintf(x->out, "at %u", n->branch);
    else
        (void)fputs("root", x->out);
    if (n->node.name.n) {
        (void)fputs(" (", x->out);
        draw_in(x, CLI_BOLD, n->node.name);
        (void)fputs(")", x->out);
    }
    (void)fputs("  ", x->out);
    if (current && x->look->messages < n->messages)
        (void)fprintf(x->out, "%u of ", x->look->messages);
    (void)fprintf(x->out, "%u message%s", n->messages, n->messages == 1 ? "" : "s");
    if (n->node.origin.p)
        (void)fputs(", imported", x->out);
    draw_dots(x, n->n_checkpoints);
    if (n->words.n)
        draw_words(x, n->words);
    draw_threads(x, n);
    (void)putc('\n', x->out);
    draw_checkpoints(x, n);
}

static void draw_head(const struct drawing *x)
{
    uint64_t messages = 0;
    char id[64];
    for (size_t i = 0; i < x->look->n; i++)
        messages += x->look->nodes[i].messages;
    draw_in(x, CLI_CYAN, wb_cstr(cli_id("thread_", x->thread->id, id)));
    (void)fprintf(x->out, "  %zu node%s, %llu message%s, %zu checkpoint%s\n", x->look->n, x->look->n == 1 ? "" : "s",
                  (unsigned long long)messages, messages == 1 ? "" : "s", x->look->n_checkpoints,
                  x->look->n_checkpoints == 1 ? "" : "s");
}

int cli_draw_tree(FILE *out, const struct wl_thread *t, const struct wa_tree_summary *l, const struct cli_drawing *how,
                  struct upp_err *err)
{
    struct drawing x = {.out = out, .thread = t, .look = l, .how = how, .memory = WB_ARENA(16u << 20)};
    x.nodes = wb_new_n(&x.memory, uint32_t, l->n);
    x.next = wb_new_n(&x.memory, size_t, l->n);
    int r = wb_arena_check(&x.memory, err);
    if (r >= 0) {
        draw_head(&x);
        x.nodes[0] = l->root;
        draw_node(&x);
        for (;;) { /* no recursion: a tree may be thousands of nodes deep */
            const struct wa_summary_node *n = &l->nodes[x.nodes[x.depth]];
            if (x.next[x.depth] < n->n_children) {
                x.nodes[x.depth + 1] = n->children[x.next[x.depth]++];
                x.next[++x.depth] = 0;
                draw_node(&x);
            } else if (!x.depth--)
                break;
        }
    }
    wb_arena_done(&x.memory);
    return r;
}

bool cli_draws_utf8(FILE *out)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    if (!isatty(fileno(out)))
        return false;
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str value = wb_cstr(getenv(names[i]));
        if (!value.n)
            continue;
        size_t dot = wb_str_find(value, UPP_STR("."), 0);
        struct upp_str set = dot == SIZE_MAX ? (struct upp_str){NULL, 0} : wb_str_sub(value, dot + 1, SIZE_MAX);
        size_t modifier = wb_str_find(set, UPP_STR("@"), 0);
        set = wb_str_sub(set, 0, modifier);
        return wb_str_eq_nocase(set, UPP_STR("utf-8")) || wb_str_eq_nocase(set, UPP_STR("utf8"));
    }
    return false;
}
