-- Puts a run that was woken early to its true moment. Zero rows: it moved since it was loaded.
UPDATE run SET wake_at = ?1 WHERE id = ?2 AND version = ?3
