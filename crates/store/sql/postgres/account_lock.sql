-- Keeps others from moving some accounts until the transaction ends, and says what they are. In order, and
-- before any run is locked: two who want the same never wait for each other. One that is missing begins
-- with its first movement.
SELECT tenant, balance, reserved, spent
  FROM credit_account
 WHERE tenant = ANY($1)
 ORDER BY tenant
   FOR NO KEY UPDATE
