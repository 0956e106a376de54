-- Promises a message to the outside, with the decision that wants it sent.
INSERT INTO outbox (run_id, kind, destination, body, due_at) VALUES (?1, ?2, ?3, ?4, ?5)
