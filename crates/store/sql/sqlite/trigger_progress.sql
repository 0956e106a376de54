-- Writes what became of a trigger. Zero rows: it has changed since it was read.
UPDATE trigger
   SET next_at     = ?4,
       fired_until = ?5,
       last_error  = ?6
 WHERE tenant  = ?1
   AND name    = ?2
   AND version = ?3
