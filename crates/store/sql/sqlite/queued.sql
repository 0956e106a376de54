-- A chunk of one pool's queue: urgent first, then the oldest run first.
SELECT rank, run_id, position, lease_id, attempt, poll_count, lane
  FROM step INDEXED BY step_queue
 WHERE pool = ?1 AND (rank, run_id, position) > (?2, ?3, ?4)
 ORDER BY rank, run_id, position
 LIMIT ?5
