-- Agrees on something for a tenant.
INSERT INTO tenant_policy (tenant, policy) VALUES (?1, ?2)
    ON CONFLICT (tenant) DO UPDATE SET policy = excluded.policy
