-- Promises a message to the outside, with the decision or the dead letter that wants it sent.
INSERT INTO outbox (run_id, tenant, dialect, kind, destination, body, due_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
