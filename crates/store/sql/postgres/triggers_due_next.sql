-- The earliest moment of an enabled trigger that has not come yet.
SELECT min(next_at) FROM trigger WHERE enabled AND next_at > $1
