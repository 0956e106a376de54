-- Whether the scheduler makes batches of a runbook.
SELECT runbook, enabled, enabled_at, enabled_by, disabled_at, disabled_by
  FROM automation
 WHERE runbook = $1
