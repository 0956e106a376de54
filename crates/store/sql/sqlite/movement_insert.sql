-- Writes a line of the ledger, with the account after it.
INSERT INTO credit_movement (tenant, run_id, kind, balance, reserved, spent, balance_after,
                             reserved_after, spent_after, actor, reason, key, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
