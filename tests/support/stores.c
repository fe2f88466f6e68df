/* support/stores.c — opens every kind of store, and makes ids, nodes and commits to put in. */
#include "support/stores.h"

#include <stdio.h>
#include <string.h>

#include "model/id.h"
#include "stores/blobs/blobs.h"
#include "stores/memory/memory.h"
#include "stores/outbox/outbox.h"
#include "stores/sealed/sealed.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/vfs.h"

const struct ws_master test_master = {"a key of thirty-two bytes, so so"};

struct kind {
    const char *name;
    bool file;
    WEFT_SUSPENDS int (*open)(const char *path, struct wl_store **ret, struct upp_err *err);
};

static int open_memory(const char *path, struct wl_store **ret, struct upp_err *err)
{
    (void)path;
    return ws_memory_open(ret, err);
}

WEFT_SUSPENDS static int open_sqlite(const char *path, struct wl_store **ret, struct upp_err *err)
{
    return ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path, .index = WL_INDEX_SUBSTRINGS), ret, err);
}

WEFT_SUSPENDS static int open_blobs_memory(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_memory(path, &inner, err));
    return ws_blobs_open(inner, ret, err);
}

WEFT_SUSPENDS static int open_blobs_sqlite(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_sqlite(path, &inner, err));
    return ws_blobs_open(inner, ret, err);
}

WEFT_SUSPENDS static int open_sealed_memory(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_memory(path, &inner, err));
    return ws_sealed_open(inner, &test_master, ret, err);
}

WEFT_SUSPENDS static int open_sealed_sqlite(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_sqlite(path, &inner, err));
    return ws_sealed_open(inner, &test_master, ret, err);
}

/* As a server with a key has it. */
WEFT_SUSPENDS static int open_blobs_sealed(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_sealed_sqlite(path, &inner, err));
    return ws_blobs_open(inner, ret, err);
}

/* And with webhooks. */
WEFT_SUSPENDS static int open_outbox(const char *path, struct wl_store **ret, struct upp_err *err)
{
    struct wl_store *inner;
    TRY(open_blobs_sealed(path, &inner, err));
    return ws_outbox_open(inner, 1 << WS_DUE_END | 1 << WS_DUE_WAIT, ret, err);
}

static const struct kind kinds[] = {
    {"memory", false, open_memory},
    {"sqlite", true, open_sqlite},
    {"blobs-memory", false, open_blobs_memory},
    {"blobs-sqlite", true, open_blobs_sqlite},
    {"sealed-memory", false, open_sealed_memory},
    {"sealed-sqlite", true, open_sealed_sqlite},
    {"blobs-sealed-sqlite", true, open_blobs_sealed},
    {"outbox-blobs-sealed-sqlite", true, open_outbox},
};

struct running {
    const struct kind *kind;
    struct test_store t;
    WEFT_SUSPENDS int (*fn)(struct test_store *t, struct upp_err *err);
};

WEFT_SUSPENDS static int run_one(void *arg, struct upp_err *err)
{
    struct running *x = arg;
    TRY(x->kind->open(x->t.path, &x->t.s, err));
    int r = x->fn(&x->t, err);
    x->t.s->ops->close(x->t.s);
    return r;
}

bool test_each_store(WEFT_SUSPENDS int (*fn)(struct test_store *t, struct upp_err *err), void *arg)
{
    /* Where only some calls are made to fail, two kinds take turns with the rest: from test to test others. */
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    size_t turn = 0;
    for (const char *p = test_running()->name; *p; p++)
        turn = turn * 31 + (unsigned char)*p;
    for (size_t i = 0; i < KINDS; i++) {
        if (test_brief() && i && i != 1 + turn % (KINDS - 1))
            continue;
        static unsigned serial; /* new and empty, however often a test asks */
        char path[512];
        struct upp_err err = {0};
        (void)snprintf(path, sizeof path, "%s/%s-%u.db", test_folder(), kinds[i].name, serial++);
        struct running x = {&kinds[i], {NULL, kinds[i].name, kinds[i].file ? path : NULL, arg}, fn};
        test_note("store %s", kinds[i].name);
        int r = test_on_loop(run_one, &x, &err);
        if (r < 0)
            test_note("%d: %s", r, err.msg);
        if (!EXPECT(r >= 0))
            return false;
    }
    return true;
}

struct wb_uuid test_uuid(uint64_t n)
{
    struct wb_uuid u = {{0}};
    for (int i = 0; i < 8; i++)
        u.b[8 + i] = (unsigned char)(n >> (56 - 8 * i));
    u.b[6] = 0x40;
    u.b[0] = (unsigned char)(n * 151); /* so that the order of ids is not that of the numbers */
    return u;
}

WEFT_SUSPENDS int test_commit(struct wl_store *s, struct wl_owner o, const struct wl_change *c, size_t n,
                              size_t *conflict, struct upp_err *err)
{
    struct wl_commit x = {.owner = o, .changes = c, .n = n, .flags = WL_SYNCED, .conflict = SIZE_MAX};
    int r = wl_store_commit(s, &x, err);
    if (conflict)
        *conflict = x.conflict;
    return r;
}

struct wl_node test_node(uint64_t key)
{
    return (struct wl_node){.key = key, .id = test_uuid(key), .tree = test_uuid(1), .created_ms = 1};
}

struct wb_uuid test_family_uuid(uint32_t family, uint64_t n)
{
    struct wb_uuid u = {{0}};
    for (int i = 0; i < 4; i++)
        u.b[i] = (unsigned char)(family >> (24 - 8 * i));
    u.b[4] = (unsigned char)(n >> 8); /* the order of ids is that of the numbers */
    u.b[5] = (unsigned char)n;
    u.b[6] = 0x40;
    u.b[8] = 0x80;
    return u;
}

struct wl_node test_family_node(uint32_t family, uint64_t n)
{
    struct wb_uuid id = test_family_uuid(family, n);
    return (struct wl_node){.key = wm_key(id), .id = id, .tree = test_family_uuid(family, 1), .created_ms = 1};
}

struct wl_row test_row(uint64_t node, uint64_t pos, uint32_t n_entries, const char *body)
{
    return (struct wl_row){.node = node, .pos = pos, .n_entries = n_entries, .format = 1, .body = {body, strlen(body)}};
}

WEFT_SUSPENDS int test_fill(struct wl_store *s, struct wl_owner o, uint64_t node, uint32_t n, struct upp_err *err)
{
    struct wl_node x = test_node(node);
    TRY(COMMIT(s, o, NULL, err, ADD_NODE(&x)));
    for (uint32_t i = 0; i < n; i++) {
        char body[32];
        (void)snprintf(body, sizeof body, "row %u", i);
        struct wl_row row = test_row(node, wl_pos(i, 0), 1, body);
        TRY(COMMIT(s, o, NULL, err, ADD_ROW(&row)));
    }
    return 0;
}

static struct ws_vfs changing;

int test_db_open(const char *path, struct sqlite3 **ret)
{
    *ret = NULL;
    if (ws_vfs_init(&changing, NULL, NULL) < 0)
        return SQLITE_NOMEM;
    return sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, changing.name);
}

void test_db_close(struct sqlite3 *db)
{
    (void)sqlite3_close(db);
    ws_vfs_done(&changing);
}
