-- Deletes old events, of so many that were written first: they are in the order of time, but for what
-- clocks differ.
DELETE FROM event
 WHERE id IN (SELECT id FROM event WHERE id > 0 ORDER BY id LIMIT ?2)
   AND at < ?1
