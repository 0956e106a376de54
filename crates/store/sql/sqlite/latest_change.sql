-- The latest moment at which a run changed that is still open.
SELECT max(updated_at)
  FROM run INDEXED BY run_by_status
 WHERE status IN ('created', 'ready', 'running', 'retry_wait', 'cancelling')
