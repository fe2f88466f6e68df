-- stores/sqlite/sql/tables_4.sql — version 4: the runs of an owner are found without those of others.

CREATE INDEX runs_own ON runs(tenant, user) WHERE depth = 0;
