-- Strikes inputs off that their owner has answered; those that are missing in the answer stay. Where the
-- answer follows from a write of this transaction, it counts only with that write.
DELETE FROM input
 USING unnest($2::uuid[], $3::uuid[], $4::boolean[]) AS answer (id, run_id, written)
  JOIN run ON run.id = answer.run_id
 WHERE input.id = answer.id
   AND run.owner = $1
   AND (NOT answer.written OR run.xmin = pg_current_xact_id()::xid)
RETURNING input.id
