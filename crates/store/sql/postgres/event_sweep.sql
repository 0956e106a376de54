-- Deletes old events, of so many that were written first: they are in the order of time, but for what
-- clocks differ. What another instance is deleting is passed over.
DELETE FROM event
 WHERE id = ANY(ARRAY(SELECT id FROM event WHERE id > 0 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
   AND at < $1
