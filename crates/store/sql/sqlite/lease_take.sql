-- Takes or keeps the right to do something alone. Zero rows mean that somebody else has it.
INSERT INTO lease (name, holder, until) VALUES (?1, ?2, ?4)
    ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder,
       until  = excluded.until
 WHERE lease.holder = excluded.holder OR lease.until <= ?3
