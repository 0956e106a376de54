-- The numbers of runs that are about to be deleted. One that undoes another has only borrowed its own.
DELETE FROM batch_run
 USING run_header AS header
 WHERE header.run_id    = ANY($1)
   AND batch_run.number = header.number
   AND batch_run.run_id = header.run_id
