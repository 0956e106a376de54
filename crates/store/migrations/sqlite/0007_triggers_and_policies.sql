-- Triggers and what they made, what is agreed for tenants, and more to find dead letters by.

CREATE TABLE trigger (
    tenant      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('manual', 'schedule', 'webhook', 'file_drop')),
    workflow    TEXT    NOT NULL,
    document    TEXT    NOT NULL,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    version     INTEGER NOT NULL CHECK (version > 0),
    next_at     INTEGER,
    fired_until INTEGER,
    last_error  TEXT,
    actor       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX trigger_by_next ON trigger (next_at) WHERE enabled = 1 AND next_at IS NOT NULL;

-- The key makes a firing the same firing, so that a restart never fires twice.
CREATE TABLE firing (
    tenant        TEXT    NOT NULL,
    trigger       TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    scheduled_for INTEGER,
    at            INTEGER NOT NULL,
    run_id        BLOB    CHECK (length(run_id) = 16),
    outcome       TEXT    NOT NULL CHECK (outcome IN ('started', 'queued', 'skipped', 'failed')),
    reason        TEXT,
    PRIMARY KEY (tenant, trigger, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX firing_by_moment ON firing (tenant, trigger, at, key);
CREATE INDEX firing_by_outcome ON firing (tenant, trigger, outcome, at, key);

CREATE TABLE tenant_policy (
    tenant TEXT NOT NULL PRIMARY KEY,
    policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE dead_letter ADD COLUMN dialect TEXT;
ALTER TABLE dead_letter ADD COLUMN first_error_code TEXT;
ALTER TABLE dead_letter ADD COLUMN first_error_message TEXT
    CHECK ((first_error_code IS NULL) = (first_error_message IS NULL));

-- Orders come from the platform's queue alone.
UPDATE dead_letter
   SET dialect = iif(run_id IS NULL, 'platform', (SELECT run.dialect FROM run WHERE run.id = run_id));

CREATE INDEX dead_letter_by_workflow ON dead_letter (workflow);
CREATE INDEX dead_letter_by_code ON dead_letter (error_code);
CREATE INDEX dead_letter_by_moment ON dead_letter (at);
-- Serves the figures too, which never read the letters themselves.
CREATE INDEX dead_letter_open_by_reason ON dead_letter (reason) WHERE settled = 0;

-- A stub is forgotten in the end, unless a batch knows one of its runs by it.
ALTER TABLE stub ADD COLUMN lasting INTEGER NOT NULL DEFAULT 0 CHECK (lasting IN (0, 1));

UPDATE stub SET lasting = 1 WHERE run_id IN (SELECT run_id FROM batch_member);

CREATE INDEX stub_by_deletion ON stub (deleted_at) WHERE lasting = 0;
