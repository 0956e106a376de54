CREATE VIEW batch_members AS
SELECT member.id,
       member.batch                                                         AS batch_id,
       member.key                                                           AS member_key,
       coalesce(header.input, '{}')                                         AS data_json,
       run.outputs                                                          AS worker_data_json,
       CASE
           WHEN member.removed_at IS NOT NULL                THEN 'removed'
           WHEN coalesce(run.status, stub.status) = 'failed' THEN 'failed'
           ELSE 'active'
       END                                                                  AS status,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.added_at / 1000.0, 'unixepoch') AS added_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.removed_at / 1000.0, 'unixepoch') AS removed_at,
       CASE WHEN coalesce(run.status, stub.status) = 'failed'
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(run.ended_at, stub.ended_at) / 1000.0,
                          'unixepoch')
       END                                                                  AS failed_at,
       -- Its run begins with it.
       strftime('%Y-%m-%dT%H:%M:%fZ', member.added_at / 1000.0, 'unixepoch') AS add_dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.removal_dispatched_at / 1000.0, 'unixepoch')
                                                                            AS remove_dispatched_at
  FROM batch_member AS member
  LEFT JOIN run ON run.id = member.run_id
  LEFT JOIN run_header AS header ON header.run_id = member.run_id
  LEFT JOIN stub ON stub.run_id = member.run_id;

CREATE VIEW batch_step AS
SELECT known.number * 65536 + step.position                                 AS id,
       known.batch,
       known.member,
       known.role,
       run.workflow_version,
       spec.step,
       spec.gate,
       spec.gate_position,
       spec.pool                                                            AS worker_id,
       coalesce(step.kind, spec.kind)                                       AS function_name,
       step.params                                                          AS params_json,
       CASE step.status
           WHEN 'waiting'    THEN 'pending'
           WHEN 'ready'      THEN 'pending'
           WHEN 'retry_wait' THEN 'pending'
           WHEN 'expanded'   THEN 'dispatched'
           WHEN 'acked'      THEN 'dispatched'
           WHEN 'timed_out'  THEN 'poll_timeout'
           WHEN 'skipped'    THEN 'cancelled'
           ELSE step.status
       END                                                                  AS status,
       -- Taken back while a retry waits, as the dialect does it.
       CASE WHEN step.attempt > 0 AND step.status <> 'retry_wait' THEN
           CASE known.role WHEN 'init' THEN 'init-' ELSE 'step-' END
           || (known.number * 65536 + step.position)
           || CASE step.attempt WHEN 1 THEN '-attempt-1' ELSE '-retry-' || (step.attempt - 1) END
           || CASE WHEN step.detail ->> '$.poll.count' > 0
                   THEN '-poll-' || (step.detail ->> '$.poll.count')
                   ELSE ''
              END
       END                                                                  AS job_id,
       step.result                                                          AS result_json,
       step.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', step.dispatched_at / 1000.0, 'unixepoch') AS dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', step.ended_at / 1000.0, 'unixepoch')  AS completed_at,
       spec.poll_interval_s IS NOT NULL                                     AS is_poll_step,
       spec.poll_interval_s                                                 AS poll_interval_sec,
       spec.poll_timeout_s                                                  AS poll_timeout_sec,
       strftime('%Y-%m-%dT%H:%M:%fZ', (step.detail ->> '$.poll.started_at') / 1000.0, 'unixepoch')
                                                                            AS poll_started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ',
                CASE step.detail ->> '$.poll.count'
                    WHEN 0 THEN step.detail ->> '$.poll.started_at'
                    ELSE iif(step.detail ->> '$.poll.count' > 0, step.dispatched_at, NULL)
                END / 1000.0, 'unixepoch')                                  AS last_polled_at,
       coalesce(step.detail ->> '$.poll.count', 0)                          AS poll_count,
       -- Without the version that tells the rollbacks of several versions apart.
       rtrim(rtrim(spec.on_failure, '0123456789'), '@')                     AS on_failure,
       -- Counted when it is decided on, not when it begins.
       iif(step.status = 'retry_wait', step.tries, max(step.tries - 1, 0))  AS retry_count,
       spec.retries_max                                                     AS max_retries,
       spec.retry_interval_s                                                AS retry_interval_sec,
       CASE WHEN step.status = 'retry_wait'
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', step.wake_at / 1000.0, 'unixepoch')
       END                                                                  AS retry_after
  FROM batch_run AS known
  JOIN run ON run.id = known.run_id
  JOIN step ON step.run_id = known.run_id
  JOIN step_spec AS spec ON spec.workflow = run.workflow
                        AND spec.workflow_version = run.workflow_version
                        AND spec.position = step.position
 WHERE step.detail ->> '$.skip' IS NOT 'superseded';

CREATE VIEW batches AS
SELECT batch.id,
       runbook.id                                                           AS runbook_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.start / 1000.0, 'unixepoch')    AS batch_start_time,
       batch.status,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.created_at / 1000.0, 'unixepoch') AS detected_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.init_dispatched_at / 1000.0, 'unixepoch')
                                                                            AS init_dispatched_at,
       batch.mode = 'manual'                                                AS is_manual,
       batch.actor                                                          AS created_by,
       batch.current_phase
  FROM batch
  LEFT JOIN runbook ON runbook.name = batch.runbook AND runbook.version = batch.runbook_version;

CREATE VIEW init_executions AS
SELECT id,
       batch                                                                AS batch_id,
       workflow_version                                                     AS runbook_version,
       step                                                                 AS step_name,
       gate_position                                                        AS step_index,
       worker_id,
       function_name,
       params_json,
       status,
       job_id,
       result_json,
       error_message,
       dispatched_at,
       completed_at,
       is_poll_step,
       poll_interval_sec,
       poll_timeout_sec,
       poll_started_at,
       last_polled_at,
       poll_count,
       on_failure,
       retry_count,
       max_retries,
       retry_interval_sec,
       retry_after
  FROM batch_step
 WHERE role = 'init';

CREATE VIEW phase_executions AS
SELECT id,
       batch                                                                AS batch_id,
       name                                                                 AS phase_name,
       offset_minutes,
       strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch')         AS due_at,
       version                                                              AS runbook_version,
       status,
       strftime('%Y-%m-%dT%H:%M:%fZ', dispatched_at / 1000.0, 'unixepoch')  AS dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', completed_at / 1000.0, 'unixepoch')   AS completed_at
  FROM batch_phase;

CREATE VIEW runbook_automation_settings AS
SELECT runbook                                                              AS runbook_name,
       enabled                                                              AS automation_enabled,
       strftime('%Y-%m-%dT%H:%M:%fZ', enabled_at / 1000.0, 'unixepoch')     AS enabled_at,
       enabled_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', disabled_at / 1000.0, 'unixepoch')    AS disabled_at,
       disabled_by
  FROM automation;

CREATE VIEW runbooks AS
SELECT runbook.id,
       runbook.name,
       runbook.version,
       runbook.source                                                       AS yaml_content,
       -- Nothing reads it, and there never was such a table.
       'runbook_' || (WITH RECURSIVE letter (place) AS (
                          SELECT 1
                           UNION ALL
                          SELECT place + 1 FROM letter WHERE place < length(runbook.name)
                      )
                      SELECT group_concat(CASE WHEN substr(runbook.name, place, 1) GLOB '[A-Za-z0-9]'
                                               THEN substr(runbook.name, place, 1)
                                               ELSE '_'
                                          END, '')
                        FROM letter) || '_v' || runbook.version             AS data_table_name,
       runbook.is_active,
       runbook.overdue                                                      AS overdue_behavior,
       runbook.overdue_applied                                              AS ignore_overdue_applied,
       runbook.rerun_init,
       strftime('%Y-%m-%dT%H:%M:%fZ', runbook.created_at / 1000.0, 'unixepoch')
                                                                            AS created_at,
       runbook.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', runbook.last_error_at / 1000.0, 'unixepoch')
                                                                            AS last_error_at
  FROM runbook;

CREATE VIEW step_executions AS
SELECT step.id,
       phase.id                                                             AS phase_execution_id,
       step.member                                                          AS batch_member_id,
       CASE WHEN substr(step.step, 1, length(phase.gate) + 1) = phase.gate || '/'
            THEN substr(step.step, length(phase.gate) + 2)
            ELSE step.step
       END                                                                  AS step_name,
       step.gate_position                                                   AS step_index,
       step.worker_id,
       step.function_name,
       step.params_json,
       step.status,
       step.job_id,
       step.result_json,
       step.error_message,
       step.dispatched_at,
       step.completed_at,
       step.is_poll_step,
       step.poll_interval_sec,
       step.poll_timeout_sec,
       step.poll_started_at,
       step.last_polled_at,
       step.poll_count,
       step.on_failure,
       step.retry_count,
       step.max_retries,
       step.retry_interval_sec,
       step.retry_after
  FROM batch_step AS step
  JOIN batch_phase AS phase ON phase.batch = step.batch AND phase.gate = step.gate
 WHERE step.role = 'member';

CREATE TABLE automation (
    runbook     TEXT    NOT NULL PRIMARY KEY,
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    enabled_at  INTEGER,
    enabled_by  TEXT,
    disabled_at INTEGER,
    disabled_by TEXT
) STRICT, WITHOUT ROWID;

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

CREATE TABLE batch_history (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    batch   INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    at      INTEGER NOT NULL,
    entries TEXT    NOT NULL
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

CREATE TABLE batch_run (
    number INTEGER PRIMARY KEY,
    run_id BLOB    NOT NULL CHECK (length(run_id) = 16),
    batch  INTEGER NOT NULL,
    member INTEGER,
    role   TEXT    NOT NULL CHECK (role = 'member' OR role = 'init' OR role = 'removal'),
    CHECK ((role = 'init') = (member IS NULL))
) STRICT;

CREATE TABLE credit_account (
    tenant   TEXT    NOT NULL PRIMARY KEY,
    balance  INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    spent    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "credit_movement" (
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
    settlement    TEXT, dialect TEXT, first_error_code TEXT, first_error_message TEXT
    CHECK ((first_error_code IS NULL) = (first_error_message IS NULL)),
    CHECK ((settlement IS NOT NULL) = settled),
    CHECK ((run_id IS NULL) = (message IS NOT NULL))
) STRICT;

CREATE TABLE event (
    id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant  TEXT    NOT NULL,
    dialect TEXT    NOT NULL,
    run_id  BLOB    CHECK (length(run_id) = 16),
    kind    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

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

CREATE TABLE lease (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    epoch    INTEGER NOT NULL CHECK (epoch >= 0),
    instance TEXT    NOT NULL,
    clean    INTEGER NOT NULL CHECK (clean IN (0, 1)),
    probes   INTEGER NOT NULL
) STRICT;

CREATE TABLE "outbox" (
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
    expires_at       INTEGER, credits_reserved INTEGER, credits_spent INTEGER,
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
    idempotency_hash BLOB    CHECK (length(idempotency_hash) = 32), batch INTEGER, member INTEGER, role TEXT, number INTEGER, terms TEXT,
    CHECK ((lane IS NULL) = (routing_key IS NULL))
) STRICT, WITHOUT ROWID;

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

CREATE TABLE secret (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE seen_key (
    runbook TEXT NOT NULL,
    key     TEXT NOT NULL,
    PRIMARY KEY (runbook, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE sequence_number (
    name TEXT    NOT NULL PRIMARY KEY,
    next INTEGER NOT NULL CHECK (next > 0)
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

CREATE TABLE stub (
    run_id     BLOB    NOT NULL PRIMARY KEY CHECK (length(run_id) = 16),
    tenant     TEXT    NOT NULL,
    workflow   TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled')),
    ended_at   INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
, lasting INTEGER NOT NULL DEFAULT 0 CHECK (lasting IN (0, 1))) STRICT, WITHOUT ROWID;

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

CREATE TABLE tenant_load (
    tenant        TEXT    NOT NULL PRIMARY KEY,
    open          INTEGER NOT NULL CHECK (open >= 0),
    compensations INTEGER NOT NULL CHECK (compensations >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_policy (
    tenant TEXT NOT NULL PRIMARY KEY,
    policy TEXT NOT NULL
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

CREATE INDEX batch_by_runbook ON batch (runbook);

CREATE INDEX batch_by_slot ON batch (runbook, slot) WHERE slot IS NOT NULL;

CREATE INDEX batch_history_by_batch ON batch_history (batch);

CREATE INDEX batch_member_by_batch ON batch_member (batch);

CREATE UNIQUE INDEX batch_member_by_key ON batch_member (batch, key) WHERE removed_at IS NULL;

CREATE INDEX batch_member_removed ON batch_member (batch, key) WHERE removed_at IS NOT NULL;

CREATE INDEX batch_run_by_batch ON batch_run (batch, role, member);

CREATE INDEX batch_to_count ON batch (runbook, tenant, status, mode, slot);

CREATE INDEX batch_unsettled ON batch (id) WHERE settled = 0;

CREATE UNIQUE INDEX credit_movement_by_key ON credit_movement (tenant, key) WHERE key IS NOT NULL;

CREATE INDEX credit_movement_by_run ON credit_movement (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX credit_movement_by_tenant ON credit_movement (tenant);

CREATE INDEX credit_movement_unfolded ON credit_movement (at) WHERE run_id IS NOT NULL;

CREATE INDEX dead_letter_by_code ON dead_letter (error_code);

CREATE INDEX dead_letter_by_moment ON dead_letter (at);

CREATE INDEX dead_letter_by_run ON dead_letter (run_id);

CREATE INDEX dead_letter_by_tenant ON dead_letter (tenant);

CREATE INDEX dead_letter_by_workflow ON dead_letter (workflow);

CREATE INDEX dead_letter_open ON dead_letter (id) WHERE settled = 0;

CREATE INDEX dead_letter_open_by_dialect ON dead_letter (reason, dialect) WHERE settled = 0;

CREATE INDEX dead_letter_open_by_reason ON dead_letter (reason) WHERE settled = 0;

CREATE INDEX event_by_kind ON event (kind);

CREATE INDEX event_by_run ON event (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX event_by_tenant ON event (tenant);

CREATE INDEX firing_by_moment ON firing (tenant, trigger, at, key);

CREATE INDEX firing_by_outcome ON firing (tenant, trigger, outcome, at, key);

CREATE INDEX outbox_by_due ON outbox (due_at);

CREATE INDEX outbox_by_run ON outbox (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX run_by_correlation ON run (correlation_id) WHERE correlation_id IS NOT NULL;

CREATE INDEX run_by_expiry ON run (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX run_by_parent ON run (parent_run) WHERE parent_run IS NOT NULL;

CREATE INDEX run_by_status ON run (status);

CREATE INDEX run_by_tenant ON run (tenant, status);

CREATE INDEX run_by_wake ON run (wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX run_by_workflow ON run (workflow, status);

CREATE UNIQUE INDEX runbook_active ON runbook (name) WHERE is_active = 1;

CREATE INDEX step_queue ON step (pool, rank) WHERE pool IS NOT NULL;

CREATE INDEX stub_by_deletion ON stub (deleted_at) WHERE lasting = 0;

CREATE INDEX submission_by_lock ON submission (queue, locked_until);

CREATE INDEX submission_by_place ON submission (queue, place);

CREATE INDEX trigger_by_next ON trigger (next_at) WHERE enabled = 1 AND next_at IS NOT NULL;

CREATE INDEX workflow_by_request_type ON workflow (request_type) WHERE request_type IS NOT NULL;

