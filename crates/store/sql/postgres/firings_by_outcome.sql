-- Firings of a trigger that ended in one way, newest first.
SELECT tenant, trigger, key, scheduled_for, at, run_id, outcome, reason
  FROM firing
 WHERE tenant = $1 AND trigger = $2 AND outcome = $4
 ORDER BY at DESC, key DESC
 LIMIT $3
