-- What the steps of batches' runs follow; the same again changes nothing. In order, because two instances
-- may begin to follow the same at once.
INSERT INTO step_spec (workflow, workflow_version, position, step, gate, gate_position, kind, pool,
                       on_failure, poll_interval_s, poll_timeout_s, retries_max, retry_interval_s)
SELECT *
  FROM unnest($1::text[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::integer[],
              $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[],
              $13::bigint[])
       AS new (workflow, workflow_version, position)
 ORDER BY new.workflow COLLATE "C", new.workflow_version, new.position
    ON CONFLICT (workflow, workflow_version, position) DO NOTHING
