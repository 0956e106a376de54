-- Instances that ended more than a day ago and own nothing any more.
DELETE FROM instance
 WHERE state <> 'alive'
   AND epoch <> 0
   AND ended_at < clock_timestamp() - interval '1 day'
   AND NOT EXISTS (SELECT FROM run WHERE run.owner = instance.epoch AND run.ended_at IS NULL)
