-- Counts a run that begins, with the run itself.
INSERT INTO tenant_load (tenant, open, compensations) VALUES (?1, ?2, ?3)
    ON CONFLICT (tenant) DO UPDATE
   SET open          = open + excluded.open,
       compensations = compensations + excluded.compensations
