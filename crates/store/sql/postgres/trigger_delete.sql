-- Forgets a trigger and its firings.
WITH firings AS (
    DELETE FROM firing WHERE tenant = $1 AND trigger = $2
)
DELETE FROM trigger WHERE tenant = $1 AND name = $2
