-- Moves the counters of a phase: once a group, whatever the number of members in it.
UPDATE batch_phase
   SET open        = open + ?3,
       succeeded   = succeeded + ?4,
       failed      = failed + ?5,
       cancelled   = cancelled + ?6,
       skipped     = skipped + ?7,
       steps_ended = steps_ended + ?8
 WHERE batch       = ?1
   AND gate        = ?2
