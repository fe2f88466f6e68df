/* stores/columns.c — the tables of columns, in the order of the SQL tables. */
#include "stores/columns.h"

#include <stddef.h>

#include "base/defs.h"
#include "stores/check.h"

#define AT(type_, member)                                                                                              \
    {                                                                                                                  \
        .type = (type_), .at = offsetof(T, member)                                                                     \
    }
#define WITH(type_, member, ...)                                                                                       \
    {                                                                                                                  \
        .type = (type_), .at = offsetof(T, member), __VA_ARGS__                                                        \
    }
#define KIND(columns_, groups_)                                                                                        \
    {                                                                                                                  \
        .size = sizeof(T), .columns = (columns_), .n = WB_LEN(columns_), .groups = (groups_)                           \
    }

#define T struct wl_row
static const struct ws_column row[] = {
    AT(WS_U64, node),
    AT(WS_U64, pos),
    AT(WS_U32, n_entries),
    AT(WS_ID_OR_NONE, run),
    AT(WS_U32, format),
    WITH(WS_TEXT, body, .seal = 1, .home = true),
    WITH(WS_TEXT, tape, .seal = 1),
};
const struct ws_kind ws_rows = KIND(row, 1);
#undef T

#define T struct wl_node
static const struct ws_column node[] = {
    AT(WS_U64, key),
    AT(WS_ID, id),
    AT(WS_ID, tree),
    AT(WS_U64, parent),
    AT(WS_U32, parent_length),
    AT(WS_ID_OR_NONE, holder),
    AT(WS_U64, created_ms),
    WITH(WS_TEXT, name, .seal = 1, .what = "the name of a branch", .max = WS_TEXT_MAX),
    WITH(WS_TEXT, metadata, .seal = 1, .home = true, .optional = true, .what = "the metadata of a branch",
         .max = WS_TEXT_MAX), /* a fork has none: costs nothing */
    WITH(WS_TEXT, origin, .seal = 2, .home = true, .optional = true, .what = "the origin of a branch",
         .max = WS_TEXT_MAX),
};
const struct ws_kind ws_nodes = KIND(node, 2);
#undef T

#define T struct wl_thread
static const struct ws_column thread[] = {
    AT(WS_ID, id),
    WITH(WS_ID, tree, .fixed = true),
    WITH(WS_ID_OR_NONE, parent, .fixed = true),
    AT(WS_NAME, owner.user),
    AT(WS_U64, head),
    WITH(WS_U8, kind, .fixed = true),
    AT(WS_U32, version),
    AT(WS_U64, queued),
    WITH(WS_TEXT, title, .seal = 1, .what = "a title", .max = WS_TEXT_MAX),
    WITH(WS_TEXT, metadata, .seal = 1, .home = true, .what = "the metadata of a thread", .max = WS_TEXT_MAX),
    WITH(WS_U64, created_ms, .fixed = true),
    AT(WS_U64, updated_ms),
    AT(WS_U32, at),
};
const struct ws_kind ws_threads = KIND(thread, 1);
#undef T

#define T struct wm_run
static const struct ws_column run[] = {
    AT(WS_ID, id),
    WITH(WS_ID, root, .fixed = true),
    WITH(WS_ID_OR_NONE, parent, .fixed = true),
    WITH(WS_ID, thread, .fixed = true),
    AT(WS_U64, node),
    AT(WS_U64, first),
    AT(WS_U32, input),
    AT(WS_U32, version),
    WITH(WS_U16, depth, .fixed = true),
    AT(WS_U8, status),
    AT(WS_U8, durability),
    AT(WS_BOOL, cancel),
    AT(WS_U32, epoch),
    AT(WS_U64, queue),
    WITH(WS_TEXT, agent, .seal = 1, .what = "an agent's name", .max = WS_NAME_MAX),
    WITH(WS_TEXT, call, .fixed = true, .seal = 2, .home = true, .optional = true, .what = "the id of a call",
         .max = WS_NAME_MAX), /* it never changes, so it is sealed separately */
    WITH(WS_TEXT, options, .seal = 1, .home = true, .what = "the options of a run", .max = WS_TEXT_MAX),
    WITH(WS_TEXT, error, .seal = 1, .what = "the error of a run", .max = WS_TEXT_MAX),
    AT(WS_U64, usage.input),
    AT(WS_U64, usage.output),
    AT(WS_U64, usage.cache_read),
    AT(WS_U64, usage.cache_write),
    WITH(WS_U64, created_ms, .fixed = true),
    AT(WS_U64, started_ms),
    AT(WS_U64, ended_ms),
    AT(WS_U64, expires_ms),
    AT(WS_BOOL, swept),
    AT(WS_ID_OR_NONE, engine),
};
const struct ws_kind ws_runs = KIND(run, 2);
#undef T

#define T struct wl_alias
static const struct ws_column alias[] = {
    AT(WS_U8, kind),
    WITH(WS_NAME, text, .what = "an alias", .max = WS_NAME_MAX),
    AT(WS_ID, object),
};
const struct ws_kind ws_aliases = KIND(alias, 0);
#undef T

#define T struct wl_key
static const struct ws_column key[] = {
    WITH(WS_NAME, route, .what = "a route", .max = WS_NAME_MAX),
    WITH(WS_NAME, key, .what = "an idempotency key", .max = WS_NAME_MAX),
    AT(WS_HASH, body),
    AT(WS_ID, object),
    AT(WS_U64, created_ms),
};
const struct ws_kind ws_keys = KIND(key, 0);
#undef T

#define T struct wl_value
static const struct ws_column value[] = {
    WITH(WS_NAME, space, .what = "the space of a value", .max = WS_NAME_MAX),
    WITH(WS_NAME, name, .what = "the name of a value", .max = WS_NAME_MAX),
    WITH(WS_TEXT, bytes, .seal = 1, .home = true, .what = "a value", .max = WS_VALUE_MAX),
};
const struct ws_kind ws_values = KIND(value, 1);
#undef T

#define T struct wl_piece
static const struct ws_column piece[] = {
    AT(WS_HASH, key),
    AT(WS_U32, number),
    AT(WS_BOOL, last),
    AT(WS_NAME, bytes),
};
const struct ws_kind ws_pieces = KIND(piece, 0);
#undef T

/* With more behind the run (log/store.h). */
static const struct ws_kind live_runs = {sizeof(struct wl_live_run), run, WB_LEN(run), 2};
static const struct ws_kind old_runs = {sizeof(struct wl_old_run), run, WB_LEN(run), 2};

static const struct ws_column tenant[] = {{.type = WS_NAME}};
static const struct ws_kind tenants = {sizeof(struct upp_str), tenant, 1, 0};
static const struct ws_column blob[] = {{.type = WS_HASH}};
static const struct ws_kind blobs = {sizeof(struct wl_blob_key), blob, 1, 0};
static const struct ws_column progress[] = {{.type = WS_U64, .at = offsetof(struct wl_progress, upto)},
                                            {.type = WS_U64, .at = offsetof(struct wl_progress, end)}};
static const struct ws_kind learned = {sizeof(struct wl_progress), progress, 2, 0};
static const struct ws_column stored[] = {{.type = WS_U64, .at = offsetof(struct wl_size, bytes)}};
static const struct ws_kind amount = {sizeof(struct wl_size), stored, 1, 0};

const struct ws_kind *ws_kind_of(enum wl_what what)
{
    static const struct ws_kind *const kinds[WL_WHATS] = {
        [WL_GET_NODE] = &ws_nodes,
        [WL_GET_THREAD] = &ws_threads,
        [WL_GET_RUN] = &ws_runs,
        [WL_GET_ALIAS] = &ws_aliases,
        [WL_GET_KEY] = &ws_keys,
        [WL_GET_VALUE] = &ws_values,
        [WL_GET_PIECE] = &ws_pieces,
        [WL_GET_INDEX_PROGRESS] = &learned,
        [WL_GET_BYTES] = &amount,
        [WL_LIST_THREADS] = &ws_threads,
        [WL_LIST_FAMILY_NODES] = &ws_nodes,
        [WL_LIST_FAMILY_THREADS] = &ws_threads,
        [WL_LIST_RUNS] = &ws_runs,
        [WL_LIST_RUNS_UP] = &ws_runs,
        [WL_LIST_OWN_RUNS] = &ws_runs,
        [WL_LIST_OWN_RUNS_UP] = &ws_runs,
        [WL_LIST_WAITING] = &ws_runs,
        [WL_LIST_RUNS_LIVE] = &ws_runs,
        [WL_LIST_LIVE] = &live_runs,
        [WL_LIST_OLD_RUNS] = &old_runs,
        [WL_LIST_VALUES] = &ws_values,
        [WL_LIST_TENANTS] = &tenants,
        [WL_LIST_UNREFERENCED_BLOBS] = &blobs,
    };
    return kinds[what];
}

size_t ws_texts_bytes(const struct ws_kind *k, const void *thing)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++)
        n += ws_is_text(&k->columns[i]) ? ws_text(&k->columns[i], thing)->n : 0;
    return n;
}

void ws_texts_copy(const struct ws_kind *k, void *thing, char *to)
{
    for (size_t i = 0; i < k->n; i++) {
        struct upp_str *s = ws_text(&k->columns[i], thing);
        if (!ws_is_text(&k->columns[i]) || !s->p)
            continue;
        if (s->n)
            memcpy(to, s->p, s->n);
        s->p = to;
        to += s->n;
    }
}

void ws_texts_dup(const struct ws_kind *k, void *thing, struct wb_arena *a)
{
    for (size_t i = 0; i < k->n; i++)
        if (ws_is_text(&k->columns[i]))
            *ws_text(&k->columns[i], thing) = wb_arena_dup(a, *ws_text(&k->columns[i], thing));
}

int ws_text_check(const char *what, struct upp_str s, size_t max, struct upp_err *err)
{
    if (s.n <= max)
        return 0;
    return upp_fail(err, UPP_ELIMIT, "%s of %zu bytes, at most %zu are allowed", what, s.n, max);
}

int ws_texts_check(const struct ws_kind *k, const void *thing, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < k->n; i++)
        if (k->columns[i].max)
            r = ws_text_check(k->columns[i].what, *ws_text(&k->columns[i], thing), k->columns[i].max, err);
    return r;
}

void ws_fixed_copy(const struct ws_kind *k, void *thing, const void *old)
{
    static const uint8_t sizes[] = {
        [WS_U8] = 1,
        [WS_U16] = 2,
        [WS_U32] = 4,
        [WS_U64] = 8,
        [WS_BOOL] = 1,
        [WS_ID] = 16,
        [WS_ID_OR_NONE] = 16,
        [WS_HASH] = 32,
        [WS_TEXT] = sizeof(struct upp_str),
        [WS_NAME] = sizeof(struct upp_str),
    };
    for (size_t i = 0; i < k->n; i++) {
        const struct ws_column *c = &k->columns[i];
        if (c->fixed)
            memcpy((char *)thing + c->at, (const char *)old + c->at, sizes[c->type]);
    }
}
