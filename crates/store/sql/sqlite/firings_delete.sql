-- Forgets the firings of a trigger.
DELETE FROM firing WHERE tenant = ?1 AND trigger = ?2
