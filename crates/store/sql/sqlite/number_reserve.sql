-- Takes numbers; what is returned is the one after them.
INSERT INTO sequence_number (name, next) VALUES (?1, 1 + ?2)
    ON CONFLICT (name) DO UPDATE SET next = next + ?2
RETURNING next
