-- A run goes over to a longer workflow. One that follows it already is left alone, for the sake of the
-- index.
UPDATE run
   SET workflow         = ?2,
       workflow_version = ?3,
       step_count       = ?4
 WHERE id               = ?1
   AND (workflow <> ?2 OR workflow_version <> ?3)
