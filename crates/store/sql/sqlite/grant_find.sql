-- What was granted under a key.
SELECT balance, reason
  FROM credit_movement INDEXED BY credit_movement_by_key
 WHERE tenant = ?1 AND key = ?2
