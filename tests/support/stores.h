/* support/stores.h — every store under one suite: opening each, and small things to put in. */
#pragma once

#include "log/store.h"
#include "stores/sealed/sealed.h"
#include "support/fibers.h"

/* Runs fn, as a fiber on a loop of its own, once with each kind of store, new and empty. The first failure
 * ends it. */
struct test_store {
    struct wl_store *s;
    const char *kind;
    const char *path; /* of its file; NULL: it has none */
    void *arg;
};
bool test_each_store(WEFT_SUSPENDS int (*fn)(struct test_store *t, struct upp_err *err), void *arg);

extern const struct ws_master test_master; /* with which two of them are sealed */

/* Names made of a number. */
struct wb_uuid test_uuid(uint64_t n);

#define OWNER(tenant_, user_) ((struct wl_owner){UPP_STR(tenant_), UPP_STR(user_)})
#define ALICE                 OWNER("acme", "alice")
#define BOB                   OWNER("acme", "bob")
#define EVE                   OWNER("evil", "alice")

/* One synced commit; *conflict (may be NULL) as the store says. */
WEFT_SUSPENDS int test_commit(struct wl_store *s, struct wl_owner o, const struct wl_change *c, size_t n,
                              size_t *conflict, struct upp_err *err);
#define COMMIT(s, owner, conflict, err, ...)                                                                           \
    test_commit((s), (owner), (const struct wl_change[]){__VA_ARGS__},                                                 \
                sizeof((const struct wl_change[]){__VA_ARGS__}) / sizeof(struct wl_change), (conflict), (err))

#define ADD_ROW(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_ADD_ROW, .row = (p)                                                                                 \
    }
#define ADD_NODE(p)                                                                                                    \
    {                                                                                                                  \
        .kind = WL_ADD_NODE, .node = (p)                                                                               \
    }
#define ADD_THREAD(p)                                                                                                  \
    {                                                                                                                  \
        .kind = WL_ADD_THREAD, .thread = (p)                                                                           \
    }
#define SET_THREAD(p)                                                                                                  \
    {                                                                                                                  \
        .kind = WL_SET_THREAD, .thread = (p)                                                                           \
    }
#define ADD_RUN(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_ADD_RUN, .run = (p)                                                                                 \
    }
#define SET_RUN(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_SET_RUN, .run = (p)                                                                                 \
    }
#define ADD_ALIAS(p)                                                                                                   \
    {                                                                                                                  \
        .kind = WL_ADD_ALIAS, .alias = (p)                                                                             \
    }
#define ADD_KEY(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_ADD_KEY, .key = (p)                                                                                 \
    }
#define HOLD(n, a, b)                                                                                                  \
    {                                                                                                                  \
        .kind = WL_HOLD_NODE, .hold = {(n), (a), (b) }                                                                 \
    }

#define SET_NODE(p)                                                                                                    \
    {                                                                                                                  \
        .kind = WL_SET_NODE, .node = (p)                                                                               \
    }
#define DROP_NODE(p)                                                                                                   \
    {                                                                                                                  \
        .kind = WL_DROP_NODE, .node = (p)                                                                              \
    }
#define SET_ROW(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_SET_ROW, .row = (p)                                                                                 \
    }
#define DROP_THREAD(p)                                                                                                 \
    {                                                                                                                  \
        .kind = WL_DROP_THREAD, .thread = (p)                                                                          \
    }
#define DROP_RUN(p)                                                                                                    \
    {                                                                                                                  \
        .kind = WL_DROP_RUN, .run = (p)                                                                                \
    }
#define DROP_ALIAS(p)                                                                                                  \
    {                                                                                                                  \
        .kind = WL_DROP_ALIAS, .alias = (p)                                                                            \
    }
#define PUT_VALUE(p)                                                                                                   \
    {                                                                                                                  \
        .kind = WL_PUT_VALUE, .value = (p)                                                                             \
    }
#define DROP_VALUE(p)                                                                                                  \
    {                                                                                                                  \
        .kind = WL_DROP_VALUE, .value = (p)                                                                            \
    }
#define ADD_PIECE(p)                                                                                                   \
    {                                                                                                                  \
        .kind = WL_ADD_PIECE, .piece = (p)                                                                             \
    }
#define ADD_REF(p)                                                                                                     \
    {                                                                                                                  \
        .kind = WL_ADD_REF, .ref = (p)                                                                                 \
    }
#define DROP_REF(p)                                                                                                    \
    {                                                                                                                  \
        .kind = WL_DROP_REF, .ref = (p)                                                                                \
    }
#define DROP_BLOB(p)                                                                                                   \
    {                                                                                                                  \
        .kind = WL_DROP_BLOB, .blob = (p)                                                                              \
    }
#define NAME_BLOB(a, b)                                                                                                \
    {                                                                                                                  \
        .kind = WL_NAME_BLOB, .name = {(a), (b) }                                                                      \
    }

struct wl_node test_node(uint64_t key);
/* In the tree test_family_uuid(family, 1), with an id of that family. */
struct wl_node test_family_node(uint32_t family, uint64_t n);
struct wb_uuid test_family_uuid(uint32_t family, uint64_t n);
struct wl_row test_row(uint64_t node, uint64_t pos, uint32_t n_entries, const char *body);

/* Opens a database as another program would, but with checksums of pages: for changing what is in its rows. One at a
 * time; test_db_close also after a failure. */
struct sqlite3;
int test_db_open(const char *path, struct sqlite3 **ret);
void test_db_close(struct sqlite3 *db);

/* A node with n rows of one entry each, committed one by one. */
WEFT_SUSPENDS int test_fill(struct wl_store *s, struct wl_owner o, uint64_t node, uint32_t n, struct upp_err *err);
