-- Puts a message off after a failed try.
UPDATE outbox SET tries = tries + 1, due_at = ?1 WHERE id = ?2
