-- Messages to the outside that are due, oldest first.
SELECT outbox.id, outbox.run_id, coalesce(run.tenant, outbox.tenant), coalesce(run.dialect, outbox.dialect),
       outbox.tries, outbox.kind, outbox.destination, outbox.body, outbox.due_at
  FROM outbox INDEXED BY outbox_by_due
  LEFT JOIN run ON run.id = outbox.run_id
 WHERE outbox.due_at <= ?1
 ORDER BY outbox.due_at, outbox.id
 LIMIT ?2
