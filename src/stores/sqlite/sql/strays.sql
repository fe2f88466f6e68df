-- stores/sqlite/sql/strays.sql — fills the tables of strays from threads and nodes. Each statement can be repeated.

-- Every thread with the family of its topmost ancestor.
CREATE TABLE kin(tenant, id, tree, family, PRIMARY KEY(tenant, id)) WITHOUT ROWID;
CREATE INDEX kin_above ON threads(tenant, parent) WHERE parent IS NOT NULL;
WITH RECURSIVE below(tenant, id, tree, family) AS (
    SELECT tenant, id, tree, substr(tree, 1, 4) FROM threads WHERE parent IS NULL
    UNION ALL
    SELECT t.tenant, t.id, t.tree, b.family
    FROM below b JOIN threads t INDEXED BY kin_above ON t.tenant = b.tenant AND t.parent = b.id
    WHERE t.parent IS NOT NULL
)
INSERT INTO kin SELECT * FROM below;
DROP INDEX kin_above;
CREATE INDEX kin_tree ON kin(tenant, tree);

INSERT OR IGNORE INTO stray_threads
SELECT tenant, substr(tree, 1, 4), id FROM threads WHERE substr(id, 1, 4) <> substr(tree, 1, 4);
INSERT OR IGNORE INTO stray_threads
SELECT tenant, family, id FROM kin WHERE substr(id, 1, 4) <> family;

-- A place is a key with its first bit flipped (WS_SIGNED_KEY).
INSERT OR IGNORE INTO stray_nodes
SELECT tenant, substr(tree, 1, 4), ~(key & (1 << 63)) & (key | (1 << 63))
FROM nodes
WHERE printf('%08X', key >> 32 & 0xffffffff) <> hex(substr(tree, 1, 4));
INSERT OR IGNORE INTO stray_nodes
SELECT n.tenant, k.family, ~(n.key & (1 << 63)) & (n.key | (1 << 63))
FROM kin k JOIN nodes n ON n.tenant = k.tenant AND n.tree = k.tree
WHERE k.family <> substr(k.tree, 1, 4) AND printf('%08X', n.key >> 32 & 0xffffffff) <> hex(k.family);
DROP TABLE kin;
