-- When the next message to the outside may be sent.
SELECT min(due_at) FROM outbox INDEXED BY outbox_by_due WHERE due_at > ?1
