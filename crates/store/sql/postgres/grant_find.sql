-- What was granted under a key.
SELECT balance, reason FROM credit_movement WHERE tenant = $1 AND key = $2
