-- Writes a step. It has a row only since something first happened to it, hence the two ways.
INSERT INTO step (run_id, position, status, attempt, tries, lease_id, lease_stage, lease_expires_at,
                  pool, rank, lane, poll_count, kind, params, result, detail, error_code,
                  error_message, wake_at, dispatched_at, ended_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21)
    ON CONFLICT (run_id, position) DO UPDATE
   SET status           = excluded.status,
       attempt          = excluded.attempt,
       tries            = excluded.tries,
       lease_id         = excluded.lease_id,
       lease_stage      = excluded.lease_stage,
       lease_expires_at = excluded.lease_expires_at,
       pool             = excluded.pool,
       rank             = excluded.rank,
       lane             = excluded.lane,
       poll_count       = excluded.poll_count,
       kind             = excluded.kind,
       params           = excluded.params,
       result           = excluded.result,
       detail           = excluded.detail,
       error_code       = excluded.error_code,
       error_message    = excluded.error_message,
       wake_at          = excluded.wake_at,
       dispatched_at    = excluded.dispatched_at,
       ended_at         = excluded.ended_at
