/* upp/providers/google_args.c — arguments that come in pieces, each with its place in the whole. */
#include "upp/providers/google_args.h"

#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"

enum kind { NOTHING, STRING, NUMBER, TRUE, FALSE, OBJECT, ARRAY }; /* NOTHING is written as null */

struct piece {
    struct upp_str text;
    struct piece *next;
};

struct node {
    enum kind kind;
    struct upp_str name;       /* in an object */
    struct upp_str number;     /* NUMBER */
    struct piece *head, *tail; /* STRING */
    struct node *first, *last; /* OBJECT, ARRAY */
    size_t n;                  /* children */
    struct node *next;
};

struct upp__google_args {
    struct wb_arena *arena;
    size_t nodes, looks;
    struct node root;
};

struct upp__google_args *upp__google_args_new(struct wb_arena *a)
{
    struct upp__google_args *args = wb_new(a, struct upp__google_args);
    if (args) {
        args->arena = a;
        args->root.kind = OBJECT;
    }
    return args;
}

/* One step of a path: a name, or an index. */
struct step {
    bool indexed;
    struct upp_str name;
    uint64_t index;
};

static bool take_bare(struct upp_str *path, struct step *ret)
{
    size_t end = 0;
    while (end < path->n && path->p[end] != '.' && path->p[end] != '[')
        end++;
    *ret = (struct step){.name = wb_str_sub(*path, 0, end)};
    *path = wb_str_sub(*path, end, SIZE_MAX);
    return end > 0;
}

/* ['it\'s'] or ["a"]; what was before the bracket is gone. */
static bool take_quoted(struct wb_arena *a, struct upp_str *path, struct step *ret)
{
    char quote = path->p[0];
    char *to = wb_arena_alloc(a, path->n, 1);
    size_t n = 0, at = 1;
    for (; to && at < path->n && path->p[at] != quote; at++) {
        if (path->p[at] == '\\' && at + 1 < path->n)
            at++;
        to[n++] = path->p[at];
    }
    *ret = (struct step){.name = wb_str(to, n)};
    if (!to || at + 1 >= path->n || path->p[at + 1] != ']' || !wb_wtf8_valid(ret->name, NULL))
        return false; /* a backslash between two halves of a pair is gone, and what is left is no text */
    *path = wb_str_sub(*path, at + 2, SIZE_MAX);
    return true;
}

static bool take_index(struct upp_str *path, struct step *ret)
{
    size_t end = wb_str_find(*path, UPP_STR("]"), 0);
    if (end == SIZE_MAX)
        return false;
    *ret = (struct step){.indexed = true};
    struct upp_str text = wb_str_sub(*path, 0, end);
    *path = wb_str_sub(*path, end + 1, SIZE_MAX);
    return wb_str_u64(text, &ret->index);
}

/* Takes a step off the path; false: there is none. */
static bool take_step(struct wb_arena *a, struct upp_str *path, struct step *ret)
{
    char first = path->p[0];
    *path = wb_str_sub(*path, 1, SIZE_MAX);
    if (first == '.')
        return take_bare(path, ret);
    if (first != '[' || !path->n)
        return false;
    return path->p[0] == '\'' || path->p[0] == '"' ? take_quoted(a, path, ret) : take_index(path, ret);
}

static struct node *add_child(struct upp__google_args *args, struct node *of, struct upp_str name)
{
    struct node *child = args->nodes < UPP__GOOGLE_NODES ? wb_new(args->arena, struct node) : NULL;
    if (!child)
        return NULL;
    args->nodes++;
    child->name = wb_arena_dup(args->arena, name);
    *(of->last ? &of->last->next : &of->first) = child;
    of->last = child;
    of->n++;
    return child;
}

/* Pieces come in the order of the text, most of them: the newest child is looked at first. */
static struct node *named_child(struct upp__google_args *args, struct node *of, struct upp_str name)
{
    if (of->last && wb_str_eq(of->last->name, name))
        return of->last;
    for (struct node *c = of->first; c; c = c->next) {
        if (wb_str_eq(c->name, name))
            return c;
        if (++args->looks > UPP__GOOGLE_LOOKS)
            return NULL;
    }
    return add_child(args, of, name);
}

static struct node *indexed_child(struct upp__google_args *args, struct node *of, uint64_t index)
{
    while (of->n <= index)
        if (!add_child(args, of, (struct upp_str){0}))
            return NULL;
    if (index == of->n - 1)
        return of->last;
    struct node *c = of->first;
    args->looks += index;
    while (args->looks <= UPP__GOOGLE_LOOKS && index-- > 0)
        c = c->next;
    return args->looks <= UPP__GOOGLE_LOOKS ? c : NULL;
}

static int no_path(struct upp_str path, struct upp_err *err)
{
    return upp_fail(err, UPP_EPROTO, "arguments of a call come in pieces, and '%.*s' is no place in them",
                    UPP_FMT(wb_str_sub(path, 0, 64)));
}

static int find_place(struct upp__google_args *args, struct upp_str path, struct node **ret, struct upp_err *err)
{
    struct upp_str rest = wb_str_sub(path, 1, SIZE_MAX);
    struct node *at = &args->root;
    unsigned depth = 0;
    if (!wb_str_starts(path, UPP_STR("$")) || !rest.n)
        return no_path(path, err);
    while (rest.n) {
        struct step step;
        if (!take_step(args->arena, &rest, &step)) {
            int r = wb_arena_check(args->arena, err);
            return r < 0 ? r : no_path(path, err);
        }
        enum kind wanted = step.indexed ? ARRAY : OBJECT;
        if (at->kind != wanted && at->kind != NOTHING)
            return no_path(path, err);
        if (++depth >= WJ_MAX_DEPTH)
            return upp_fail(err, UPP_ELIMIT, "arguments of a call are nested more than %d deep", WJ_MAX_DEPTH);
        at->kind = wanted;
        at = step.indexed ? indexed_child(args, at, step.index) : named_child(args, at, step.name);
        if (!at) {
            int r = wb_arena_check(args->arena, err);
            return r < 0 ? r
                         : upp_fail(err, UPP_ELIMIT, "a call has more than %d arguments, or they come in no order",
                                    UPP__GOOGLE_NODES);
        }
    }
    *ret = at;
    return 0;
}

static void add_text(struct upp__google_args *args, struct node *at, struct upp_str text)
{
    struct piece *p = wb_new(args->arena, struct piece);
    if (!p)
        return;
    p->text = wb_arena_dup(args->arena, text);
    *(at->tail ? &at->tail->next : &at->head) = p;
    at->tail = p;
}

int upp__google_args_add(struct upp__google_args *args, yyjson_val *piece, struct upp_err *err)
{
    yyjson_val *text = upp__get(piece, "stringValue"), *number = upp__get(piece, "numberValue"),
               *flag = upp__get(piece, "boolValue"), *nothing = upp__get(piece, "nullValue");
    struct node *at = NULL;
    if (!text && !number && !flag && !nothing)
        return 0;
    int r = find_place(args, upp__get_str(piece, "jsonPath"), &at, err);
    if (r < 0)
        return r;
    if (at->kind == OBJECT || at->kind == ARRAY)
        return no_path(upp__get_str(piece, "jsonPath"), err);
    if (yyjson_is_str(text)) {
        at->kind = STRING;
        add_text(args, at, wj_text(text));
    } else if (yyjson_is_raw(number)) {
        at->kind = NUMBER;
        at->number = wb_arena_dup(args->arena, wj_text(number));
    } else if (yyjson_is_bool(flag))
        at->kind = yyjson_is_true(flag) ? TRUE : FALSE;
    else
        at->kind = NOTHING;
    return wb_arena_check(args->arena, err);
}

static void write_string(const struct node *n, struct wj_writer *w)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(64u << 20);
    for (const struct piece *p = n->head; p; p = p->next)
        wb_wtf8_add(&all, p->text);
    if (all.failed)
        wj_writer_fail(w, all.failed);
    else
        wj_write_str(w, wb_buf_str(&all));
}

/* Not deeper than find_place lets it be. */
static void write_node(const struct node *n, struct wj_writer *w)
{
    switch (n->kind) {
    case NOTHING:
        wj_write_null(w);
        break;
    case STRING:
        write_string(n, w);
        break;
    case NUMBER:
        wj_write_num(w, n->number);
        break;
    case TRUE:
    case FALSE:
        wj_write_bool(w, n->kind == TRUE);
        break;
    case OBJECT:
    case ARRAY:
        wj_write_open(w, n->kind == OBJECT ? '{' : '[');
        for (const struct node *c = n->first; c; c = c->next) {
            if (n->kind == OBJECT)
                wj_write_name(w, c->name);
            write_node(c, w);
        }
        wj_write_close(w, n->kind == OBJECT ? '}' : ']');
        break;
    }
}

void upp__google_args_write(const struct upp__google_args *args, struct wj_writer *w)
{
    write_node(&args->root, w);
}
