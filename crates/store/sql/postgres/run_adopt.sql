-- Takes runs that are about to be written and whose owner does not live. Goes on in `run_moved`.
WITH moved AS (
    UPDATE run
       SET owner = $1
      FROM instance AS gone
     WHERE run.id = ANY($2)
       AND coalesce(run.ended_at, -1) = -1
       AND gone.epoch = run.owner + 0
       AND gone.state <> 'alive'
    RETURNING run.id, run.tenant, run.parent_run IS NOT NULL AS is_compensation,
              run.ended_at IS NOT NULL AS has_ended, gone.epoch AS before
)
