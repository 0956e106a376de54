-- Ended runs whose time has come, longest overdue first; what another instance is deleting is passed over.
SELECT id FROM run WHERE expires_at <= $1 ORDER BY expires_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
