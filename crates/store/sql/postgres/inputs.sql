-- Inputs for runs that an instance owns, oldest first. The table is small: an input waits for a
-- moment. The owner is asked of the run, so that a takeover moves its inputs too.
SELECT input.id, input.run_id, input.body, input.from_epoch, input.at
  FROM input
  JOIN run ON run.id = input.run_id
 WHERE run.owner = $1
 ORDER BY input.number
 LIMIT $2
