-- Ended runs whose time has come, longest overdue first; what another instance is deleting is passed over.
-- As long as something is to be done in a batch, all its runs stay.
SELECT id
  FROM run
 WHERE expires_at <= $1
   -- As a value, so that it is asked run by run.
   AND coalesce((SELECT batch.settled
                   FROM run_header AS header
                   JOIN batch ON batch.id = header.batch
                  WHERE header.run_id = run.id), TRUE)
 ORDER BY expires_at, id
 LIMIT $2
   FOR UPDATE SKIP LOCKED
