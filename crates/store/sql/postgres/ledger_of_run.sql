-- Lines that a run wrote in the ledger of its tenant, newest first.
SELECT id, tenant, run_id, kind, balance, reserved, spent, balance_after, reserved_after, spent_after,
       actor, reason, at
  FROM credit_movement
 WHERE run_id = $4 AND tenant = $1 AND id < $2
 ORDER BY id DESC
 LIMIT $3
