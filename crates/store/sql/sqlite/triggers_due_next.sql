-- The earliest moment of an enabled trigger that has not come yet.
SELECT min(next_at) FROM trigger INDEXED BY trigger_by_next WHERE enabled = 1 AND next_at > ?1
