-- Says good-bye. What the instance owns belongs to nobody from here on: whoever takes it over rewrites
-- each run once, and nothing waits for a statement over all of them.
UPDATE instance SET state = 'stopped', ended_at = clock_timestamp() WHERE epoch = $1 AND state = 'alive'
