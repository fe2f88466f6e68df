-- stores/sqlite/sql/tables_3.sql — version 3: checksums, and an index without the texts (index.sql runs next).
--
-- Tables that consist only of their keys have no checksum: content is read from the rows they lead to.
-- The index is rebuilt by following the log.

ALTER TABLE meta ADD COLUMN sum INTEGER;
ALTER TABLE tenants ADD COLUMN sum INTEGER;
ALTER TABLE log ADD COLUMN sum INTEGER;
ALTER TABLE nodes ADD COLUMN sum INTEGER;
ALTER TABLE threads ADD COLUMN sum INTEGER;
ALTER TABLE runs ADD COLUMN sum INTEGER;
ALTER TABLE aliases ADD COLUMN sum INTEGER;
ALTER TABLE keys ADD COLUMN sum INTEGER;
ALTER TABLE branches ADD COLUMN sum INTEGER;
ALTER TABLE vals ADD COLUMN sum INTEGER;
ALTER TABLE blobs ADD COLUMN sum INTEGER;
ALTER TABLE pieces ADD COLUMN sum INTEGER;
DROP TABLE words_text;
DROP TABLE words;
UPDATE meta SET value = 0 WHERE name = 'learned';
INSERT INTO meta(name, value) VALUES('search', 2);
