-- Switches whether the scheduler makes batches of a runbook. Who did the opposite last, and when, stays.
INSERT INTO automation (runbook, enabled, enabled_at, enabled_by, disabled_at, disabled_by)
VALUES ($1, $2, CASE WHEN $2 THEN $4::bigint END, CASE WHEN $2 THEN $3::text END,
        CASE WHEN NOT $2 THEN $4 END, CASE WHEN NOT $2 THEN $3 END)
    ON CONFLICT (runbook) DO UPDATE
   SET enabled     = excluded.enabled,
       enabled_at  = coalesce(excluded.enabled_at, automation.enabled_at),
       enabled_by  = coalesce(excluded.enabled_by, automation.enabled_by),
       disabled_at = coalesce(excluded.disabled_at, automation.disabled_at),
       disabled_by = coalesce(excluded.disabled_by, automation.disabled_by)
RETURNING runbook, enabled, enabled_at, enabled_by, disabled_at, disabled_by
