-- Who is appending to the log just now: each says behind which place.
--
-- Asked after the last given place is known, and before anything is read: whoever had taken a place by
-- then either stands here still, or has committed and is seen by what is read next. For its lock goes
-- when its rows can be seen, and not before.
SELECT objid::bigint
  FROM pg_locks
 WHERE locktype = 'advisory'
   AND objsubid = 2
   AND classid  = (hashtext(current_schema() || '.event')::bigint & 4294967295)::oid
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND granted
