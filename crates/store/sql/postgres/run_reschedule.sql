-- Puts runs that were woken early to their true moments. One that is missing in the answer moved since
-- it was loaded, or is not ours.
UPDATE run
   SET wake_at = new.wake_at
  FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS new (id, version, wake_at)
 WHERE run.id        = new.id
   AND run.version   = new.version
   AND run.owner + 0 = $1
   AND coalesce(run.ended_at, -1) = -1
RETURNING run.id
