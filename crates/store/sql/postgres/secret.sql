-- A secret by name.
SELECT value FROM secret WHERE name = $1
