-- A chunk of one pool's queue: urgent first, then the oldest run first.
SELECT rank, run_id, position, lease_id, attempt, poll_count, lane
  FROM step
 WHERE owner = $1 AND pool = $2 AND (rank, run_id, position) > ($3, $4, $5)
 ORDER BY rank, run_id, position
 LIMIT $6
