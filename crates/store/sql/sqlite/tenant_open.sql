-- How many runs of a tenant are open.
SELECT open FROM tenant_load WHERE tenant = ?1
