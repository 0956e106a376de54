-- Keeps a report that changed nothing, for audit, while there is room; a worker that repeats itself
-- for ever must not fill the disk.
INSERT INTO stale_report (run_id, number, step, kind, attempt, lease, reason, at)
SELECT ?1, number, ?2, ?3, ?4, ?5, ?6, ?7
  FROM (SELECT coalesce(max(number), 0) + 1 AS number FROM stale_report WHERE run_id = ?1)
 WHERE number <= ?8
