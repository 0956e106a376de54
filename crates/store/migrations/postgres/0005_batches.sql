-- Runbooks, and batches of members on their timelines.
--
-- A member's way through the phases is a run like any other, so what stands here is small: which run
-- belongs to which member, where a batch and its phases stand, and how many members stand where. The
-- counters move in the transaction that moves a member's run, in its last statements: their rows are
-- locked for as long as the disk takes, and no longer.

-- The batch that a run belongs to, and what it does there. A run that undoes another has the number
-- of that one.
ALTER TABLE run_header ADD COLUMN IF NOT EXISTS batch bigint;
ALTER TABLE run_header ADD COLUMN IF NOT EXISTS member bigint;
ALTER TABLE run_header ADD COLUMN IF NOT EXISTS role text;
ALTER TABLE run_header ADD COLUMN IF NOT EXISTS number bigint;

-- Every version of every runbook as it was published; the number is an address for people.
CREATE TABLE IF NOT EXISTS runbook (
    id              bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at      bigint  NOT NULL,
    last_error_at   bigint,
    version         integer NOT NULL CHECK (version > 0),
    is_active       boolean NOT NULL,
    overdue_applied boolean NOT NULL DEFAULT FALSE,
    rerun_init      boolean NOT NULL,
    name            text    COLLATE "C" NOT NULL,
    overdue         text    COLLATE "C" NOT NULL CHECK (overdue IN ('rerun', 'ignore')),
    source          text    NOT NULL,
    created_by      text    NOT NULL,
    last_error      text,
    UNIQUE (name, version),
    CHECK ((last_error IS NULL) = (last_error_at IS NULL))
);

CREATE UNIQUE INDEX IF NOT EXISTS runbook_active ON runbook (name) WHERE is_active;

-- Whether the scheduler makes batches of a runbook by itself. No row: nobody ever said.
CREATE TABLE IF NOT EXISTS automation (
    runbook     text    COLLATE "C" PRIMARY KEY,
    enabled     boolean NOT NULL,
    enabled_at  bigint,
    disabled_at bigint,
    enabled_by  text,
    disabled_by text
);

-- The counters from open to cancelled are moved by the members' own commits, everything else by decisions
-- on the batch, which compare its version. A page is filled to the half: counters change no index.
CREATE TABLE IF NOT EXISTS batch (
    id                 bigint  PRIMARY KEY,
    version            bigint  NOT NULL CHECK (version >= 0),
    slot               bigint,
    created_at         bigint  NOT NULL,
    updated_at         bigint  NOT NULL,
    ended_at           bigint,
    start              bigint,
    advanced_at        bigint,
    init_dispatched_at bigint,
    wake_at            bigint,
    joined             bigint  NOT NULL CHECK (joined >= 0),
    removed            bigint  NOT NULL CHECK (removed BETWEEN 0 AND joined),
    open               bigint  NOT NULL DEFAULT 0 CHECK (open >= 0),
    succeeded          bigint  NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
    failed             bigint  NOT NULL DEFAULT 0 CHECK (failed >= 0),
    cancelled          bigint  NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    runbook_version    integer NOT NULL CHECK (runbook_version > 0),
    paused             boolean NOT NULL,
    settled            boolean NOT NULL,
    status             text    COLLATE "C" NOT NULL,
    mode               text    COLLATE "C" NOT NULL CHECK (mode IN ('scheduled', 'immediate', 'manual')),
    tenant             text    COLLATE "C" NOT NULL,
    runbook            text    COLLATE "C" NOT NULL,
    actor              text    NOT NULL,
    current_phase      text,
    init               text    NOT NULL,
    sweeps             text    NOT NULL,
    CHECK (CASE status
               WHEN 'detected'        THEN ended_at IS NULL     AND NOT settled
               WHEN 'init_dispatched' THEN ended_at IS NULL     AND NOT settled
               WHEN 'active'          THEN ended_at IS NULL     AND NOT settled
               WHEN 'completed'       THEN ended_at IS NOT NULL
               WHEN 'failed'          THEN ended_at IS NOT NULL
               WHEN 'cancelled'       THEN ended_at IS NOT NULL
               ELSE FALSE
           END)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Lists are newest first.
CREATE INDEX IF NOT EXISTS batch_by_runbook ON batch (runbook, id);
CREATE INDEX IF NOT EXISTS batch_by_slot ON batch (runbook, slot, id) WHERE slot IS NOT NULL;
CREATE INDEX IF NOT EXISTS batch_open ON batch (runbook, id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS batch_unsettled ON batch (id) WHERE NOT settled;

-- One phase of one batch under one version of its runbook. Later phases have higher numbers.
CREATE TABLE IF NOT EXISTS batch_phase (
    id             bigint  PRIMARY KEY,
    batch          bigint  NOT NULL,
    due_at         bigint,
    dispatched_at  bigint,
    completed_at   bigint,
    open           bigint  NOT NULL DEFAULT 0 CHECK (open >= 0),
    succeeded      bigint  NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
    failed         bigint  NOT NULL DEFAULT 0 CHECK (failed >= 0),
    cancelled      bigint  NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    skipped        bigint  NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    steps_ended    bigint  NOT NULL DEFAULT 0 CHECK (steps_ended >= 0),
    version        integer NOT NULL CHECK (version > 0),
    offset_minutes integer NOT NULL,
    steps          integer NOT NULL CHECK (steps BETWEEN 0 AND 65535),
    status         text    COLLATE "C" NOT NULL,
    gate           text    COLLATE "C" NOT NULL,
    name           text    NOT NULL,
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
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE IF NOT EXISTS batch_member (
    id                    bigint PRIMARY KEY,
    batch                 bigint NOT NULL,
    added_at              bigint NOT NULL,
    removed_at            bigint,
    removal_dispatched_at bigint,
    run_id                uuid   NOT NULL,
    data_hash             bytea  NOT NULL CHECK (length(data_hash) = 32),
    key                   text   COLLATE "C" NOT NULL,
    removed_by            text,
    CHECK ((removed_at IS NULL) = (removed_by IS NULL)),
    CHECK (removed_at IS NOT NULL OR removal_dispatched_at IS NULL)
);

CREATE INDEX IF NOT EXISTS batch_member_by_batch ON batch_member (batch, id);
-- Whoever has left may join again, as another member. Each member is in one of the two.
CREATE UNIQUE INDEX IF NOT EXISTS batch_member_by_key ON batch_member (batch, key)
    WHERE removed_at IS NULL;
CREATE INDEX IF NOT EXISTS batch_member_removed ON batch_member (batch, key) WHERE removed_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS batch_member_leaving ON batch_member (batch, id)
    WHERE removed_at IS NOT NULL AND removal_dispatched_at IS NULL;

-- The runs of a batch by the numbers that workers know them by.
CREATE TABLE IF NOT EXISTS batch_run (
    number bigint PRIMARY KEY,
    batch  bigint NOT NULL,
    member bigint,
    run_id uuid   NOT NULL,
    role   text   COLLATE "C" NOT NULL CHECK (role IN ('init', 'member', 'removal')),
    CHECK ((role = 'init') = (member IS NULL))
);

CREATE INDEX IF NOT EXISTS batch_run_by_batch ON batch_run (batch, role, member);

-- What the steps of batches' runs follow, for those who ask in SQL: nothing here is read for a decision.
CREATE TABLE IF NOT EXISTS step_spec (
    workflow_version integer NOT NULL,
    position         integer NOT NULL CHECK (position BETWEEN 0 AND 65535),
    gate_position    integer NOT NULL,
    retries_max      bigint  NOT NULL,
    poll_interval_s  bigint,
    poll_timeout_s   bigint,
    retry_interval_s bigint  NOT NULL,
    workflow         text    COLLATE "C" NOT NULL,
    step             text    NOT NULL,
    gate             text    COLLATE "C",
    kind             text    NOT NULL,
    pool             text    NOT NULL,
    on_failure       text,
    PRIMARY KEY (workflow, workflow_version, position)
);

-- One row a decision, never edited. Numbers are given in the order of the commits, so that whoever
-- reads on from the last one it saw misses nothing.
CREATE TABLE IF NOT EXISTS batch_history (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch   bigint NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    at      bigint NOT NULL,
    entries text   NOT NULL
);

CREATE INDEX IF NOT EXISTS batch_history_by_batch ON batch_history (batch, id);

-- Numbers that were given out; a number never comes back.
CREATE TABLE IF NOT EXISTS sequence_number (
    name text   COLLATE "C" PRIMARY KEY,
    next bigint NOT NULL CHECK (next > 0)
) WITH (fillfactor = 50);

-- Who may do something alone, and until when, by the clock of this server.
CREATE TABLE IF NOT EXISTS lease (
    name   text   COLLATE "C" PRIMARY KEY,
    until  bigint NOT NULL,
    holder text   NOT NULL
) WITH (fillfactor = 50);

-- Keys that an immediate runbook has made members of, and that were never absent from its source since.
CREATE TABLE IF NOT EXISTS seen_key (
    runbook text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    PRIMARY KEY (runbook, key)
);
