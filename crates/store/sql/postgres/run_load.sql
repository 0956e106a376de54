-- Runs for a decision, without their steps. An owner that does not live is none.
SELECT (SELECT owner.epoch FROM instance AS owner WHERE owner.epoch = run.owner AND owner.state = 'alive'),
       run.id, run.tenant, run.dialect, run.workflow, run.workflow_version, run.compensation,
       run.parent_run, run.parent_step, run.correlation_id, run.created_at, run.step_count,
       run.version, run.status, run.attempt, run.paused, run.cancel, run.gates_open, run.outputs,
       run.current_step, run.error_code, run.error_message, run.retry_at, run.wake_at,
       run.updated_at, run.started_at, run.ended_at, run.credits_reserved, run.credits_spent,
       header.resumes, header.input, header.special, header.context, header.lane,
       header.routing_key, header.priority, header.traceparent, header.actor, header.batch, header.member,
       header.role, header.number, header.terms
  FROM run
  JOIN run_header AS header ON header.run_id = run.id
 WHERE run.id = ANY($1)
