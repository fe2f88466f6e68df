-- stores/sqlite/sql/believe_index.sql — removes rows of a damaged `log` that contradict its index, which was read without an error.

DELETE FROM log
WHERE id IN (
    SELECT l.id
    FROM log l JOIN temp.known k ON k.id = l.id
    WHERE (k.tenant, k.node, k.pos) IS NOT (l.tenant, l.node, l.pos)
);
