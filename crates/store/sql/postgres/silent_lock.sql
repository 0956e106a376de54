-- Waits for the commits of silent instances that are under way, and keeps further ones out: each of
-- them is either before the takeover, or refused whole. Silent is who was so when the transaction began.
SELECT silent.epoch,
       pg_advisory_xact_lock(hashtext(current_schema() || '.instance'),
                             (silent.epoch % 2147483647)::integer)
  FROM (SELECT epoch
          FROM instance
         WHERE state = 'alive' AND epoch <> $1
           AND heartbeat_at < now() - $2::bigint * interval '1 millisecond'
         ORDER BY epoch) AS silent
