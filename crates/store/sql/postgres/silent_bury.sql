-- Declares instances dead that are locked, unless they have given a sign of life meanwhile.
UPDATE instance
   SET state = 'dead', ended_at = clock_timestamp()
 WHERE epoch = ANY($1)
   AND state = 'alive'
   AND heartbeat_at < clock_timestamp() - $2::bigint * interval '1 millisecond'
RETURNING epoch
