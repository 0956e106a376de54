-- Messages to the outside that are due, oldest first.
SELECT id, run_id, tries, kind, destination, body, due_at
  FROM outbox INDEXED BY outbox_by_due
 WHERE due_at <= ?1
 ORDER BY due_at, id
 LIMIT ?2
