-- Stores a token; only the hash of its secret is kept.
INSERT INTO token (id, secret_hash, name, role, tenant, created_at, expires_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
