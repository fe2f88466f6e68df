/* stores/sqlite/statement_list.h — the statements: WS_STATEMENT(name, SQL) for each, defined by the includer.
 *
 * No #pragma once: it is included for their names (store.h) and for their texts (statements.c).
 */
/* clang-format off */

/* The writer's. */

WS_STATEMENT(WS_BEGIN, "BEGIN IMMEDIATE")
WS_STATEMENT(WS_COMMIT, "COMMIT")
WS_STATEMENT(WS_ROLLBACK, "ROLLBACK")
WS_STATEMENT(WS_SAVE, "SAVEPOINT one")
WS_STATEMENT(WS_SAVE_END, "RELEASE one")
WS_STATEMENT(WS_SAVE_UNDO, "ROLLBACK TO one")
WS_STATEMENT(WS_TENANT, "SELECT id FROM tenants WHERE name = ?1 AND " WS_WHOLE("tenants", WS_OF_TENANTS))
WS_STATEMENT(WS_ADD_TENANT,
    "INSERT INTO tenants(id, name, sum)"
    " SELECT x, ?1, " WS_SUM("tenants", "x, ?1")
    " FROM (SELECT ifnull(max(id), 0) + 1 AS x FROM tenants)")
WS_STATEMENT(WS_NODE_END,
    "SELECT " WS_OF_LOG ", sum FROM log"
    " WHERE tenant = ?1 AND node = ?2"
    " ORDER BY pos DESC LIMIT 1")
WS_STATEMENT(WS_NODE_IS, "SELECT " WS_WHOLE("nodes", WS_OF_NODES) " FROM nodes WHERE tenant = ?1 AND key = ?2")
WS_STATEMENT(WS_ADD_ROW, "INSERT INTO log(" WS_OF_LOG ", sum) VALUES(" P_8 ",?9)")
WS_STATEMENT(WS_ADD_NODE, "INSERT " ADD("nodes", WS_OF_NODES, P_8))
WS_STATEMENT(WS_HOLD_NODE,
    "UPDATE nodes"
    " SET holder = ?4, sum = " WS_SUM("nodes", "tenant, key, id, tree, parent, parent_length, ?4, created")
    " WHERE tenant = ?1 AND key = ?2 AND holder IS ?3 AND " WS_WHOLE("nodes", WS_OF_NODES))
WS_STATEMENT(WS_ADD_THREAD, "INSERT " ADD("threads", WS_OF_THREADS, P_14))
/* Only columns that can change; parameters are numbered as for a new row. */
WS_STATEMENT(WS_SET_THREAD,
    "UPDATE threads"
    " SET head = ?6, version = version + 1, queued = ?9, title = ?10, metadata = ?11, updated = ?13, at = ?14,"
    "  sum = " WS_SUM("threads", "tenant, id, tree, parent, user, ?6, kind, version + 1, ?9, ?10, ?11, created, ?13, ?14")
    " WHERE tenant = ?1 AND id = ?2 AND version = ?8 AND " WS_WHOLE("threads", WS_OF_THREADS))
WS_STATEMENT(WS_TOUCH_THREAD,
    "UPDATE threads"
    " SET updated = ?3, sum = " WS_SUM("threads",
        "tenant, id, tree, parent, user, head, kind, version, queued, title, metadata, created, ?3, at")
    " WHERE tenant = ?1 AND id = ?2 AND updated < ?3 AND " WS_WHOLE("threads", WS_OF_THREADS))
WS_STATEMENT(WS_THREAD_VERSION,
    "SELECT version, " WS_WHOLE("threads", WS_OF_THREADS) " FROM threads"
    " WHERE tenant = ?1 AND id = ?2")
WS_STATEMENT(WS_ADD_RUN,
    "INSERT INTO runs(" WS_OF_RUNS ", engine, sum) VALUES(" P_29 ", ?30, " WS_SUM("runs", P_29) ")")
WS_STATEMENT(WS_SET_RUN,
    "UPDATE runs"
    " SET node = ?7, first = ?8, input = ?9, version = version + 1, status = ?12, durability = ?13, cancel = ?14,"
    "  epoch = ?15, queue = ?16, agent = ?17, options = ?19, error = ?20, u_input = ?21, u_output = ?22, u_read = ?23,"
    "  u_write = ?24, started = ?26, ended = ?27, expires = ?28, swept = ?29, engine = ?30,"
    "  sum = " WS_SUM("runs",
        "tenant, user, id, root, parent, thread, ?7, ?8, ?9, version + 1, depth, ?12, ?13, ?14, ?15, ?16, ?17, call,"
        " ?19, ?20, ?21, ?22, ?23, ?24, created, ?26, ?27, ?28, ?29")
    " WHERE tenant = ?1 AND id = ?3 AND version = ?10 AND " WS_WHOLE("runs", WS_OF_RUNS))
WS_STATEMENT(WS_RUN_VERSION,
    "SELECT version, " WS_WHOLE("runs", WS_OF_RUNS) " FROM runs"
    " WHERE tenant = ?1 AND id = ?2")
WS_STATEMENT(WS_ADD_ALIAS, "INSERT " ADD("aliases", WS_OF_ALIASES, P_5))
WS_STATEMENT(WS_ALIAS_OBJECT,
    "SELECT object, " WS_WHOLE("aliases", WS_OF_ALIASES) " FROM aliases"
    " WHERE tenant = ?1 AND user = ?2 AND kind = ?3 AND text = ?4")
WS_STATEMENT(WS_DROP_KEY, "DELETE FROM keys WHERE tenant = ?1 AND route = ?2 AND key = ?3 AND created <= ?4")
WS_STATEMENT(WS_ADD_KEY, "INSERT " ADD("keys", WS_OF_KEYS, P_5 ",?6"))
WS_STATEMENT(WS_SWEEP_KEYS,
    "DELETE FROM keys"
    " WHERE (tenant, route, key) IN"
    "  (SELECT tenant, route, key FROM keys WHERE created <= ?1 ORDER BY created LIMIT 4)")
WS_STATEMENTS_END(WS_WRITER_END)

/* The readers'. */

WS_STATEMENT(WS_ROWS,
    "SELECT " WS_OF_LOG ", sum FROM log"
    " WHERE " OF_TENANT " AND node = ?2 AND pos >= ?3 AND pos < ?4"
    " ORDER BY pos LIMIT ?5")
WS_STATEMENT(WS_ROWS_BACK,
    "SELECT " WS_OF_LOG ", sum FROM log"
    " WHERE " OF_TENANT " AND node = ?2 AND pos >= ?3 AND pos < ?4"
    " ORDER BY pos DESC LIMIT ?5")
WS_STATEMENT(WS_NODE,
    "SELECT id, tree, parent, parent_length, holder, created, " WS_WHOLE("nodes", WS_OF_NODES)
    " FROM nodes"
    " WHERE " OF_TENANT " AND key = ?2")
WS_STATEMENT(WS_THREAD, "SELECT " THREAD " FROM threads WHERE " OF_TENANT " AND id = ?2")
WS_STATEMENT(WS_THREAD_UPDATED,
    "SELECT updated, " WS_WHOLE("threads", WS_OF_THREADS) " FROM threads"
    " WHERE " OF_TENANT " AND id = ?2 AND user = ?3")
WS_STATEMENT(WS_THREADS,
    "SELECT " THREAD " FROM threads"
    " WHERE " OF_TENANT " AND user = ?2 AND (updated, id) < (?3, ?4)"
    " ORDER BY updated DESC, id DESC LIMIT ?5")
WS_STATEMENT(WS_RUN, "SELECT " RUN " FROM runs WHERE " OF_TENANT " AND id = ?2")
WS_STATEMENT(WS_RUNS,
    "SELECT " RUN " FROM runs"
    " WHERE " OF_TENANT " AND thread = ?2 AND number < ?3"
    " ORDER BY number DESC LIMIT ?4")
WS_STATEMENT(WS_RUNS_LIVE,
    "SELECT " RUN " FROM runs INDEXED BY runs_waiting"
    " WHERE " OF_TENANT " AND thread = ?2 AND status < 5"
    " ORDER BY number LIMIT ?3")
WS_STATEMENT(WS_LIVE,
    "SELECT " RUN ","
    "  (SELECT name FROM tenants WHERE id = runs.tenant AND " WS_WHOLE("tenants", WS_OF_TENANTS) "), user"
    " FROM runs INDEXED BY runs_live"
    " WHERE status < 5 AND id > ?1"
    " ORDER BY id, number LIMIT ?2")
WS_STATEMENT(WS_ALIAS,
    "SELECT object, " WS_WHOLE("aliases", WS_OF_ALIASES) " FROM aliases"
    " WHERE " OF_TENANT " AND user = ?2 AND kind = ?3 AND text = ?4")
WS_STATEMENT(WS_KEY,
    "SELECT body, object, created, " WS_WHOLE("keys", WS_OF_KEYS) " FROM keys"
    " WHERE " OF_TENANT " AND route = ?2 AND key = ?3 AND created > ?4")
WS_STATEMENTS_END(WS_OFTEN_END)

/* Rarely used, by either: prepared on first use. */

WS_STATEMENT(WS_SET_BRANCH,
    "INSERT " ADD("branches", WS_OF_BRANCHES, P_5)
    " ON CONFLICT DO UPDATE"
    " SET name = ?3, metadata = ?4, sum = " WS_SUM("branches", "tenant, key, ?3, ?4, origin")
    " WHERE " WS_WHOLE("branches", WS_OF_BRANCHES))
WS_STATEMENT(WS_ADD_STRAY_NODE, "INSERT OR IGNORE INTO stray_nodes(tenant, family, place) VALUES(?1,?2,?3)")
WS_STATEMENT(WS_ADD_STRAY_THREAD, "INSERT OR IGNORE INTO stray_threads(tenant, family, id) VALUES(?1,?2,?3)")
WS_STATEMENT(WS_STRAY_NODE_AS,
    "INSERT OR IGNORE INTO stray_nodes(tenant, family, place)"
    " SELECT tenant, family, ?3 FROM stray_threads"
    " WHERE tenant = ?1 AND id = ?2 AND family <> ?4")
WS_STATEMENT(WS_STRAY_THREAD_AS,
    "INSERT OR IGNORE INTO stray_threads(tenant, family, id)"
    " SELECT tenant, family, ?3 FROM stray_threads"
    " WHERE tenant = ?1 AND id = ?2 AND family <> substr(?3, 1, 4)")
WS_STATEMENT(WS_ROW_IS, "SELECT " WS_OF_LOG ", sum FROM log WHERE tenant = ?1 AND node = ?2 AND pos = ?3")
WS_STATEMENT(WS_SET_ROW,
    "UPDATE log"
    " SET format = ?4, body = ?5, tape = ?6, sum = " WS_SUM("log", "tenant, node, pos, n, run, ?4, ?5, ?6")
    " WHERE tenant = ?1 AND node = ?2 AND pos = ?3")
WS_STATEMENT(WS_FORGET_TEXT,
    "INSERT INTO words_text(words_text, rowid, grams)"
    " SELECT 'delete', id, weft_grams(grams) FROM words"
    " WHERE tenant = ?1 AND node = ?2 AND entry >= ?3 AND entry < ?4")
WS_STATEMENT(WS_FORGET_WORDS, "DELETE FROM words WHERE tenant = ?1 AND node = ?2 AND entry >= ?3 AND entry < ?4")
/* A damaged blob stays as it is: what refers to it can still be erased. */
WS_STATEMENT(WS_FREE_BLOBS,
    SET_BLOB("key", "pieces", "whole", "refs - x.n", "CASE WHEN refs = x.n THEN ?5 END")
    " FROM"
    "  (SELECT blob, count(*) AS n FROM refs WHERE tenant = ?1 AND node = ?2 AND pos >= ?3 AND pos <= ?4"
    "   GROUP BY blob) AS x"
    " WHERE number = x.blob AND sum IS " WS_SUM("blobs", WS_OF_BLOBS))
WS_STATEMENT(WS_FORGET_REFS, "DELETE FROM refs WHERE tenant = ?1 AND node = ?2 AND pos >= ?3 AND pos <= ?4")
WS_STATEMENT(WS_DROP_THREAD, "DELETE FROM threads WHERE tenant = ?1 AND id = ?2 AND version = ?3")
WS_STATEMENT(WS_DROP_ALIASES_OF, "DELETE FROM aliases WHERE tenant = ?1 AND object = ?2")
WS_STATEMENT(WS_DROP_STRAY_THREAD, "DELETE FROM stray_threads WHERE tenant = ?1 AND id = ?2")
WS_STATEMENT(WS_NODE_HELD, "SELECT tree, holder FROM nodes WHERE tenant = ?1 AND key = ?2")
WS_STATEMENT(WS_NODE_UNDER,
    "SELECT 1 FROM nodes"
    " WHERE tenant = ?1 AND parent = ?2 AND key >= ?3 AND key <= ?4 LIMIT 1")
WS_STATEMENT(WS_STRAY_UNDER,
    "SELECT 1 FROM stray_nodes x"
    " CROSS JOIN nodes n ON n.tenant = x.tenant AND n.key = " WS_SIGNED_KEY("x.place")
    " WHERE x.tenant = ?1 AND n.parent = ?2 AND x.family = ?3 LIMIT 1")
WS_STATEMENT(WS_LOG_NEWEST, "SELECT max(id) FROM log")
WS_STATEMENT(WS_LOG_KEEP,
    "INSERT OR REPLACE INTO log(id, tenant, node, pos, n, format, sum)"
    " VALUES(?1, 0, 0, 0, 0, 0, " WS_SUM("log", "0, 0, 0, 0, NULL, 0, NULL, NULL") ")")
WS_STATEMENT(WS_DROP_ROWS, "DELETE FROM log WHERE tenant = ?1 AND node = ?2")
WS_STATEMENT(WS_DROP_NODE, "DELETE FROM nodes WHERE tenant = ?1 AND key = ?2")
WS_STATEMENT(WS_DROP_BRANCH, "DELETE FROM branches WHERE tenant = ?1 AND key = ?2")
WS_STATEMENT(WS_DROP_STRAY_NODE, "DELETE FROM stray_nodes WHERE tenant = ?1 AND place = ?2")
WS_STATEMENT(WS_DROP_RUN, "DELETE FROM runs WHERE tenant = ?1 AND id = ?2 AND status >= 5")
WS_STATEMENT(WS_DROP_ALIAS, "DELETE FROM aliases WHERE tenant = ?1 AND user = ?2 AND kind = ?3 AND text = ?4")
WS_STATEMENT(WS_PUT_VALUE, "INSERT OR REPLACE " ADD("vals", WS_OF_VALS, P_3 ",?4"))
WS_STATEMENT(WS_DROP_VALUE, "DELETE FROM vals WHERE tenant = ?1 AND space = ?2 AND name = ?3")
WS_STATEMENT(WS_BLOB_IS,
    "SELECT number, pieces, whole, refs, " WS_WHOLE("blobs", WS_OF_BLOBS) " FROM blobs"
    " WHERE tenant = ?1 AND key = ?2")
WS_STATEMENT(WS_ADD_BLOB, "INSERT " ADD("blobs", WS_OF_BLOBS, "?1,?2,0,0,0,?3"))
WS_STATEMENT(WS_NAME_BLOB, SET_BLOB("?2", "pieces", "whole", "refs", "?3") " WHERE number = ?1")
WS_STATEMENT(WS_TOUCH_BLOB,
    SET_BLOB("key", "pieces", "whole", "refs", "?2")
    " WHERE number = ?1 AND loose IS NOT NULL")
WS_STATEMENT(WS_DROP_BLOB, "DELETE FROM blobs WHERE number = ?1")
WS_STATEMENT(WS_ADD_PIECE, "INSERT " ADD("pieces", WS_OF_PIECES, "?1,?2"))
WS_STATEMENT(WS_GROW_BLOB, SET_BLOB("key", "pieces + 1", "?2", "refs", "?3") " WHERE number = ?1")
WS_STATEMENT(WS_DROP_PIECES, "DELETE FROM pieces WHERE id >= ?1 AND id < ?2")
WS_STATEMENT(WS_ADD_REF, "INSERT OR IGNORE INTO refs(tenant, node, pos, id, blob) VALUES(?1,?2,?3,?4,?5)")
WS_STATEMENT(WS_DROP_REF, "DELETE FROM refs WHERE tenant = ?1 AND node = ?2 AND pos = ?3 AND id = ?4 AND blob = ?5")
WS_STATEMENT(WS_COUNT_REF,
    SET_BLOB("key", "pieces", "whole", "refs + ?2", "CASE WHEN refs + ?2 = 0 THEN ?3 END")
    " WHERE number = ?1")
WS_STATEMENT(WS_OWN_NODES,
    "SELECT " NODE " FROM nodes n" BRANCH
    " WHERE n." OF_TENANT " AND n.key >= ?2 AND n.key <= ?3"
    " ORDER BY n.key LIMIT ?4")
WS_STATEMENT(WS_STRAY_NODES,
    "SELECT " NODE " FROM stray_nodes x"
    " CROSS JOIN nodes n ON n.tenant = x.tenant AND n.key = " WS_SIGNED_KEY("x.place") BRANCH
    " WHERE x." OF_TENANT " AND x.place >= ?2 AND x.place <= ?3 AND x.family = ?5"
    " ORDER BY x.place LIMIT ?4")
/* One lower bound: of two, SQLite seeks to the first, and reads all rows from there to the other. */
WS_STATEMENT(WS_OWN_THREADS,
    "SELECT " THREAD " FROM threads"
    " WHERE " OF_TENANT " AND id >= max(?2, ?3) AND id <> ?2 AND id <= ?4"
    " ORDER BY id LIMIT ?5")
WS_STATEMENT(WS_STRAY_THREADS,
    "SELECT " THREAD " FROM threads"
    " WHERE " OF_TENANT " AND id IN"
    "  (SELECT id FROM stray_threads WHERE " OF_TENANT " AND id >= max(?2, ?3) AND id <> ?2 AND id <= ?4 AND family = ?6)"
    " ORDER BY id LIMIT ?5")
WS_STATEMENT(WS_VALUE,
    "SELECT bytes, " WS_WHOLE("vals", WS_OF_VALS) " FROM vals"
    " WHERE " OF_TENANT " AND space = ?2 AND name = ?3")
WS_STATEMENT(WS_VALUES,
    "SELECT name, bytes, " WS_WHOLE("vals", WS_OF_VALS) " FROM vals"
    " WHERE " OF_TENANT " AND space = ?2 AND name > ?3"
    " ORDER BY name LIMIT ?4")
WS_STATEMENT(WS_TENANTS_BY_NAME,
    "SELECT name, " WS_WHOLE("tenants", WS_OF_TENANTS) " FROM tenants"
    " WHERE name > ?1"
    " ORDER BY name LIMIT ?2")
/* The length of a blob is in the head of its record: long ones are not read. */
WS_STATEMENT(WS_TENANT_BYTES,
    "SELECT"
    "  (SELECT ifnull(sum(ifnull(length(body), 0) + ifnull(length(tape), 0)), 0) FROM log WHERE " OF_TENANT ")"
    "  + (SELECT ifnull(sum(ifnull(length(title), 0) + ifnull(length(metadata), 0)), 0) FROM threads WHERE " OF_TENANT ")"
    "  + (SELECT ifnull(sum(ifnull(length(options), 0) + ifnull(length(error), 0)), 0) FROM runs WHERE " OF_TENANT ")"
    "  + (SELECT ifnull(sum(ifnull(length(bytes), 0)), 0) FROM vals WHERE " OF_TENANT ")"
    "  + (SELECT ifnull(sum(length(p.bytes)), 0)"
    "     FROM blobs b CROSS JOIN pieces p ON p.id >= b.number << 20 AND p.id < (b.number + 1) << 20"
    "     WHERE b." OF_TENANT ")")
WS_STATEMENT(WS_PIECE,
    "SELECT p.id, p.bytes, p.sum, b.pieces,"
    "  weft_whole(b.sum, 'blobs', b.tenant, b.key, b.pieces, b.whole, b.refs, b.loose)"
    " FROM blobs b CROSS JOIN pieces p ON p.id = (b.number << 20) + ?3"
    " WHERE b." OF_TENANT " AND b.key = ?2 AND b.whole")
WS_STATEMENT(WS_LOOSE,
    "SELECT key, " WS_WHOLE("blobs", WS_OF_BLOBS) " FROM blobs"
    " WHERE " OF_TENANT " AND loose IS NOT NULL AND loose < ?2 AND whole >= ?3"
    " ORDER BY loose LIMIT ?4")
WS_STATEMENT(WS_RUN_NUMBER,
    "SELECT number, " WS_WHOLE("runs", WS_OF_RUNS) " FROM runs"
    " WHERE " OF_TENANT " AND id = ?2")
WS_STATEMENT(WS_RUNS_UP,
    "SELECT " RUN " FROM runs"
    " WHERE " OF_TENANT " AND thread = ?2 AND number > ?3"
    " ORDER BY number LIMIT ?4")
WS_STATEMENT(WS_OWN_RUNS,
    "SELECT " RUN " FROM runs INDEXED BY runs_own"
    " WHERE " OF_TENANT " AND user = ?2 AND depth = 0 AND number < ?3"
    " ORDER BY number DESC LIMIT ?4")
WS_STATEMENT(WS_OWN_RUNS_UP,
    "SELECT " RUN " FROM runs INDEXED BY runs_own"
    " WHERE " OF_TENANT " AND user = ?2 AND depth = 0 AND number > ?3"
    " ORDER BY number LIMIT ?4")
WS_STATEMENT(WS_WAITING,
    "SELECT " RUN " FROM runs INDEXED BY runs_waiting"
    " WHERE " OF_TENANT " AND status < 5 AND status = 3 AND user = ?2 AND depth = 0 AND number > ?3"
    " ORDER BY number LIMIT ?4")
/* Of any tenant: those after the first younger run are younger too, and no tenant's list reads them. */
WS_STATEMENT(WS_YOUNGER_RUN,
    "SELECT number FROM runs NOT INDEXED"
    " WHERE number > ?1 AND created >= ?2 AND created <= ?3"
    " ORDER BY number LIMIT 1")
WS_STATEMENT(WS_OLD_RUNS,
    "SELECT " RUN ", number FROM runs NOT INDEXED"
    " WHERE " OF_TENANT " AND number > ?2 AND number <= ?3"
    " ORDER BY number LIMIT ?4")
/* The one after it, whatever its row is like. */
WS_STATEMENT(WS_NEXT_RUN,
    "SELECT number FROM runs NOT INDEXED"
    " WHERE " OF_TENANT " AND number > ?2"
    " ORDER BY number LIMIT 1")
/* The checksum is not verified: followers only propose, and what is found is read again. */
WS_STATEMENT(WS_FOLLOW,
    "SELECT l.id, t.name, l.node, l.pos, l.n, l.run, l.format, l.body, l.tape FROM log l"
    " CROSS JOIN tenants t ON t.id = l.tenant"
    " WHERE l.id > ?1"
    " ORDER BY l.id LIMIT ?2")
WS_STATEMENT(WS_LEARNED, "SELECT value, " WS_WHOLE("meta", WS_OF_META) " FROM meta WHERE name = 'learned'")
/* The placeholder row that keeps a number taken belongs to no tenant. */
WS_STATEMENT(WS_LOG_END, "SELECT id FROM log WHERE tenant <> 0 ORDER BY id DESC LIMIT 1")
WS_STATEMENT(WS_LEARN_UPTO, "INSERT OR REPLACE " ADD("meta", WS_OF_META, "'learned', ?1"))
WS_STATEMENT(WS_ADD_WORDS,
    "INSERT INTO words(tenant, node, entry, time, who, tool, grams)"
    " VALUES(?1,?2,?3,?4,?5,?6,?7)")
WS_STATEMENT(WS_ADD_TEXT,
    "INSERT INTO words_text(rowid, grams)"
    " SELECT id, weft_grams(grams) FROM words"
    " WHERE id = ?1")
