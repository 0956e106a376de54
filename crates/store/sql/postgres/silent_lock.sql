-- Waits for the commits of silent instances that are under way, and keeps further ones out: each of
-- them is either before the takeover, or refused whole.
SELECT silent.epoch,
       pg_advisory_xact_lock(hashtext(current_schema() || '.instance'),
                             (silent.epoch % 2147483647)::integer)
  FROM (SELECT epoch
          FROM instance
         WHERE state = 'alive' AND epoch <> $1
           AND heartbeat_at < clock_timestamp() - $2::bigint * interval '1 millisecond'
         ORDER BY epoch) AS silent
