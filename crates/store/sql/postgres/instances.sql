-- Instances that live, and those that ended within a day, oldest first.
SELECT instance.epoch, instance.id,
       (extract(epoch FROM instance.started_at) * 1000)::bigint,
       (extract(epoch FROM instance.heartbeat_at) * 1000)::bigint,
       (extract(epoch FROM clock_timestamp() - instance.heartbeat_at) * 1000)::bigint,
       instance.state,
       (SELECT coalesce(sum(open + compensations), 0)::bigint
          FROM tenant_load
         WHERE tenant_load.epoch = instance.epoch),
       instance.stats::text
  FROM instance
 WHERE instance.epoch <> 0
   AND (instance.state = 'alive' OR instance.ended_at > clock_timestamp() - interval '1 day')
 ORDER BY instance.epoch
