-- Gives an order back to rest.
UPDATE submission SET locked_until = ?3 WHERE id = ?1 AND deliveries = ?2
