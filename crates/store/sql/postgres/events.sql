-- Events after a place and up to another, oldest first.
--
-- One statement for what SQLite does with four: it is planned with the values of the question, so what
-- does not restrict falls away, and the rest chooses the index that already has the order.
SELECT id, tenant, dialect, run_id, kind, body, at
  FROM event
 WHERE id > $1
   AND id <= $2
   AND ($3 IS NULL OR tenant = $3)
   AND ($4 IS NULL OR run_id = $4)
   AND ($5 IS NULL OR kind = $5)
   -- As a sum, which no index has: several kinds would have to be sorted.
   AND ($6 IS NULL OR kind || '' = ANY($6))
   AND ($7 IS NULL OR dialect = ANY($7))
 ORDER BY id
 LIMIT $8
