-- Pools in which at least one step is queued: one seek a pool, not one row a step.
WITH RECURSIVE pools (pool) AS (
    SELECT min(pool) FROM step WHERE owner = $1 AND pool IS NOT NULL
    UNION ALL
    SELECT (SELECT min(step.pool) FROM step WHERE step.owner = $1 AND step.pool > pools.pool)
      FROM pools
     WHERE pools.pool IS NOT NULL
)
SELECT pool FROM pools WHERE pool IS NOT NULL
