-- Whether a firing is noted.
SELECT 1 FROM firing WHERE tenant = ?1 AND trigger = ?2 AND key = ?3
