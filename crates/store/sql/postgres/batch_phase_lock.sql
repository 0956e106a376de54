-- The same for their phases, after the batches themselves.
SELECT id FROM batch_phase WHERE batch = ANY($1) ORDER BY batch, gate FOR NO KEY UPDATE
