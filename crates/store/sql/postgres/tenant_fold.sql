-- Counts of runs that belong to nobody, which instances kept that are no more.
WITH folded AS (
    DELETE FROM tenant_load
     WHERE epoch = 0
       AND slot <> 0
       AND NOT EXISTS (SELECT FROM instance WHERE instance.epoch = slot / 16 AND state = 'alive')
    RETURNING tenant, open, compensations
)
INSERT INTO tenant_load (tenant, epoch, slot, open, compensations)
SELECT tenant, 0, 0, sum(open), sum(compensations)
  FROM folded
 GROUP BY tenant
 ORDER BY tenant
    ON CONFLICT (tenant, epoch, slot) DO UPDATE
   SET open          = tenant_load.open + excluded.open,
       compensations = tenant_load.compensations + excluded.compensations
