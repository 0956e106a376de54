-- Switched on; who switched it off, and when, stays known.
INSERT INTO automation (runbook, enabled, enabled_at, enabled_by) VALUES (?1, 1, ?2, ?3)
    ON CONFLICT (runbook) DO UPDATE
   SET enabled    = 1,
       enabled_at = excluded.enabled_at,
       enabled_by = excluded.enabled_by
RETURNING runbook, enabled, enabled_at, enabled_by, disabled_at, disabled_by
