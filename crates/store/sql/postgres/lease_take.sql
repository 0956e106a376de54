-- Takes or keeps the right to do something alone for so many milliseconds; no row means that somebody else
-- has it. By the clock of this server: those of the instances may differ. An instance holds it under its
-- epoch: whoever was declared dead or has said good-bye holds nothing, and gets nothing more.
INSERT INTO lease (name, holder, until)
SELECT $1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3
 WHERE NOT EXISTS (SELECT FROM instance WHERE epoch::text = $2 AND state <> 'alive')
    ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder, until = excluded.until
 WHERE lease.holder = excluded.holder
    OR lease.until <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    OR EXISTS (SELECT FROM instance WHERE epoch::text = lease.holder AND state <> 'alive')
RETURNING name
