-- A run of a batch by number.
SELECT number, run_id, batch, member, role FROM batch_run WHERE number = $1
