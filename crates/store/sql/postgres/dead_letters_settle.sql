-- Notes what became of dead letters, and answers of which; of the others there is none, or somebody was
-- first. Rows are locked in one order, so that two people never wait for each other.
WITH new AS (
    SELECT * FROM unnest($1::bigint[], $2::text[]) AS new (id, settlement)
), open AS (
    SELECT dead_letter.id
      FROM dead_letter
     WHERE dead_letter.id = ANY($1) AND NOT dead_letter.settled
     ORDER BY dead_letter.id
       FOR UPDATE
)
UPDATE dead_letter
   SET settled = TRUE, settlement = new.settlement
  FROM new
  JOIN open ON open.id = new.id
 WHERE dead_letter.id = new.id AND NOT dead_letter.settled
RETURNING dead_letter.id
