-- Moves accounts by what the runs that this transaction has moved say, one sum for each account, and writes
-- the lines of the ledger in the order of the items, each with the account after it.
WITH moved AS (
    SELECT new.*,
           sum(new.balance)  OVER so_far AS balance_so_far,
           sum(new.reserved) OVER so_far AS reserved_so_far,
           sum(new.spent)    OVER so_far AS spent_so_far
      FROM unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
                  $7::bigint[])
           WITH ORDINALITY AS new (tenant, run_id, kind, balance, reserved, spent, at, place)
      JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
    WINDOW so_far AS (PARTITION BY new.tenant ORDER BY new.place)
), total AS (
    SELECT tenant, sum(balance)::bigint AS balance, sum(reserved)::bigint AS reserved,
           sum(spent)::bigint AS spent
      FROM moved
     GROUP BY tenant
), account AS (
    INSERT INTO credit_account (tenant, balance, reserved, spent)
    SELECT tenant, balance, reserved, spent FROM total ORDER BY tenant COLLATE "C"
        ON CONFLICT (tenant) DO UPDATE
       SET balance  = credit_account.balance + excluded.balance,
           reserved = credit_account.reserved + excluded.reserved,
           spent    = credit_account.spent + excluded.spent
    RETURNING tenant, balance, reserved, spent
)
INSERT INTO credit_movement (tenant, run_id, kind, balance, reserved, spent, balance_after, reserved_after,
                             spent_after, actor, reason, at)
SELECT moved.tenant, moved.run_id, moved.kind, moved.balance, moved.reserved, moved.spent,
       account.balance - total.balance + moved.balance_so_far,
       account.reserved - total.reserved + moved.reserved_so_far,
       account.spent - total.spent + moved.spent_so_far,
       '', '', moved.at
  FROM moved
  JOIN total USING (tenant)
  JOIN account USING (tenant)
 ORDER BY moved.place
