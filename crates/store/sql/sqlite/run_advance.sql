-- Moves a run from one version to the next, where neither its status nor its stored moment changes.
-- No indexed column is assigned: SQLite would rewrite an index entry even for an equal value, and
-- most decisions are of this kind. Zero rows mean: stale, or a decision of the other kind.
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
       credits_reserved = ?17,
       credits_spent = ?18
 WHERE id            = ?12
   AND version       = ?13
   AND status        = ?14
   AND retry_at      IS ?15
   AND (?16 IS NULL OR wake_at <= ?16)
