-- Takes over open runs whose owner does not live, oldest first; nobody is such an owner too. What
-- somebody else is taking just now is passed over.
--
-- A run that has ended stays where it was, unless an input waits for it that somebody must answer.
WITH orphan AS (
    SELECT found.id, found.owner
      FROM instance AS gone
     CROSS JOIN LATERAL (SELECT run.id, run.owner
                           FROM run
                          -- As a range, so that only the index by owner has the order: there may
                          -- be millions of older runs that belong to the living.
                          WHERE run.owner >= gone.epoch AND run.owner <= gone.epoch
                            AND run.ended_at IS NULL
                          ORDER BY run.owner, run.id
                          LIMIT $2
                            FOR NO KEY UPDATE SKIP LOCKED) AS found
     WHERE gone.state <> 'alive'
     ORDER BY found.id
     LIMIT $2
), asked AS (
    SELECT DISTINCT found.id, found.owner
      FROM input
           -- OFFSET keeps it a question of its own, asked input by input.
     CROSS JOIN LATERAL (SELECT run.id, run.owner
                           FROM run
                          WHERE run.id = input.run_id AND run.ended_at IS NOT NULL
                         OFFSET 0) AS found
      JOIN instance AS gone ON gone.epoch = found.owner AND gone.state <> 'alive'
), moved AS (
    UPDATE run
       SET owner = $1
      FROM (SELECT id, owner FROM orphan UNION ALL SELECT id, owner FROM asked) AS orphan
     WHERE run.id = orphan.id AND run.owner = orphan.owner
    RETURNING run.id, run.tenant, run.parent_run IS NOT NULL AS is_compensation,
              run.ended_at IS NOT NULL AS has_ended, orphan.owner AS before
), stepped AS (
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
