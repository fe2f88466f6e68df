-- stores/sqlite/sql/index.sql — the tables of the search index (grams.h).

CREATE TABLE words(
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    node INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    time INTEGER NOT NULL,
    who TEXT,
    tool TEXT,
    grams BLOB
);
CREATE UNIQUE INDEX words_at ON words(tenant, node, entry);
CREATE VIRTUAL TABLE words_text USING fts5(grams, content='', tokenize='ascii', detail=none, columnsize=0);
