-- Writes once, to see whether the store takes writes.
UPDATE meta SET probes = probes + 1 WHERE id = 1
