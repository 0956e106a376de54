-- Moves a batch from one version to the next; the counters of its members move by themselves. Zero rows
-- mean that somebody else was first.
UPDATE batch
   SET version            = ?2,
       status             = ?3,
       paused             = ?4,
       runbook_version    = ?5,
       start              = ?6,
       advanced_at        = ?7,
       init               = ?8,
       init_dispatched_at = ?9,
       sweeps             = ?10,
       current_phase      = ?11,
       joined             = ?12,
       removed            = ?13,
       updated_at         = ?14,
       ended_at           = ?15,
       wake_at            = ?16,
       settled            = ?17
 WHERE id                 = ?1
   AND version            = ?18
