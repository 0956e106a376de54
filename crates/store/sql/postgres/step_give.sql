-- The queue of the embedded bus follows the owner of the runs. What is recorded, and nothing else, is with
-- that bus; asked like this, the way to a step is its run, not the whole queue.
UPDATE step SET owner = $1 WHERE run_id = ANY($2) AND lease_stage = 'recorded'
