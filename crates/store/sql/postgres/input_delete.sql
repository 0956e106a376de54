-- Strikes inputs off that their owner has answered; those that are missing in the answer stay. Where the
-- answer follows from a write of this transaction ($3), it counts only with that write.
DELETE FROM input
 WHERE id = ANY($2)
   AND (SELECT run.owner = $1 AND (input.id <> ALL($3) OR run.xmin = pg_current_xact_id()::xid)
          FROM run
         WHERE run.id = input.run_id)
RETURNING id
