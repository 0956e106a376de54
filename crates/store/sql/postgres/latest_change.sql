-- The latest moment at which a run changed that is still open.
SELECT max(updated_at) FROM run WHERE ended_at IS NULL
