-- Whoever is about to append to the log of events says so, until its transaction has ended: that all
-- places it will take stand behind this one. Nobody waits for it; those who read look for it
-- (`event_writers.sql`).
SELECT pg_advisory_xact_lock_shared(
           hashtext(current_schema() || '.event'),
           (CASE WHEN is_called THEN last_value ELSE 0 END % 2147483648)::integer)
  FROM event_id_seq
