-- stores/sqlite/sql/tables_5.sql — version 5: which engine works on a run. Not in the checksum, which rows of version 4 have.

ALTER TABLE runs ADD COLUMN engine BLOB;
