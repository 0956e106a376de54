-- Declares instances dead that are locked, unless they have given a sign of life meanwhile. They are
-- known by the same moment as when they were locked: whoever was not silent then is not now.
UPDATE instance
   SET state = 'dead', ended_at = clock_timestamp()
 WHERE state = 'alive' AND epoch <> $1
   AND heartbeat_at < now() - $2::bigint * interval '1 millisecond'
RETURNING epoch
