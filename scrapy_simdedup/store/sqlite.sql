-- The tables of sites, pages and workers in a SQLite file. Semicolons stand at the end of statements alone.

CREATE TABLE memo (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE worker (name TEXT PRIMARY KEY, heartbeat REAL NOT NULL) WITHOUT ROWID;

CREATE TABLE site (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, counter INTEGER NOT NULL);

CREATE TABLE page (
    site INTEGER NOT NULL REFERENCES site (number),
    url TEXT NOT NULL,
    key BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    run TEXT NOT NULL,
    worker TEXT NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    similarity REAL,
    original BLOB,
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    last_changed REAL NOT NULL,
    visits INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    handler TEXT NOT NULL,
    id INTEGER NOT NULL,
    position INTEGER NOT NULL
);

CREATE UNIQUE INDEX page_id ON page (site, id);
CREATE UNIQUE INDEX page_position ON page (site, position);
CREATE INDEX page_key ON page (site, key, id);
