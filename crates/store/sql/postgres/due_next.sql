-- The earliest stored moment that is still to come.
SELECT min(wake_at) FROM run WHERE owner = $1 AND wake_at > $2
