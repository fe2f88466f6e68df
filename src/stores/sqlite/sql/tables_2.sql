-- stores/sqlite/sql/tables_2.sql — version 2: families of ids, deleting, blobs, values, search.
--
--  - Texts of branches are outside `nodes`: a fork has none, and pays nothing for them.
--  - Strays are found under the family of their tree and, below a sub-thread, under that of the topmost thread.
--  - A piece's id combines the blob's number and its own, so it needs no index.
--  - `words_text` indexes `words`; the writer updates it explicitly, because no trigger may use a virtual table of an
--    untrusted schema.
--  - `loose`: since when nothing refers to the blob; NULL if something does.

ALTER TABLE threads ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
CREATE INDEX aliases_of ON aliases(tenant, object);

CREATE TABLE branches(
    tenant INTEGER NOT NULL,
    key INTEGER NOT NULL,
    name BLOB,
    metadata BLOB,
    origin BLOB,
    PRIMARY KEY(tenant, key)
) WITHOUT ROWID;

CREATE TABLE vals(
    tenant INTEGER NOT NULL,
    space BLOB NOT NULL,
    name BLOB NOT NULL,
    bytes BLOB,
    PRIMARY KEY(tenant, space, name)
) WITHOUT ROWID;

CREATE TABLE blobs(
    number INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    key BLOB NOT NULL,
    pieces INTEGER NOT NULL,
    whole INTEGER NOT NULL,
    refs INTEGER NOT NULL,
    loose INTEGER
);
CREATE UNIQUE INDEX blobs_key ON blobs(tenant, key);
CREATE INDEX blobs_loose ON blobs(tenant, loose) WHERE loose IS NOT NULL;
CREATE TABLE pieces(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);

CREATE TABLE refs(
    tenant INTEGER NOT NULL,
    node INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    id BLOB NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY(tenant, node, pos, id, blob)
) WITHOUT ROWID;

CREATE TABLE words(
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    node INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    time INTEGER NOT NULL,
    who TEXT,
    tool TEXT,
    text TEXT
);
CREATE UNIQUE INDEX words_at ON words(tenant, node, entry);
CREATE VIRTUAL TABLE words_text USING fts5(text, content='words', content_rowid='id', tokenize='trigram');

CREATE TABLE stray_nodes(
    tenant INTEGER NOT NULL,
    family BLOB NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY(tenant, family, place)
) WITHOUT ROWID;
CREATE INDEX stray_nodes_at ON stray_nodes(tenant, place);

CREATE TABLE stray_threads(
    tenant INTEGER NOT NULL,
    family BLOB NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY(tenant, family, id)
) WITHOUT ROWID;
CREATE INDEX stray_threads_at ON stray_threads(tenant, id);
INSERT INTO meta VALUES('learned', 0);
