-- Runs that this transaction has moved follow another workflow from here on. Most follow what they did:
-- only what they were given has changed.
UPDATE run
   SET workflow         = new.workflow,
       workflow_version = new.version,
       step_count       = new.step_count
  FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[])
       AS new (id, workflow, version, step_count)
 WHERE run.id = new.id
   AND run.xmin = pg_current_xact_id()::xid
   AND (run.workflow, run.workflow_version, run.step_count)
       IS DISTINCT FROM (new.workflow, new.version, new.step_count)
