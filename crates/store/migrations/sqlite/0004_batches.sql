-- Runbooks, and batches of members on their timelines.
--
-- A member's way through the phases is a run like any other, so what stands here is small: which run
-- belongs to which member, where a batch and its phases stand, and how many members stand where.

-- The batch that a run belongs to, and what it does there. A run that undoes another has the number
-- of that one.
ALTER TABLE run_header ADD COLUMN batch INTEGER;
ALTER TABLE run_header ADD COLUMN member INTEGER;
ALTER TABLE run_header ADD COLUMN role TEXT;
ALTER TABLE run_header ADD COLUMN number INTEGER;

-- Every version of every runbook as it was published. AUTOINCREMENT: a number is an address for people.
CREATE TABLE runbook (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version > 0),
    source          TEXT    NOT NULL,
    is_active       INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    overdue         TEXT    NOT NULL CHECK (overdue IN ('rerun', 'ignore')),
    overdue_applied INTEGER NOT NULL DEFAULT 0 CHECK (overdue_applied IN (0, 1)),
    rerun_init      INTEGER NOT NULL CHECK (rerun_init IN (0, 1)),
    created_at      INTEGER NOT NULL,
    created_by      TEXT    NOT NULL,
    last_error      TEXT,
    last_error_at   INTEGER,
    UNIQUE (name, version),
    CHECK ((last_error IS NULL) = (last_error_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX runbook_active ON runbook (name) WHERE is_active = 1;

-- Whether the scheduler makes batches of a runbook by itself. No row: nobody ever said.
CREATE TABLE automation (
    runbook     TEXT    NOT NULL PRIMARY KEY,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    enabled_at  INTEGER,
    enabled_by  TEXT,
    disabled_at INTEGER,
    disabled_by TEXT
) STRICT, WITHOUT ROWID;

-- The last four counters are moved by the members' own commits, everything else by decisions on the
-- batch, which compare its version.
CREATE TABLE batch (
    id                 INTEGER PRIMARY KEY,
    tenant             TEXT    NOT NULL,
    runbook            TEXT    NOT NULL,
    mode               TEXT    NOT NULL CHECK (mode IN ('scheduled', 'immediate', 'manual')),
    slot               INTEGER,
    actor              TEXT    NOT NULL,
    created_at         INTEGER NOT NULL,
    version            INTEGER NOT NULL CHECK (version >= 0),
    status             TEXT    NOT NULL,
    paused             INTEGER NOT NULL CHECK (paused IN (0, 1)),
    runbook_version    INTEGER NOT NULL CHECK (runbook_version > 0),
    start              INTEGER,
    advanced_at        INTEGER,
    init               TEXT    NOT NULL,
    init_dispatched_at INTEGER,
    sweeps             TEXT    NOT NULL,
    current_phase      TEXT,
    updated_at         INTEGER NOT NULL,
    ended_at           INTEGER,
    wake_at            INTEGER,
    settled            INTEGER NOT NULL CHECK (settled IN (0, 1)),
    joined             INTEGER NOT NULL CHECK (joined >= 0),
    removed            INTEGER NOT NULL CHECK (removed BETWEEN 0 AND joined),
    open               INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0),
    succeeded          INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
    failed             INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    cancelled          INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    CHECK (CASE status
               WHEN 'detected'        THEN ended_at IS NULL AND settled = 0
               WHEN 'init_dispatched' THEN ended_at IS NULL AND settled = 0
               WHEN 'active'          THEN ended_at IS NULL AND settled = 0
               WHEN 'completed'       THEN ended_at IS NOT NULL
               WHEN 'failed'          THEN ended_at IS NOT NULL
               WHEN 'cancelled'       THEN ended_at IS NOT NULL
               ELSE FALSE
           END)
) STRICT;

CREATE INDEX batch_by_runbook ON batch (runbook);
CREATE INDEX batch_by_slot ON batch (runbook, slot) WHERE slot IS NOT NULL;
CREATE INDEX batch_unsettled ON batch (id) WHERE settled = 0;
-- Holds all that a list can be restricted by, so that its length is counted without reading the rows.
CREATE INDEX batch_to_count ON batch (runbook, tenant, status, mode, slot);

-- One phase of one batch under one version of its runbook. Later phases have higher numbers.
CREATE TABLE batch_phase (
    id             INTEGER PRIMARY KEY,
    batch          INTEGER NOT NULL,
    name           TEXT    NOT NULL,
    version        INTEGER NOT NULL CHECK (version > 0),
    gate           TEXT    NOT NULL,
    offset_minutes INTEGER NOT NULL,
    steps          INTEGER NOT NULL CHECK (steps BETWEEN 0 AND 65535),
    due_at         INTEGER,
    status         TEXT    NOT NULL,
    dispatched_at  INTEGER,
    completed_at   INTEGER,
    open           INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0),
    succeeded      INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
    failed         INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    cancelled      INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    skipped        INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    steps_ended    INTEGER NOT NULL DEFAULT 0 CHECK (steps_ended >= 0),
    UNIQUE (batch, gate),
    CHECK (CASE status
               WHEN 'pending'    THEN dispatched_at IS NULL     AND completed_at IS NULL
               WHEN 'dispatched' THEN dispatched_at IS NOT NULL AND completed_at IS NULL
               WHEN 'completed'  THEN completed_at IS NOT NULL
               WHEN 'failed'     THEN completed_at IS NOT NULL
               WHEN 'skipped'    THEN completed_at IS NOT NULL
               WHEN 'superseded' THEN completed_at IS NOT NULL
               ELSE FALSE
           END)
) STRICT;

CREATE TABLE batch_member (
    id                    INTEGER PRIMARY KEY,
    batch                 INTEGER NOT NULL,
    key                   TEXT    NOT NULL,
    data_hash             BLOB    NOT NULL CHECK (length(data_hash) = 32),
    run_id                BLOB    NOT NULL CHECK (length(run_id) = 16),
    added_at              INTEGER NOT NULL,
    removed_at            INTEGER,
    removed_by            TEXT,
    removal_dispatched_at INTEGER,
    CHECK ((removed_at IS NULL) = (removed_by IS NULL)),
    CHECK (removed_at IS NOT NULL OR removal_dispatched_at IS NULL)
) STRICT;

-- Pages of members are cut from this alone: the rows of those passed over are not read.
CREATE INDEX batch_member_by_batch ON batch_member (batch);
-- Whoever has left may join again, as another member. Each member is in one of the two.
CREATE UNIQUE INDEX batch_member_by_key ON batch_member (batch, key) WHERE removed_at IS NULL;
CREATE INDEX batch_member_removed ON batch_member (batch, key) WHERE removed_at IS NOT NULL;

-- The runs of a batch by the numbers that workers know them by.
CREATE TABLE batch_run (
    number INTEGER PRIMARY KEY,
    run_id BLOB    NOT NULL CHECK (length(run_id) = 16),
    batch  INTEGER NOT NULL,
    member INTEGER,
    role   TEXT    NOT NULL CHECK (role = 'member' OR role = 'init' OR role = 'removal'),
    CHECK ((role = 'init') = (member IS NULL))
) STRICT;

CREATE INDEX batch_run_by_batch ON batch_run (batch, role, member);

-- One row a decision, never edited. AUTOINCREMENT: whoever reads on from the last number it saw must
-- miss nothing.
CREATE TABLE batch_history (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    batch   INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    at      INTEGER NOT NULL,
    entries TEXT    NOT NULL
) STRICT;

CREATE INDEX batch_history_by_batch ON batch_history (batch);

-- What the steps of batches' runs follow, for those who ask in SQL: nothing here is read for a decision.
CREATE TABLE step_spec (
    workflow         TEXT    NOT NULL,
    workflow_version INTEGER NOT NULL,
    position         INTEGER NOT NULL CHECK (position BETWEEN 0 AND 65535),
    step             TEXT    NOT NULL,
    gate             TEXT,
    gate_position    INTEGER NOT NULL,
    kind             TEXT    NOT NULL,
    pool             TEXT    NOT NULL,
    on_failure       TEXT,
    poll_interval_s  INTEGER,
    poll_timeout_s   INTEGER,
    retries_max      INTEGER NOT NULL,
    retry_interval_s INTEGER NOT NULL,
    PRIMARY KEY (workflow, workflow_version, position)
) STRICT, WITHOUT ROWID;

-- Numbers that were given out; a number never comes back.
CREATE TABLE sequence_number (
    name TEXT    NOT NULL PRIMARY KEY,
    next INTEGER NOT NULL CHECK (next > 0)
) STRICT, WITHOUT ROWID;

-- Who may do something alone, and until when.
CREATE TABLE lease (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys that an immediate runbook has made members of, and that were never absent from its source since.
CREATE TABLE seen_key (
    runbook TEXT NOT NULL,
    key     TEXT NOT NULL,
    PRIMARY KEY (runbook, key)
) STRICT, WITHOUT ROWID;
