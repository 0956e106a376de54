-- Strikes a message off, and says whose it was.
DELETE FROM outbox WHERE id = ?1 RETURNING run_id, tenant, dialect, body
