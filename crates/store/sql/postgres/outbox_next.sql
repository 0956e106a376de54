-- When the next message to the outside may be sent: it comes due, or is no longer kept.
SELECT least((SELECT min(due_at) FROM outbox WHERE due_at > $1),
             (SELECT min(kept_until) FROM outbox WHERE kept_until > $1 AND kept_until > 0))
