-- Counts open runs where they are owned now, and no longer where they were. The rows of slot 0 belong to
-- no connection, and are taken in order.
INSERT INTO tenant_load (tenant, epoch, slot, open, compensations)
SELECT moved.tenant, moved.epoch, 0, sum(moved.open), sum(moved.compensations)
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
       AS moved (tenant, epoch, open, compensations)
 GROUP BY moved.tenant, moved.epoch
 ORDER BY moved.tenant COLLATE "C", moved.epoch
    ON CONFLICT (tenant, epoch, slot) DO UPDATE
   SET open          = tenant_load.open + excluded.open,
       compensations = tenant_load.compensations + excluded.compensations
