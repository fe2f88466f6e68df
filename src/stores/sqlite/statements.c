/* stores/sqlite/statements.c — the texts of the SQL statements. */
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

_Static_assert(WM_COMPLETED == 5, "status < 5 in the SQL below means: has not ended");

/* Verifies the tenant's row too: a damaged index that led to another tenant's number would expose that tenant's
 * data. */
#define TENANT    "(SELECT id FROM tenants WHERE name = ?1 AND " WS_WHOLE("tenants", WS_OF_TENANTS) ")"
#define OF_TENANT "tenant = " TENANT
#define THREAD    WS_OF_THREAD ", " WS_WHOLE("threads", WS_OF_THREADS)
#define RUN       WS_OF_RUN ", engine, " WS_WHOLE("runs", WS_OF_RUNS)

/* Every reader verifies the checksum of a row: after its columns comes weft_whole, or the checksum itself. */
#define NODE                                                                                                           \
    "n.key, n.id, n.tree, n.parent, n.parent_length, n.holder, n.created, b.name, b.metadata, b.origin,"               \
    " weft_whole(n.sum, 'nodes', n.tenant, n.key, n.id, n.tree, n.parent, n.parent_length, n.holder, n.created),"      \
    " CASE WHEN b.key IS NOT NULL THEN"                                                                                \
    " weft_whole(b.sum, 'branches', b.tenant, b.key, b.name, b.metadata, b.origin) END"
#define BRANCH " LEFT JOIN branches b ON b.tenant = n.tenant AND b.key = n.key"

/* A new row: its columns, and the values bound to them. */
#define ADD(table, columns, values) "INTO " table "(" columns ", sum) VALUES(" values ", " WS_SUM(table, values) ")"
#define P_3                         "?1,?2,?3"
#define P_5                         P_3 ",?4,?5"
#define P_8                         P_5 ",?6,?7,?8"
#define P_14                        P_8 ",?9,?10,?11,?12,?13,?14"
#define P_29                        P_14 ",?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28,?29"

/* Sets five columns of a blob's row, and its checksum. */
#define SET_BLOB(key, pieces, whole, refs, loose)                                                                      \
    "UPDATE blobs SET key = " key ", pieces = " pieces ", whole = " whole ", refs = " refs ", loose = " loose ","      \
    " sum = " WS_SUM("blobs", "tenant, " key ", " pieces ", " whole ", " refs ", " loose)

const char *const ws_statements[WS_STATEMENTS] = {
#define WS_STATEMENT(name, sql) [name] = sql,
#define WS_STATEMENTS_END(name)
#include "stores/sqlite/statement_list.h"
};
