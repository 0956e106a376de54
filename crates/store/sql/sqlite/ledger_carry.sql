-- Makes the newest line of a stretch stand for all of it; what the account was after it stays.
UPDATE credit_movement
   SET run_id = NULL, kind = 'carried', balance = ?2, reserved = ?3, spent = ?4
 WHERE id = ?1
