-- A sign of life, by the clock of the server. Zero rows: it was declared dead, or said good-bye.
UPDATE instance
   SET heartbeat_at = clock_timestamp(),
       stats        = $2::text::jsonb
 WHERE epoch = $1 AND state = 'alive'
RETURNING (extract(epoch FROM heartbeat_at) * 1000)::bigint
