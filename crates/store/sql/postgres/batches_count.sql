-- How many batches match.
SELECT count(*)
  FROM batch
 WHERE ($1 IS NULL OR tenant = $1)
   AND ($2 IS NULL OR runbook = $2)
   AND ($3 IS NULL OR status = ANY($3))
   AND ($4 IS NULL OR mode = $4)
   AND ($5 IS NULL OR slot = $5)
   AND (NOT $6 OR NOT settled)
