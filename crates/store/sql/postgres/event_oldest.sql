-- The oldest place of the log that is still kept.
SELECT id FROM event WHERE id > 0 ORDER BY id LIMIT 1
