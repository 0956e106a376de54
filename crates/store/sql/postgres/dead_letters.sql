-- A page of dead letters, newest first.
--
-- One statement for what SQLite does with nine: it is planned with the values of the question, so
-- what does not restrict falls away, and the rest chooses the index.
SELECT id, run_id, message, tenant, dialect, workflow, reason, step, error_code, error_message,
       first_error_code, first_error_message, at, settlement
  FROM dead_letter
 WHERE id < $6
   AND ($1 IS NULL OR tenant = $1)
   AND ($2 IS NULL OR workflow = $2)
   AND ($3 IS NULL OR run_id = $3)
   AND ($4 IS NULL OR id = $4)
   AND ($5 OR NOT settled)
   AND ($8 IS NULL OR dialect = $8)
   AND ($9 IS NULL OR reason = $9)
   AND ($10 IS NULL OR error_code = $10)
   AND ($11 IS NULL OR at >= $11)
   AND ($12 IS NULL OR at < $12)
 ORDER BY id DESC
 LIMIT $7
