-- Notes a firing. What was noted of the same firing before is replaced.
INSERT INTO firing (tenant, trigger, key, scheduled_for, at, run_id, outcome, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (tenant, trigger, key) DO UPDATE
   SET scheduled_for = excluded.scheduled_for,
       at            = excluded.at,
       run_id        = excluded.run_id,
       outcome       = excluded.outcome,
       reason        = excluded.reason
