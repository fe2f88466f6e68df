/* json/read.c — text to values, within limits.
 *
 * yyjson parses strictly. Only if it refuses a text does wj_syntax parse it again, and either finds the error or finds
 * that lone surrogates are the only obstacle; a pre-pass then converts those, and yyjson reads the text once more.
 */
#include "json/read.h"

#include "base/defs.h"
#include "json/keys.h"
#include "json/surrogate.h"

/* yyjson stores a document in one block. The block begins in the arena's chunk if there is room, as for every small
 * text; else, and once it outgrows the chunk, it is allocated separately and adopted by the arena at the end. Nothing
 * else allocates from the arena meanwhile. */
struct source {
    struct wb_arena *arena;
    size_t max; /* of the block: the most that valid JSON of this length needs */
    bool over;
    bool inside; /* the block is the last allocation in the arena's chunk */
    char *block;
};

static bool source_may(struct source *s, size_t n)
{
    s->over |= n > s->max;
    return n <= s->max;
}

static void *source_alloc(void *ctx, size_t n)
{
    struct source *s = ctx;
    struct wb_arena *a = s->arena;
    if (s->block || !source_may(s, n))
        return NULL;
    s->inside = a->p && n + _Alignof(max_align_t) <= (size_t)(a->end - a->p);
    s->block = s->inside ? wb_arena_alloc(a, n, _Alignof(max_align_t)) : wb_block_alloc(n);
    return s->block;
}

static void *source_resize(void *ctx, void *p, size_t old, size_t n)
{
    struct source *s = ctx;
    struct wb_arena *a = s->arena;
    if (p != s->block || !source_may(s, n))
        return NULL;
    if (s->inside && n <= (size_t)(a->end - s->block)) {
        a->p = s->block + n;
        return p;
    }
    void *grown = s->inside ? wb_block_alloc(n) : wb_block_resize(p, n);
    if (!grown)
        return NULL;
    if (s->inside) {
        memcpy(grown, p, WB_MIN(old, n));
        a->p = s->block;
    }
    s->inside = false;
    return s->block = grown;
}

static void source_free(void *ctx, void *p)
{
    struct source *s = ctx;
    if (p != s->block)
        return;
    if (s->inside)
        s->arena->p = s->block;
    else
        wb_block_free(p);
    s->block = NULL;
}

/* Gives the first n bytes of the block to the arena. yyjson's estimate of the number of values is often far too
 * high. */
static void *source_commit(struct source *s, size_t n)
{
    void *shrunk = s->inside ? s->block : wb_block_resize(s->block, n);
    if (s->inside)
        s->arena->p = s->block + n;
    else
        wb_arena_adopt(s->arena, shrunk ? shrunk : s->block);
    return shrunk ? shrunk : s->block;
}

/* Are the values from v up to last nested at most `limit` deep? Walks them once, skipping containers with too few
 * values to be too deep. Recurses only beyond the depth of its own stack, so that WJ_DEPTH_MAX levels cost a few
 * calls. */
static bool shallow(yyjson_val *v, yyjson_val *last, unsigned limit)
{
    enum { LEVELS = 128 };
    yyjson_val *ends[LEVELS];
    unsigned depth = 0;
    while (v < last) {
        yyjson_val *end = v + 1;
        if (unsafe_yyjson_is_ctn(v)) {
            end = unsafe_yyjson_get_next(v);
            while (depth && v >= ends[depth - 1])
                depth--;
            if (depth == limit)
                return false;
            if ((size_t)(end - v) > limit - depth) {
                if (depth < LEVELS) {
                    ends[depth++] = end;
                    end = v + 1;
                } else if (!shallow(v, end, limit - depth))
                    return false;
            }
        }
        v = end;
    }
    return true;
}

struct job {
    struct wb_arena *arena;
    struct upp_str text;
    unsigned depth;
    char *copy; /* of the text, for yyjson to modify */
    bool lone;  /* it has lone surrogates */
};

/* Reads the first n bytes of the copy. *refused: yyjson rejected them as not JSON; the caller finds out why. */
static int read_once(struct job *j, size_t n, yyjson_read_flag flags, yyjson_val **root, size_t *values, bool *refused,
                     struct upp_err *err)
{
    struct source source = {.arena = j->arena, .max = 12 * j->text.n + 4096};
    yyjson_alc alc = {source_alloc, source_resize, source_free, &source};
    yyjson_read_err why;

    memset(j->copy + n, 0, YYJSON_PADDING_SIZE);
    yyjson_doc *doc = yyjson_read_opts(j->copy, n, flags | YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW, &alc, &why);
    *refused = !doc && (source.over || why.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION);
    if (*refused)
        return 0;
    if (!doc)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    if ((void *)doc != source.block) {
        yyjson_doc_free(doc);
        return upp_fail(err, UPP_EBUG, "this yyjson keeps documents in another way");
    }
    size_t at = (size_t)((char *)doc->root - (char *)doc);
    *values = doc->val_read;
    char *p = source_commit(&source, at + *values * sizeof(yyjson_val));
    *root = (yyjson_val *)(void *)(p + at);
    return wb_arena_check(j->arena, err);
}

/* For text that yyjson refused: finds the error, or converts the lone surrogates and reads again. */
static int read_any(struct job *j, yyjson_val **root, size_t *values, struct upp_err *err)
{
    bool refused;
    memcpy(j->copy, j->text.p, j->text.n);
    int r = read_once(j, j->text.n, 0, root, values, &refused, err);
    if (!refused)
        return r;

    struct wj_syntax seen;
    r = wj_syntax(j->text, j->depth, &seen, err);
    if (r < 0)
        return r;
    j->lone = true; /* the only valid JSON that yyjson refuses */
    size_t n = wj_surrogates_in(j->text, j->copy);
    r = read_once(j, n, YYJSON_READ_ALLOW_INVALID_UNICODE, root, values, &refused, err);
    return refused ? upp_fail(err, UPP_EBUG, "yyjson refused a text that is JSON") : r;
}

struct wb_library wj_library(void)
{
    char running[24];
    uint32_t v = yyjson_version(); /* 0x00MMmmpp */
    (void)snprintf(running, sizeof running, "%u.%u.%u", v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff);
    return wb_library("yyjson", YYJSON_VERSION_STRING, running);
}

int wj_read(struct wb_arena *a, struct upp_str text, const struct wj_read_opts *opts, yyjson_val **ret,
            struct upp_err *err)
{
    static const struct wj_read_opts none = {.size = sizeof none};
    const struct wj_read_opts *o = opts ? opts : &none;
    size_t max = o->max_bytes ? o->max_bytes : WJ_MAX_BYTES;
    struct job j = {.arena = a, .text = text, .depth = o->depth ? o->depth : WJ_MAX_DEPTH};

    if (!text.p)
        j.text = text = UPP_STR("");
    if (text.n > max || text.n > SIZE_MAX / 32)
        return upp_fail(err, UPP_ELIMIT, "expected at most %zu bytes of JSON, found %zu", max, text.n);
    if ((o->flags & WJ_SKIP_BOM) && wb_str_starts(text, UPP_STR("\xef\xbb\xbf")))
        j.text = wb_str_sub(text, 3, text.n);
    j.depth = WB_MIN(j.depth, (unsigned)WJ_DEPTH_MAX);
    j.copy = wb_arena_alloc(a, j.text.n + YYJSON_PADDING_SIZE, 1);
    if (!j.copy)
        return wb_arena_check(a, err);

    yyjson_val *root;
    size_t values;
    int r = read_any(&j, &root, &values, err);
    if (r < 0)
        return r;
    if (!shallow(root, root + values, j.depth)) {
        struct wj_syntax seen;
        r = wj_syntax(j.text, j.depth, &seen, err);
        return r < 0 ? r : upp_fail(err, UPP_EBUG, "two parsers do not agree on the depth of a text");
    }
    if (o->flags & WJ_UNIQUE) {
        r = wj_keys_unique(root, values, err);
        if (r < 0)
            return r;
    }
    if (o->utf8)
        *o->utf8 = !j.lone;
    *ret = root;
    return 0;
}
