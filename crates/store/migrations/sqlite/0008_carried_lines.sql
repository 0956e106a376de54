-- Old lines of the ledger are folded: what runs moved on a day becomes one line.

-- SQLite cannot change a CHECK, so the table is made anew.
CREATE TABLE credit_movement_new (
    id             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant         TEXT    NOT NULL,
    run_id         BLOB    CHECK (length(run_id) = 16),
    kind           TEXT    NOT NULL,
    balance        INTEGER NOT NULL,
    reserved       INTEGER NOT NULL,
    spent          INTEGER NOT NULL,
    -- The account after it.
    balance_after  INTEGER NOT NULL,
    reserved_after INTEGER NOT NULL,
    spent_after    INTEGER NOT NULL,
    actor          TEXT    NOT NULL,
    reason         TEXT    NOT NULL,
    -- A grant under the same key is booked once.
    key            TEXT,
    at             INTEGER NOT NULL,
    CHECK (CASE kind
               WHEN 'granted'  THEN run_id IS NULL
               WHEN 'reserved' THEN run_id IS NOT NULL
               WHEN 'spent'    THEN run_id IS NOT NULL
               WHEN 'released' THEN run_id IS NOT NULL
               WHEN 'restored' THEN run_id IS NOT NULL
               WHEN 'carried'  THEN run_id IS NULL AND key IS NULL
               ELSE FALSE
           END)
) STRICT;

INSERT INTO credit_movement_new (id, tenant, run_id, kind, balance, reserved, spent, balance_after,
                                 reserved_after, spent_after, actor, reason, key, at)
SELECT id, tenant, run_id, kind, balance, reserved, spent, balance_after, reserved_after, spent_after,
       actor, reason, key, at
  FROM credit_movement;

-- Numbers go on where they were, also if the newest lines are gone.
UPDATE sqlite_sequence
   SET seq = (SELECT max(seq) FROM sqlite_sequence WHERE name IN ('credit_movement', 'credit_movement_new'))
 WHERE name = 'credit_movement_new';

DROP TABLE credit_movement;
ALTER TABLE credit_movement_new RENAME TO credit_movement;

CREATE INDEX credit_movement_by_tenant ON credit_movement (tenant);
CREATE INDEX credit_movement_by_run ON credit_movement (run_id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX credit_movement_by_key ON credit_movement (tenant, key) WHERE key IS NOT NULL;
-- What is not folded yet, oldest first; what is, and what somebody granted, is not in it.
CREATE INDEX credit_movement_unfolded ON credit_movement (at) WHERE run_id IS NOT NULL;
