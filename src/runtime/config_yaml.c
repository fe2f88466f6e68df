/* runtime/config_yaml.c — nodes from libfyaml's events. Uses events, not its documents, so that we can count aliases.
 *
 * libfyaml allocates with malloc: it has no allocator hook. Version 0.7.12 leaks a few KiB in fy_token_get_text for a
 * scalar of many pieces (lines, escapes); its iterators do not leak, but repeat pieces of such a scalar.
 */
#include <libfyaml.h>
#include <stdio.h>

#include "base/utf8.h"
#include "runtime/config_read.h"

struct anchor {
    struct upp_str name;
    struct wc_node *node;
    struct anchor *next;
};

struct builder {
    struct wb_arena *arena;
    struct wc_node *root;
    struct wc_node *open[WC_MAX_DEPTH];      /* containers that are still open, outermost first */
    const struct wc_node *key[WC_MAX_DEPTH]; /* of a map: the key whose value comes next */
    unsigned depth, documents;
    struct anchor *anchors; /* newest first */
    unsigned n_anchors;
    struct wc_mark *at;
    struct upp_err *err;
};

static struct wc_mark place_of(struct fy_token *t)
{
    const struct fy_mark *m = t ? fy_token_start_mark(t) : NULL;
    return m ? (struct wc_mark){(uint32_t)m->line + 1, (uint32_t)m->column + 1} : (struct wc_mark){1, 1};
}

static struct upp_str text_of(struct fy_token *t)
{
    size_t n = 0;
    const char *p = t ? fy_token_get_text(t, &n) : NULL;
    return p ? wb_str(p, n) : UPP_STR("");
}

UPP_PRINTF(4, 5)
static int refuse(struct builder *b, struct wc_mark at, enum upp_code code, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *b->at = at;
    return upp_fail(b->err, code, "%s", text);
}

/* Adds the size of a finished node to all containers around it. */
static int grow(struct builder *b, struct wc_mark at, const struct wc_node *node)
{
    for (unsigned i = 0; i < b->depth; i++) {
        struct wc_node *up = b->open[i];
        up->weight += node->weight;
        if (up->weight > WC_MAX_WEIGHT)
            return refuse(b, at, UPP_ELIMIT, "the file is too large once its aliases are followed");
        if (up->height < node->height + (b->depth - i))
            up->height = (uint8_t)(node->height + (b->depth - i));
    }
    if (b->depth + node->height > WC_MAX_DEPTH)
        return refuse(b, at, UPP_ELIMIT, "nested deeper than %d levels", WC_MAX_DEPTH);
    return 0;
}

/* Adds a node to the innermost open container, or makes it the root. */
static int place_node(struct builder *b, struct wc_mark at, struct wc_node *node)
{
    int r = grow(b, at, node);
    if (r < 0)
        return r;
    if (b->depth == 0) {
        b->root = node;
        return 0;
    }
    struct wc_node *in = b->open[b->depth - 1];
    const struct wc_node **key = &b->key[b->depth - 1];
    if (in->kind == WC_MAP && !*key) {
        if (node->kind != WC_SCALAR)
            return refuse(b, at, UPP_EINVALID, "a key must be a text");
        *key = node;
        return 0;
    }
    struct wc_item *item = wb_new(b->arena, struct wc_item);
    if (!item)
        return wb_arena_check(b->arena, b->err);
    *item = (struct wc_item){.key = *key, .value = node};
    if (in->last)
        in->last->next = item;
    else
        in->first = item;
    in->last = item;
    in->n++;
    *key = NULL;
    return 0;
}

static int remember(struct builder *b, struct fy_token *name, struct wc_node *node)
{
    if (!name)
        return 0;
    if (b->n_anchors++ == WC_MAX_ANCHORS)
        return refuse(b, place_of(name), UPP_ELIMIT, "more than %d anchors", WC_MAX_ANCHORS);
    struct anchor *a = wb_new(b->arena, struct anchor);
    if (!a)
        return wb_arena_check(b->arena, b->err);
    *a = (struct anchor){.name = wb_arena_dup(b->arena, text_of(name)), .node = node, .next = b->anchors};
    b->anchors = a;
    return wb_arena_check(b->arena, b->err);
}

static int make(struct builder *b, enum wc_kind kind, struct fy_token *token, struct fy_token *anchor,
                struct fy_token *tag, struct wc_node **ret)
{
    struct wc_mark at = place_of(token ? token : anchor);
    struct wc_node *node = wb_new(b->arena, struct wc_node);
    if (tag)
        return refuse(b, place_of(tag), UPP_EINVALID, "tags are not read here");
    if (!node)
        return wb_arena_check(b->arena, b->err);
    *node = (struct wc_node){.kind = (uint8_t)kind, .line = at.line, .column = at.column, .weight = 1};
    int r = remember(b, anchor, node);
    *ret = node;
    return r;
}

static int scalar(struct builder *b, const struct fy_event_scalar_data *s)
{
    struct wc_node *node = NULL;
    int r = make(b, WC_SCALAR, s->value, s->anchor, s->tag, &node);
    if (r < 0)
        return r;
    enum fy_scalar_style style = fy_token_scalar_style(s->value);
    node->plain = style == FYSS_PLAIN;
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED)
        node->column -= node->column > 1; /* its token begins after the quote */
    node->text = wb_arena_dup(b->arena, text_of(s->value));
    node->weight += (uint32_t)node->text.n;
    r = wb_arena_check(b->arena, b->err);
    if (r == 0 && !wb_utf8_valid(node->text, NULL))
        return refuse(b, (struct wc_mark){node->line, node->column}, UPP_EINVALID, "this text is not UTF-8");
    return r < 0 ? r : place_node(b, (struct wc_mark){node->line, node->column}, node);
}

static int container(struct builder *b, enum wc_kind kind, struct fy_token *token, struct fy_token *anchor,
                     struct fy_token *tag)
{
    struct wc_node *node = NULL;
    int r = make(b, kind, token, anchor, tag, &node);
    if (r < 0)
        return r;
    struct wc_mark at = {node->line, node->column};
    if (b->depth == WC_MAX_DEPTH)
        return refuse(b, at, UPP_ELIMIT, "nested deeper than %d levels", WC_MAX_DEPTH);
    r = place_node(b, at, node);
    if (r < 0)
        return r;
    node->open = true;
    b->key[b->depth] = NULL;
    b->open[b->depth++] = node;
    return 0;
}

static int alias(struct builder *b, struct fy_token *token)
{
    struct wc_mark at = place_of(token);
    struct upp_str name = text_of(token);
    for (struct anchor *a = b->anchors; a; a = a->next)
        if (wb_str_eq(a->name, name)) {
            if (a->node->open)
                return refuse(b, at, UPP_EINVALID, "the alias '%.*s' stands inside its own anchor", UPP_FMT(name));
            return place_node(b, at, a->node);
        }
    return refuse(b, at, UPP_EINVALID, "there is no anchor '%.*s' before this alias", UPP_FMT(name));
}

static int take(struct builder *b, const struct fy_event *e)
{
    switch (e->type) {
    case FYET_DOCUMENT_START:
        if (b->documents++)
            return refuse(b, place_of(e->document_start.document_start), UPP_EINVALID,
                          "a second document: the file has one");
        return 0;
    case FYET_SCALAR:
        return scalar(b, &e->scalar);
    case FYET_ALIAS:
        return alias(b, e->alias.anchor);
    case FYET_MAPPING_START:
        return container(b, WC_MAP, e->mapping_start.mapping_start, e->mapping_start.anchor, e->mapping_start.tag);
    case FYET_SEQUENCE_START:
        return container(b, WC_LIST, e->sequence_start.sequence_start, e->sequence_start.anchor, e->sequence_start.tag);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        b->open[--b->depth]->open = false;
        return 0;
    default:
        return 0;
    }
}

static void ignore_diag(struct fy_diag *d, void *user, const char *p, size_t n)
{
    (void)d, (void)user, (void)p, (void)n;
}

/* The parser's first complaint. */
static int syntax_error(struct builder *b, struct fy_diag *diag)
{
    void *at = NULL;
    const struct fy_diag_error *e = fy_diag_errors_iterate(diag, &at);
    if (e && e->line > 0)
        return refuse(b, (struct wc_mark){(uint32_t)e->line, (uint32_t)(e->column > 0 ? e->column : 1)}, UPP_EINVALID,
                      "%s", e->msg ? e->msg : "this is not YAML");
    return refuse(b, (struct wc_mark){1, 1}, UPP_EINVALID, "%s", e && e->msg ? e->msg : "this is not YAML");
}

static int parse(struct builder *b, struct fy_parser *parser, struct fy_diag *diag)
{
    for (;;) {
        struct fy_event *e = fy_parser_parse(parser);
        if (!e)
            return fy_parser_get_stream_error(parser) ? syntax_error(b, diag) : 0;
        int r = take(b, e);
        bool end = e->type == FYET_STREAM_END;
        fy_parser_event_free(parser, e);
        if (r < 0 || end)
            return r;
    }
}

int wc_node_read(struct wb_arena *a, struct upp_str text, const struct wc_node **ret, struct wc_mark *at,
                 struct upp_err *err)
{
    struct builder b = {.arena = a, .at = at, .err = err};
    struct fy_diag_cfg talk = {.output_fn = ignore_diag, .level = FYET_ERROR};
    size_t bad;
    *at = (struct wc_mark){1, 1};
    if (text.n > WC_MAX_FILE)
        return upp_fail(err, UPP_ELIMIT, "the file is larger than %d KiB", WC_MAX_FILE >> 10);
    if (!wb_utf8_valid(text, &bad)) {
        for (size_t i = 0; i < bad; i++)
            *at = text.p[i] == '\n' ? (struct wc_mark){at->line + 1, 1} : (struct wc_mark){at->line, at->column + 1};
        return upp_fail(err, UPP_EINVALID, "the file is not UTF-8 here");
    }
    struct fy_diag *diag = fy_diag_create(&talk);
    if (!diag)
        return upp_fail(err, UPP_ENOMEM, "no memory to read YAML");
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg how = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = diag};
    struct fy_parser *parser = fy_parser_create(&how);
    int r;
    if (!parser || fy_parser_set_string(parser, text.n ? text.p : "\n", text.n ? text.n : 1) != 0)
        r = upp_fail(err, UPP_ENOMEM, "no memory to read YAML");
    else
        r = parse(&b, parser, diag);
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    if (r < 0)
        return r;
    *ret = b.root;
    return 0;
}
