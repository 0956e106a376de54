-- Counts runs that have ended without asking anything, for measurements.
UPDATE tenant_load SET open = open - $2 WHERE tenant = $1 AND epoch = 0 AND slot = 0
