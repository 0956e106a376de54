-- Firings of a trigger, newest first.
SELECT tenant, trigger, key, scheduled_for, at, run_id, outcome, reason
  FROM firing INDEXED BY firing_by_moment
 WHERE tenant = ?1 AND trigger = ?2
 ORDER BY at DESC, key DESC
 LIMIT ?3
