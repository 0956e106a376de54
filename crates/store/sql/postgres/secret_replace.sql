-- Puts a secret in the place of the one that was seen. Zero rows mean that it is another by now.
UPDATE secret SET value = $3 WHERE name = $1 AND value = $2
