-- Takes or keeps the right to do something alone for so many milliseconds; no row means that somebody else
-- has it. By the clock of this server: those of the instances may differ.
INSERT INTO lease (name, holder, until)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3)
    ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder, until = excluded.until
 WHERE lease.holder = excluded.holder
    OR lease.until <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
RETURNING name
