-- Triggers and what they made, what is agreed for tenants, and more to find dead letters by.

CREATE TABLE IF NOT EXISTS trigger (
    created_at  bigint  NOT NULL,
    updated_at  bigint  NOT NULL,
    next_at     bigint,
    fired_until bigint,
    version     integer NOT NULL CHECK (version > 0),
    enabled     boolean NOT NULL,
    tenant      text    COLLATE "C" NOT NULL,
    name        text    COLLATE "C" NOT NULL,
    kind        text    NOT NULL CHECK (kind IN ('manual', 'schedule', 'webhook', 'file_drop')),
    workflow    text    NOT NULL,
    actor       text    NOT NULL,
    last_error  text,
    document    text    NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX IF NOT EXISTS trigger_by_next ON trigger (next_at, tenant, name)
    WHERE enabled AND next_at IS NOT NULL;

-- The key makes a firing the same firing, so that a restart never fires twice.
CREATE TABLE IF NOT EXISTS firing (
    at            bigint NOT NULL,
    scheduled_for bigint,
    run_id        uuid,
    tenant        text   COLLATE "C" NOT NULL,
    trigger       text   COLLATE "C" NOT NULL,
    key           text   COLLATE "C" NOT NULL,
    outcome       text   COLLATE "C" NOT NULL
                  CHECK (outcome IN ('started', 'queued', 'skipped', 'failed')),
    reason        text,
    PRIMARY KEY (tenant, trigger, key)
);

CREATE INDEX IF NOT EXISTS firing_by_moment ON firing (tenant, trigger, at, key);
CREATE INDEX IF NOT EXISTS firing_by_outcome ON firing (tenant, trigger, outcome, at, key);

CREATE TABLE IF NOT EXISTS tenant_policy (
    tenant text COLLATE "C" PRIMARY KEY,
    policy text NOT NULL
);

ALTER TABLE dead_letter ADD COLUMN IF NOT EXISTS dialect text;
ALTER TABLE dead_letter ADD COLUMN IF NOT EXISTS first_error_code text;
ALTER TABLE dead_letter ADD COLUMN IF NOT EXISTS first_error_message text
    CHECK ((first_error_code IS NULL) = (first_error_message IS NULL));

-- Orders come from the platform's queue alone.
UPDATE dead_letter
   SET dialect = CASE WHEN run_id IS NULL THEN 'platform'
                      ELSE (SELECT run.dialect FROM run WHERE run.id = run_id)
                 END
 WHERE dialect IS NULL;

CREATE INDEX IF NOT EXISTS dead_letter_by_workflow ON dead_letter (workflow, id);
CREATE INDEX IF NOT EXISTS dead_letter_by_code ON dead_letter (error_code, id);
CREATE INDEX IF NOT EXISTS dead_letter_by_moment ON dead_letter (at);
-- Serves the figures too, which never read the letters themselves.
CREATE INDEX IF NOT EXISTS dead_letter_open_by_reason ON dead_letter (reason, id) WHERE NOT settled;

-- A stub is forgotten in the end, unless a batch knows one of its runs by it.
ALTER TABLE stub ADD COLUMN IF NOT EXISTS lasting boolean NOT NULL DEFAULT FALSE;

UPDATE stub SET lasting = TRUE
 WHERE NOT lasting AND run_id IN (SELECT run_id FROM batch_member);

CREATE INDEX IF NOT EXISTS stub_by_deletion ON stub (deleted_at) WHERE NOT lasting;
