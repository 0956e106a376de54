-- Writes a step to which something happens for the first time. Zero rows mean that it has a row.
INSERT INTO step (run_id, position, status, attempt, tries, lease_id, lease_stage, lease_expires_at,
                  pool, rank, lane, poll_count, kind, params, result, detail, error_code,
                  error_message, wake_at, dispatched_at, ended_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21)
    ON CONFLICT (run_id, position) DO NOTHING
