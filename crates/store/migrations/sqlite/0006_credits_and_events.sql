-- What a run was granted beyond its workflow, what it costs, the accounts that pay for it, and the log of
-- events for others.

-- JSON; NULL for most runs.
ALTER TABLE run_header ADD COLUMN terms TEXT;

-- In millionths, as all amounts here; NULL for a run that costs nothing.
ALTER TABLE run ADD COLUMN credits_reserved INTEGER;
ALTER TABLE run ADD COLUMN credits_spent INTEGER;

-- At every instant the sums of a tenant's movements.
CREATE TABLE credit_account (
    tenant   TEXT    NOT NULL PRIMARY KEY,
    balance  INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    spent    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The ledger: never edited, and kept when its run is deleted.
CREATE TABLE credit_movement (
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
               ELSE FALSE
           END)
) STRICT;

CREATE INDEX credit_movement_by_tenant ON credit_movement (tenant);
CREATE INDEX credit_movement_by_run ON credit_movement (run_id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX credit_movement_by_key ON credit_movement (tenant, key) WHERE key IS NOT NULL;

-- What others are told. There is one writer, so numbers are given in the order of the commits: whoever
-- reads on from the last one it saw misses nothing.
CREATE TABLE event (
    id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant  TEXT    NOT NULL,
    dialect TEXT    NOT NULL,
    run_id  BLOB    CHECK (length(run_id) = 16),
    kind    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX event_by_tenant ON event (tenant);
CREATE INDEX event_by_kind ON event (kind);
CREATE INDEX event_by_run ON event (run_id) WHERE run_id IS NOT NULL;

-- Addresses that are told of events. Dialects and kinds are JSON lists; empty ones do not restrict.
CREATE TABLE subscription (
    id          TEXT    NOT NULL PRIMARY KEY,
    tenant      TEXT,
    dialects    TEXT    NOT NULL,
    kinds       TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    description TEXT    NOT NULL,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    actor       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
