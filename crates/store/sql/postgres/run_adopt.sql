-- Takes runs that are about to be written and whose owner does not live.
UPDATE run
   SET owner = $1
  FROM instance AS gone
 WHERE run.id = ANY($2)
   AND coalesce(run.ended_at, -1) = -1
   AND gone.epoch = run.owner + 0
   AND gone.state <> 'alive'
RETURNING run.id, run.tenant, run.parent_run IS NOT NULL, run.ended_at IS NOT NULL, gone.epoch
