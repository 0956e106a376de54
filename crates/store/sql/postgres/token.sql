-- A token by its public id.
SELECT id, secret_hash, name, role, tenant, created_at, expires_at, revoked_at FROM token WHERE id = $1
