-- stores/sqlite/sql/tables_1.sql — the tables of version 1: log, nodes, threads, runs, aliases, idempotency keys.
-- docs/storage.md explains why they look like this.

CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tenants(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);

CREATE TABLE log(
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    node INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    n INTEGER NOT NULL,
    run BLOB,
    format INTEGER NOT NULL,
    body BLOB,
    tape BLOB
);
CREATE UNIQUE INDEX log_at ON log(tenant, node, pos);

CREATE TABLE nodes(
    tenant INTEGER NOT NULL,
    key INTEGER NOT NULL,
    id BLOB NOT NULL,
    tree BLOB NOT NULL,
    parent INTEGER NOT NULL,
    parent_length INTEGER NOT NULL,
    holder BLOB,
    created INTEGER NOT NULL,
    PRIMARY KEY(tenant, key)
) WITHOUT ROWID;

CREATE TABLE threads(
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    tree BLOB NOT NULL,
    parent BLOB,
    user BLOB NOT NULL,
    head INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    title BLOB,
    metadata BLOB,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY(tenant, id)
) WITHOUT ROWID;
CREATE INDEX threads_of ON threads(tenant, user, updated, id);

CREATE TABLE runs(
    number INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    user BLOB NOT NULL,
    root BLOB NOT NULL,
    parent BLOB,
    thread BLOB NOT NULL,
    node INTEGER NOT NULL,
    first INTEGER NOT NULL,
    input INTEGER NOT NULL,
    version INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    status INTEGER NOT NULL,
    durability INTEGER NOT NULL,
    cancel INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    agent BLOB,
    call BLOB,
    options BLOB,
    error BLOB,
    u_input INTEGER NOT NULL,
    u_output INTEGER NOT NULL,
    u_read INTEGER NOT NULL,
    u_write INTEGER NOT NULL,
    created INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
CREATE UNIQUE INDEX runs_id ON runs(tenant, id);
CREATE INDEX runs_of ON runs(tenant, thread);
CREATE INDEX runs_waiting ON runs(tenant, thread) WHERE status < 5;
CREATE INDEX runs_live ON runs(id) WHERE status < 5;

CREATE TABLE aliases(
    tenant INTEGER NOT NULL,
    user BLOB NOT NULL,
    kind INTEGER NOT NULL,
    text BLOB NOT NULL,
    object BLOB NOT NULL,
    PRIMARY KEY(tenant, user, kind, text)
) WITHOUT ROWID;

CREATE TABLE keys(
    tenant INTEGER NOT NULL,
    route BLOB NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    object BLOB NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY(tenant, route, key)
) WITHOUT ROWID;
CREATE INDEX keys_age ON keys(created);
