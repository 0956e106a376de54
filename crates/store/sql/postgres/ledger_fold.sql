-- Folds lines of runs from before a moment, so many, and the carried lines beside them: stretches of lines
-- that follow each other in the ledger of a tenant on one day become one line each. Whatever stands between
-- two lines, a grant or a younger line, keeps them apart.
--
-- Neither the account nor any line that may still be written is touched, so nobody who writes waits. A
-- neighbor is looked for in the order of tenants and numbers, which only one index has.
WITH old AS MATERIALIZED (
    SELECT line.id, line.tenant
      FROM credit_movement AS line
     WHERE run_id IS NOT NULL AND at < $1
     ORDER BY at, id
     LIMIT $2
), beside AS MATERIALIZED (
    SELECT old.id, previous.id AS previous, previous.carried AS previous_carried,
           next.id AS next, next.carried AS next_carried
      FROM old
      LEFT JOIN LATERAL (SELECT id, tenant = old.tenant AND kind = 'carried' AS carried
                           FROM credit_movement
                          WHERE (tenant, id) < (old.tenant, old.id)
                          ORDER BY tenant DESC, id DESC
                          LIMIT 1) AS previous ON TRUE
      LEFT JOIN LATERAL (SELECT id, tenant = old.tenant AND kind = 'carried' AS carried
                           FROM credit_movement
                          WHERE (tenant, id) > (old.tenant, old.id)
                          ORDER BY tenant, id
                          LIMIT 1) AS next ON TRUE
), part AS (
    SELECT id, previous FROM beside
     UNION ALL
    SELECT next, id FROM beside WHERE next_carried
     UNION ALL
    SELECT previous, NULL FROM beside WHERE previous_carried
), placed AS MATERIALIZED (
    SELECT id, max(previous) AS previous FROM part GROUP BY id
), line AS (
    SELECT line.*,
           coalesce(previous = lag(line.id) OVER so_far
                        AND at / 86400000 = lag(at) OVER so_far / 86400000, FALSE) AS goes_on
      FROM placed
      JOIN credit_movement AS line ON line.id = placed.id
    WINDOW so_far AS (PARTITION BY tenant ORDER BY line.id)
), numbered AS MATERIALIZED (
    SELECT line.*, count(*) FILTER (WHERE NOT goes_on) OVER (PARTITION BY tenant ORDER BY id) AS stretch
      FROM line
), stretch AS MATERIALIZED (
    SELECT array_agg(id) AS lines, max(id) AS newest, sum(balance)::bigint AS balance,
           sum(reserved)::bigint AS reserved, sum(spent)::bigint AS spent
      FROM numbered
     GROUP BY tenant, stretch
), carried AS (
    UPDATE credit_movement
       SET run_id = NULL, kind = 'carried', balance = stretch.balance, reserved = stretch.reserved,
           spent = stretch.spent
      FROM stretch
     WHERE credit_movement.id = stretch.newest
), dropped AS (
    DELETE FROM credit_movement
     USING stretch, unnest(stretch.lines) AS line
     WHERE credit_movement.id = line AND line <> stretch.newest
)
SELECT count(*) FROM old
