-- Forgets a trigger. Its firings go by themselves.
DELETE FROM trigger WHERE tenant = ?1 AND name = ?2
