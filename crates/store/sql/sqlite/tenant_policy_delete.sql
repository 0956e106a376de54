-- Agrees on nothing for a tenant any more.
DELETE FROM tenant_policy WHERE tenant = ?1
