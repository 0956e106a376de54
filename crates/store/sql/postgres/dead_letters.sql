-- A page of dead letters, newest first.
--
-- One statement for what SQLite does with five: it is planned with the values of the question, so
-- what does not restrict falls away, and the rest chooses the index.
SELECT id, run_id, message, tenant, workflow, reason, step, error_code, error_message, at, settlement
  FROM dead_letter
 WHERE id < $6
   AND ($1 IS NULL OR tenant = $1)
   AND ($2 IS NULL OR workflow = $2)
   AND ($3 IS NULL OR run_id = $3)
   AND ($4 IS NULL OR id = $4)
   AND ($5 OR NOT settled)
 ORDER BY id DESC
 LIMIT $7
