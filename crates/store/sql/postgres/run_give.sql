-- Gives runs to another instance, if that lives. One that is missing in the answer was not the giver's,
-- or has ended.
UPDATE run
   SET owner = $3
 WHERE run.id = ANY($2)
   AND run.owner + 0 = $1
   AND coalesce(run.ended_at, -1) = -1
   AND EXISTS (SELECT FROM instance WHERE epoch = $3 AND state = 'alive')
RETURNING run.id, run.tenant, run.parent_run IS NOT NULL, run.ended_at IS NOT NULL, $1
