-- Moves the counters of a batch: once a group, whatever the number of its members in it.
UPDATE batch
   SET open      = open + ?2,
       succeeded = succeeded + ?3,
       failed    = failed + ?4,
       cancelled = cancelled + ?5
 WHERE id        = ?1
