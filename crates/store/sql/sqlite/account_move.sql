-- Moves an account, which begins with its first movement, and answers with what it is then.
INSERT INTO credit_account (tenant, balance, reserved, spent)
VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (tenant) DO UPDATE
   SET balance  = balance + excluded.balance,
       reserved = reserved + excluded.reserved,
       spent    = spent + excluded.spent
RETURNING balance, reserved, spent
