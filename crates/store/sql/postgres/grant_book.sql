-- Books a grant: the account, and its line of the ledger.
WITH account AS (
    UPDATE credit_account SET balance = balance + $2 WHERE tenant = $1
    RETURNING balance, reserved, spent
)
INSERT INTO credit_movement (tenant, kind, balance, reserved, spent, balance_after, reserved_after,
                             spent_after, actor, reason, key, at)
SELECT $1, 'granted', $2, 0, 0, balance, reserved, spent, $3, $4, $5, $6 FROM account
