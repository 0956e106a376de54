-- Counts runs that begin or end in the row of this connection, with the runs themselves.
INSERT INTO tenant_load (tenant, epoch, slot, open, compensations)
SELECT run.tenant, $1, $2,
       $4 * count(*) FILTER (WHERE run.parent_run IS NULL),
       $4 * count(*) FILTER (WHERE run.parent_run IS NOT NULL)
  FROM unnest($3::uuid[]) AS new (run_id)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
 GROUP BY run.tenant
    ON CONFLICT (tenant, epoch, slot) DO UPDATE
   SET open          = tenant_load.open + excluded.open,
       compensations = tenant_load.compensations + excluded.compensations
