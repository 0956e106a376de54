-- Forgets an address that is told of events.
DELETE FROM subscription WHERE id = ?1
