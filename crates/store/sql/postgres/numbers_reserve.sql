-- Takes numbers that nobody had before; answers the first.
INSERT INTO sequence_number (name, next) VALUES ($1, 1 + $2::bigint)
    ON CONFLICT (name) DO UPDATE SET next = sequence_number.next + $2
RETURNING next - $2
