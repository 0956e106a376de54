-- Gives runs to another instance, if that lives. One that is missing in the answer was not the giver's,
-- or has ended. Goes on in `run_moved`.
WITH moved AS (
    UPDATE run
       SET owner = $1
     WHERE run.id = ANY($2)
       AND run.owner + 0 = $3
       AND coalesce(run.ended_at, -1) = -1
       AND EXISTS (SELECT FROM instance WHERE epoch = $1 AND state = 'alive')
    RETURNING run.id, run.tenant, run.parent_run IS NOT NULL AS is_compensation,
              run.ended_at IS NOT NULL AS has_ended, $3::bigint AS before
)
