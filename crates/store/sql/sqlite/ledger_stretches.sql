-- Lines of runs from before a moment, so many, and the carried lines beside them, as stretches of lines
-- that follow each other in the ledger of a tenant on one day: each becomes one line. Whatever stands
-- between two lines, a grant or a younger line, keeps them apart.
WITH old AS MATERIALIZED (
    SELECT id,
           (SELECT beside.id
              FROM credit_movement AS beside INDEXED BY credit_movement_by_tenant
             WHERE beside.tenant = line.tenant AND beside.id < line.id
             ORDER BY beside.id DESC
             LIMIT 1) AS previous,
           (SELECT beside.id
              FROM credit_movement AS beside INDEXED BY credit_movement_by_tenant
             WHERE beside.tenant = line.tenant AND beside.id > line.id
             ORDER BY beside.id
             LIMIT 1) AS next
      FROM credit_movement AS line INDEXED BY credit_movement_unfolded
     WHERE run_id IS NOT NULL AND at < ?1
     ORDER BY at, id
     LIMIT ?2
), part AS (
    SELECT id, previous FROM old
     UNION ALL
    SELECT line.id, old.id FROM old CROSS JOIN credit_movement AS line ON line.id = next AND kind = 'carried'
     UNION ALL
    SELECT line.id, NULL FROM old CROSS JOIN credit_movement AS line ON line.id = previous AND kind = 'carried'
), placed AS MATERIALIZED (
    SELECT id, max(previous) AS previous FROM part GROUP BY id
), line AS (
    SELECT line.*,
           coalesce(previous = lag(line.id) OVER so_far
                        AND at / 86400000 = lag(at) OVER so_far / 86400000, FALSE) AS goes_on
      FROM placed CROSS JOIN credit_movement AS line ON line.id = placed.id
    WINDOW so_far AS (PARTITION BY tenant ORDER BY line.id)
), numbered AS (
    SELECT line.*, sum(NOT goes_on) OVER (PARTITION BY tenant ORDER BY id) AS stretch FROM line
)
SELECT tenant, min(id), max(id), sum(balance), sum(reserved), sum(spent), count(run_id)
  FROM numbered
 GROUP BY tenant, stretch
