-- Notes what became of a dead letter. Zero rows: there is none, or somebody was first.
UPDATE dead_letter SET settled = 1, settlement = ?1 WHERE id = ?2 AND settled = 0
