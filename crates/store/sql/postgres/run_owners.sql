-- Which of these runs exist, and who owns them.
SELECT id, owner FROM run WHERE id = ANY($1)
