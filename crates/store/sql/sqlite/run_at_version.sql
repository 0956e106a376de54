-- What the transaction must know of a run before its status or moment changes.
SELECT tenant, parent_run IS NOT NULL, ended_at IS NOT NULL, wake_at
  FROM run
 WHERE id = ?1 AND version = ?2
