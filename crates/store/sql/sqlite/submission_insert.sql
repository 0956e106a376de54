-- Puts an order in its queue. Zero rows: one with this message id waits there already.
INSERT INTO submission (queue, message_id, workflow, priority, body, enqueued_at, expires_at, place)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (queue, message_id) DO NOTHING
