-- The queue of the embedded bus follows the owner of the runs.
UPDATE step SET owner = $1 WHERE run_id = ANY($2) AND pool IS NOT NULL
