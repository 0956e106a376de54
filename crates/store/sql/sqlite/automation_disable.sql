-- Switched off; who switched it on, and when, stays known.
INSERT INTO automation (runbook, enabled, disabled_at, disabled_by) VALUES (?1, 0, ?2, ?3)
    ON CONFLICT (runbook) DO UPDATE
   SET enabled     = 0,
       disabled_at = excluded.disabled_at,
       disabled_by = excluded.disabled_by
RETURNING runbook, enabled, enabled_at, enabled_by, disabled_at, disabled_by
