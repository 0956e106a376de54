-- All tokens, oldest first. There are few.
SELECT id, secret_hash, name, role, tenant, created_at, expires_at, revoked_at FROM token ORDER BY created_at, id
