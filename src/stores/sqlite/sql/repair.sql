-- stores/sqlite/sql/repair.sql — makes the rows that could be saved from a damaged database fit together.

-- Tenants without a name.
INSERT OR IGNORE INTO tenants(id, name)
SELECT DISTINCT tenant, CAST('lost-' || tenant AS BLOB) FROM threads WHERE tenant NOT IN (SELECT id FROM tenants);

-- A row whose position does not follow: the node ends before it.
INSERT INTO temp.holes
SELECT tenant, node, min(want), 'a row is lost'
FROM (
    SELECT
        tenant, node, pos,
        lag(CASE WHEN n THEN ((pos >> 16) + n) << 16 ELSE pos + 1 END, 1, 0) OVER (PARTITION BY tenant, node ORDER BY pos) AS want
    FROM log
)
WHERE pos <> want
GROUP BY tenant, node;
DELETE FROM log
WHERE id IN (
    SELECT l.id FROM temp.holes h JOIN log l ON l.tenant = h.tenant AND l.node = h.node AND l.pos >= h.pos
);

-- A row after the last one, according to the index. (A damaged index has many wrong rows, but hardly this one.)
INSERT OR IGNORE INTO temp.holes
SELECT k.tenant, k.node, k.pos, 'a row is lost'
FROM temp.known k
LEFT JOIN (
    SELECT tenant, node, max(CASE WHEN n THEN ((pos >> 16) + n) << 16 ELSE pos + 1 END) AS ends FROM log GROUP BY tenant, node
) e ON e.tenant = k.tenant AND e.node = k.node
WHERE k.pos = ifnull(e.ends, 0) AND NOT EXISTS(SELECT 1 FROM log l WHERE l.id = k.id);

-- A damaged index of threads has some that never existed.
DELETE FROM temp.named WHERE (SELECT count(*) FROM temp.named) <= (SELECT count(*) FROM threads);

-- Branches whose beginning is lost, and threads whose head is on one.
WITH RECURSIVE whole(tenant, key) AS (
    SELECT tenant, key FROM nodes WHERE parent = 0
    UNION
    SELECT n.tenant, n.key FROM whole w JOIN nodes n ON n.tenant = w.tenant AND n.parent = w.key
)
DELETE FROM nodes WHERE (tenant, key) NOT IN (SELECT tenant, key FROM whole);
INSERT OR IGNORE INTO temp.holes
SELECT tenant, head, 0, 'the node at which the thread stood is lost'
FROM threads t
WHERE NOT EXISTS(SELECT 1 FROM nodes n WHERE n.tenant = t.tenant AND n.key = t.head);
UPDATE threads
SET at = 0,
    head = (SELECT key FROM nodes n WHERE n.tenant = threads.tenant AND n.tree = threads.tree AND n.parent = 0)
WHERE
    NOT EXISTS(SELECT 1 FROM nodes n WHERE n.tenant = threads.tenant AND n.key = threads.head)
    AND EXISTS(SELECT 1 FROM nodes n WHERE n.tenant = threads.tenant AND n.tree = threads.tree AND n.parent = 0);
