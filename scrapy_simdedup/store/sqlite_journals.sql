-- The tables of journals in a SQLite database: notes in the order in which they were made, one per key.

CREATE TABLE journal (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE note (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    journal INTEGER NOT NULL REFERENCES journal (number),
    key BLOB NOT NULL,
    value BLOB NOT NULL
);

CREATE UNIQUE INDEX note_key ON note (journal, key);
CREATE INDEX note_position ON note (journal, position);
