-- What holds in every session.
--
-- Whole tables are never read where an index can be used, and joins go row by row along an index: a plan
-- that was made while a table was small must not be the plan when it is large.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET jit = off;
SET client_min_messages = warning;

-- A commit waits for the disk, even where the server's own setting would not.
SELECT set_config('synchronous_commit', 'on', FALSE)
 WHERE current_setting('synchronous_commit') = 'off'
