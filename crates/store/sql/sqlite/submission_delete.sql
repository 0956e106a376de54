-- Ends a delivery for good. Zero rows: it was taken again, or is gone.
DELETE FROM submission WHERE id = ?1 AND deliveries = ?2 RETURNING workflow, body
