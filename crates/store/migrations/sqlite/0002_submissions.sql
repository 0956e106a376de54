-- Orders for runs that wait in a queue, and dead letters of orders that never became a run.

-- AUTOINCREMENT: a settlement names the number, and must never meet another order.
CREATE TABLE submission (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    queue        TEXT    NOT NULL,
    message_id   TEXT    NOT NULL,
    workflow     TEXT    NOT NULL,
    priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 10),
    body         TEXT    NOT NULL,
    enqueued_at  INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    -- earlier goes first: when it was put there, moved ahead by its priority
    place        INTEGER NOT NULL,
    deliveries   INTEGER NOT NULL DEFAULT 0 CHECK (deliveries >= 0),
    -- not taken before: somebody has it, or gave it back to rest
    locked_until INTEGER NOT NULL DEFAULT 0,
    UNIQUE (queue, message_id)
) STRICT;

CREATE INDEX submission_by_place ON submission (queue, place);
CREATE INDEX submission_by_lock ON submission (queue, locked_until);

-- SQLite cannot drop a NOT NULL, so the table is made anew.
CREATE TABLE dead_letter_new (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    -- without a run it is an order, which stands in message
    run_id        BLOB    CHECK (length(run_id) = 16),
    message       TEXT,
    tenant        TEXT    NOT NULL,
    workflow      TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    step          TEXT,
    error_code    TEXT    NOT NULL,
    error_message TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    settled       INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
    settlement    TEXT,
    CHECK ((settlement IS NOT NULL) = settled),
    CHECK ((run_id IS NULL) = (message IS NOT NULL))
) STRICT;

INSERT INTO dead_letter_new (id, run_id, tenant, workflow, reason, step, error_code, error_message,
                             at, settled, settlement)
SELECT id, run_id, tenant, workflow, reason, step, error_code, error_message, at, settled, settlement
  FROM dead_letter;

-- Numbers go on where they were, also if the newest letters are gone.
UPDATE sqlite_sequence
   SET seq = (SELECT max(seq) FROM sqlite_sequence WHERE name IN ('dead_letter', 'dead_letter_new'))
 WHERE name = 'dead_letter_new';

DROP TABLE dead_letter;
ALTER TABLE dead_letter_new RENAME TO dead_letter;

CREATE INDEX dead_letter_by_run ON dead_letter (run_id);
CREATE INDEX dead_letter_by_tenant ON dead_letter (tenant);
CREATE INDEX dead_letter_open ON dead_letter (id) WHERE settled = 0;
