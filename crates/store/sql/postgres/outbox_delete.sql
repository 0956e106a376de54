-- Strikes messages off.
DELETE FROM outbox WHERE id = ANY($1)
