-- A new version, one higher than the highest of its name, and the active one.
INSERT INTO runbook (name, version, source, is_active, overdue, rerun_init, created_at, created_by)
SELECT ?1, coalesce(max(version), 0) + 1, ?2, 1, ?3, ?4, ?5, ?6 FROM runbook WHERE name = ?1
RETURNING id, version
