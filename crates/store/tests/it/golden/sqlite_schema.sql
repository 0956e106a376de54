CREATE TABLE "dead_letter" (
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

CREATE TABLE history (
    run_id  BLOB    NOT NULL CHECK (length(run_id) = 16),
    version INTEGER NOT NULL CHECK (version > 0),
    at      INTEGER NOT NULL,
    entries TEXT    NOT NULL,
    PRIMARY KEY (run_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    tenant       TEXT    NOT NULL,
    hash         BLOB    NOT NULL CHECK (length(hash) = 32),
    run_id       BLOB    NOT NULL CHECK (length(run_id) = 16),
    request_hash BLOB    NOT NULL CHECK (length(request_hash) = 32),
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    epoch    INTEGER NOT NULL CHECK (epoch >= 0),
    instance TEXT    NOT NULL,
    clean    INTEGER NOT NULL CHECK (clean IN (0, 1)),
    probes   INTEGER NOT NULL
) STRICT;

CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id      BLOB    NOT NULL CHECK (length(run_id) = 16),
    tries       INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    kind        TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    due_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE run (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant           TEXT    NOT NULL,
    dialect          TEXT    NOT NULL,
    workflow         TEXT    NOT NULL,
    workflow_version INTEGER NOT NULL CHECK (workflow_version > 0),
    compensation     TEXT,
    parent_run       BLOB    CHECK (length(parent_run) = 16),
    parent_step      INTEGER CHECK (parent_step BETWEEN 0 AND 65535),
    correlation_id   TEXT,
    created_at       INTEGER NOT NULL,
    step_count       INTEGER NOT NULL CHECK (step_count BETWEEN 0 AND 65535),
    version          INTEGER NOT NULL CHECK (version >= 0),
    status           TEXT    NOT NULL,
    attempt          INTEGER NOT NULL CHECK (attempt >= 0),
    paused           INTEGER NOT NULL CHECK (paused IN (0, 1)),
    cancel           TEXT    CHECK (cancel IN ('immediate', 'drain')),
    gates_open       TEXT,
    outputs          TEXT,
    current_step     TEXT,
    error_code       TEXT,
    error_message    TEXT,
    retry_at         INTEGER,
    wake_at          INTEGER,
    updated_at       INTEGER NOT NULL,
    started_at       INTEGER,
    ended_at         INTEGER,
    expires_at       INTEGER,
    CHECK (CASE dialect
               WHEN 'runbooks'   THEN TRUE
               WHEN 'platform'   THEN TRUE
               WHEN 'workspaces' THEN TRUE
               WHEN 'commands'   THEN TRUE
               ELSE FALSE
           END),
    -- What each status implies. Not `IN`: SQLite would build a table of the words for every row.
    CHECK (CASE status
               WHEN 'running'    THEN ended_at IS NULL     AND retry_at IS NULL
               WHEN 'created'    THEN ended_at IS NULL     AND retry_at IS NULL
               WHEN 'ready'      THEN ended_at IS NULL     AND retry_at IS NULL
               WHEN 'cancelling' THEN ended_at IS NULL     AND retry_at IS NULL
               WHEN 'retry_wait' THEN ended_at IS NULL     AND retry_at IS NOT NULL
               WHEN 'succeeded'  THEN ended_at IS NOT NULL AND retry_at IS NULL AND wake_at IS NULL
               WHEN 'failed'     THEN ended_at IS NOT NULL AND retry_at IS NULL AND wake_at IS NULL
               WHEN 'cancelled'  THEN ended_at IS NOT NULL AND retry_at IS NULL AND wake_at IS NULL
               ELSE FALSE
           END),
    CHECK (ended_at IS NOT NULL OR expires_at IS NULL),
    CHECK ((error_code IS NULL) = (error_message IS NULL)),
    CHECK ((parent_run IS NULL) = (parent_step IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE run_header (
    run_id           BLOB    NOT NULL PRIMARY KEY CHECK (length(run_id) = 16),
    resumes          BLOB    CHECK (length(resumes) = 16),
    input            TEXT,
    special          TEXT,
    context          TEXT,
    lane             INTEGER CHECK (lane BETWEEN 0 AND 15),
    routing_key      TEXT,
    priority         INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 10),
    traceparent      TEXT,
    actor            TEXT    NOT NULL,
    idempotency_hash BLOB    CHECK (length(idempotency_hash) = 32),
    CHECK ((lane IS NULL) = (routing_key IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE secret (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE stale_report (
    run_id  BLOB    NOT NULL CHECK (length(run_id) = 16),
    number  INTEGER NOT NULL CHECK (number BETWEEN 1 AND 100),
    step    TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    lease   BLOB    NOT NULL CHECK (length(lease) = 16),
    reason  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE "step" (
    run_id           BLOB    NOT NULL CHECK (length(run_id) = 16),
    position         INTEGER NOT NULL CHECK (position BETWEEN 0 AND 65535),
    status           TEXT    NOT NULL,
    attempt          INTEGER NOT NULL CHECK (attempt >= 0),
    tries            INTEGER NOT NULL CHECK (tries >= 0),
    lease_id         BLOB    CHECK (length(lease_id) = 16),
    lease_stage      TEXT    CHECK (lease_stage = 'recorded' OR lease_stage = 'published'
                                    OR lease_stage = 'acked'),
    lease_expires_at INTEGER,
    -- These four are set exactly while the attempt is with the embedded bus.
    pool             TEXT,
    rank             INTEGER CHECK (rank BETWEEN 0 AND 10),
    lane             INTEGER CHECK (lane BETWEEN 0 AND 15),
    poll_count       INTEGER CHECK (poll_count >= 0),
    kind             TEXT,
    params           TEXT,
    result           TEXT,
    detail           TEXT,
    error_code       TEXT,
    error_message    TEXT,
    wake_at          INTEGER,
    dispatched_at    INTEGER,
    ended_at         INTEGER,
    PRIMARY KEY (run_id, position),
    CHECK (CASE status
               WHEN 'dispatched' THEN lease_id IS NOT NULL AND ended_at IS NULL
               WHEN 'succeeded'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'acked'      THEN lease_id IS NOT NULL AND ended_at IS NULL
               WHEN 'polling'    THEN ended_at IS NULL
               WHEN 'retry_wait' THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'waiting'    THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'ready'      THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'expanded'   THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'failed'     THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'timed_out'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'cancelled'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'skipped'    THEN lease_id IS NULL     AND ended_at IS NOT NULL
               ELSE FALSE
           END),
    CHECK ((lease_id IS NULL) = (lease_stage IS NULL)),
    CHECK ((lease_id IS NULL) = (lease_expires_at IS NULL)),
    CHECK ((pool IS NOT NULL) = (lease_stage IS 'recorded')),
    CHECK ((error_code IS NULL) = (error_message IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE stub (
    run_id     BLOB    NOT NULL PRIMARY KEY CHECK (length(run_id) = 16),
    tenant     TEXT    NOT NULL,
    workflow   TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled')),
    ended_at   INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE tenant_load (
    tenant        TEXT    NOT NULL PRIMARY KEY,
    open          INTEGER NOT NULL CHECK (open >= 0),
    compensations INTEGER NOT NULL CHECK (compensations >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id          TEXT    NOT NULL PRIMARY KEY,
    secret_hash BLOB    NOT NULL CHECK (length(secret_hash) = 32),
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    tenant      TEXT,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL,
    version      INTEGER NOT NULL CHECK (version > 0),
    request_type TEXT,
    source       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    UNIQUE (name, version)
) STRICT;

CREATE INDEX dead_letter_by_run ON dead_letter (run_id);

CREATE INDEX dead_letter_by_tenant ON dead_letter (tenant);

CREATE INDEX dead_letter_open ON dead_letter (id) WHERE settled = 0;

CREATE INDEX outbox_by_due ON outbox (due_at);

CREATE INDEX outbox_by_run ON outbox (run_id);

CREATE INDEX run_by_correlation ON run (correlation_id) WHERE correlation_id IS NOT NULL;

CREATE INDEX run_by_expiry ON run (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX run_by_parent ON run (parent_run) WHERE parent_run IS NOT NULL;

CREATE INDEX run_by_status ON run (status);

CREATE INDEX run_by_tenant ON run (tenant, status);

CREATE INDEX run_by_wake ON run (wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX run_by_workflow ON run (workflow, status);

CREATE INDEX step_queue ON step (pool, rank) WHERE pool IS NOT NULL;

CREATE INDEX submission_by_lock ON submission (queue, locked_until);

CREATE INDEX submission_by_place ON submission (queue, place);

CREATE INDEX workflow_by_request_type ON workflow (request_type) WHERE request_type IS NOT NULL;

