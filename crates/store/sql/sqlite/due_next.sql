-- The earliest stored moment that is still to come.
SELECT min(wake_at) FROM run INDEXED BY run_by_wake WHERE wake_at > ?1
