-- What is agreed for tenants.
SELECT tenant, policy FROM tenant_policy ORDER BY tenant
