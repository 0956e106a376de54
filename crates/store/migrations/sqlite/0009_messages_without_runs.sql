-- Messages to the outside that no run wants sent, and more to count dead letters by.

-- SQLite cannot drop a NOT NULL, so the table is made anew.
CREATE TABLE outbox_new (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    -- without a run, tenant and dialect say whose it is; with one, the run does
    run_id      BLOB    CHECK (length(run_id) = 16),
    tenant      TEXT,
    dialect     TEXT,
    tries       INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    kind        TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    due_at      INTEGER NOT NULL,
    CHECK ((run_id IS NULL) = (tenant IS NOT NULL)),
    CHECK ((tenant IS NULL) = (dialect IS NULL))
) STRICT;

INSERT INTO outbox_new (id, run_id, tries, kind, destination, body, due_at)
SELECT id, run_id, tries, kind, destination, body, due_at FROM outbox;

-- Numbers go on where they were, also if the newest messages are gone: receivers know them.
DELETE FROM sqlite_sequence WHERE name = 'outbox_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'outbox_new', seq FROM sqlite_sequence WHERE name = 'outbox';

DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;

CREATE INDEX outbox_by_due ON outbox (due_at);
CREATE INDEX outbox_by_run ON outbox (run_id) WHERE run_id IS NOT NULL;

-- For the figures, which never read the letters themselves.
CREATE INDEX dead_letter_open_by_dialect ON dead_letter (reason, dialect) WHERE settled = 0;
