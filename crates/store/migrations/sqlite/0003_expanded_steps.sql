-- Steps that are done once for each item of a list. The items stand behind the steps of their workflow,
-- in the same table; where they begin is told by the row of their step, which is called expanded.

-- SQLite cannot change a CHECK, so the table is made anew.
CREATE TABLE step_new (
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

INSERT INTO step_new SELECT * FROM step;

DROP TABLE step;
ALTER TABLE step_new RENAME TO step;

-- The queue of the embedded bus: a dispatched step is its own queue entry.
CREATE INDEX step_queue ON step (pool, rank) WHERE pool IS NOT NULL;
