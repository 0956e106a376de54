-- Moves a run from one version to the next, with its status, its moment and its end.
UPDATE run
   SET version       = ?1,
       attempt       = ?2,
       paused        = ?3,
       cancel        = ?4,
       gates_open    = ?5,
       outputs       = ?6,
       current_step  = ?7,
       error_code    = ?8,
       error_message = ?9,
       updated_at    = ?10,
       started_at    = ?11,
       status        = ?12,
       retry_at      = ?13,
       wake_at       = ?14,
       ended_at      = ?15,
       expires_at    = ?16,
       credits_reserved = ?18,
       credits_spent = ?19
 WHERE id            = ?17
