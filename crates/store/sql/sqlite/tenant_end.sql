-- Counts a run that ends, with its end.
UPDATE tenant_load
   SET open          = open - ?2,
       compensations = compensations - ?3
 WHERE tenant        = ?1
