-- Writes a step to which something has happened before. Zero rows mean that it has no row yet.
UPDATE step
   SET status           = ?3,
       attempt          = ?4,
       tries            = ?5,
       lease_id         = ?6,
       lease_stage      = ?7,
       lease_expires_at = ?8,
       pool             = ?9,
       rank             = ?10,
       lane             = ?11,
       poll_count       = ?12,
       kind             = ?13,
       params           = ?14,
       result           = ?15,
       detail           = ?16,
       error_code       = ?17,
       error_message    = ?18,
       wake_at          = ?19,
       dispatched_at    = ?20,
       ended_at         = ?21
 WHERE run_id           = ?1
   AND position         = ?2
