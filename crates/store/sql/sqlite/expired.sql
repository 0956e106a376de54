-- Ended runs whose time has come, longest overdue first. Those of a batch stay until nothing is left to
-- be done in it.
SELECT id
  FROM run INDEXED BY run_by_expiry
 WHERE expires_at <= ?1
   AND NOT EXISTS (SELECT 1
                     FROM run_header AS header
                     JOIN batch ON batch.id = header.batch
                    WHERE header.run_id = run.id AND batch.settled = 0)
 ORDER BY expires_at, id
 LIMIT ?2
