-- Gives runs to another instance, if that lives. One that is missing in the answer was not the giver's,
-- or has ended.
WITH moved AS (
    UPDATE run
       SET owner = $3
     WHERE run.id = ANY($2)
       AND run.owner + 0 = $1
       AND coalesce(run.ended_at, -1) = -1
       AND EXISTS (SELECT FROM instance WHERE epoch = $3 AND state = 'alive')
    RETURNING run.id, run.tenant, run.parent_run IS NOT NULL AS is_compensation,
              run.ended_at IS NOT NULL AS has_ended, $1::bigint AS before
), stepped AS (
    -- The queue of the embedded bus follows the owner. What is recorded, and nothing else, is with that
    -- bus; asked like this, the way to a step is its run, not the whole queue.
    UPDATE step
       SET owner = $3
      FROM moved
     WHERE step.run_id = moved.id AND step.lease_stage = 'recorded' AND NOT moved.has_ended
), counted AS (
    -- Open runs count where they are owned now. The rows of slot 0 belong to no connection, and are
    -- taken in order.
    INSERT INTO tenant_load (tenant, epoch, slot, open, compensations)
    SELECT moved.tenant, side.epoch, 0,
           sum(CASE WHEN moved.is_compensation THEN 0 ELSE side.change END),
           sum(CASE WHEN moved.is_compensation THEN side.change ELSE 0 END)
      FROM moved
     CROSS JOIN LATERAL (VALUES (moved.before, -1), ($3::bigint, 1)) AS side (epoch, change)
     WHERE NOT moved.has_ended
     GROUP BY moved.tenant, side.epoch
     ORDER BY moved.tenant COLLATE "C", side.epoch
        ON CONFLICT (tenant, epoch, slot) DO UPDATE
       SET open          = tenant_load.open + excluded.open,
           compensations = tenant_load.compensations + excluded.compensations
)
SELECT id FROM moved
