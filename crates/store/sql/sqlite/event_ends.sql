-- The oldest and the newest place of the log. Two questions, each answered by one end of it.
SELECT (SELECT min(id) FROM event), (SELECT max(id) FROM event)
