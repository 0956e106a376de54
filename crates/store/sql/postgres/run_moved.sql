-- The end of every statement that moves runs to the owner $1: what belongs to a run moves with it.
, stepped AS (
    -- The queue of the embedded bus follows the owner. What is recorded, and nothing else, is with that
    -- bus; asked like this, the way to a step is its run, not the whole queue.
    UPDATE step
       SET owner = $1
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
     CROSS JOIN LATERAL (VALUES (moved.before, -1), ($1::bigint, 1)) AS side (epoch, change)
     WHERE NOT moved.has_ended
     GROUP BY moved.tenant, side.epoch
     ORDER BY moved.tenant COLLATE "C", side.epoch
        ON CONFLICT (tenant, epoch, slot) DO UPDATE
       SET open          = tenant_load.open + excluded.open,
           compensations = tenant_load.compensations + excluded.compensations
)
SELECT id FROM moved
