-- Revokes a token. Zero rows: there is none, or it was revoked before.
UPDATE token SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL
