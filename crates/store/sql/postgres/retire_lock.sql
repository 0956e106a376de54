-- Waits for the commits of an instance that are under way.
SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.instance'), ($1::bigint % 2147483647)::integer)
