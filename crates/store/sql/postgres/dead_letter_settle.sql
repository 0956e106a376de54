-- Notes what became of a dead letter. Zero rows: there is none, or somebody was first.
UPDATE dead_letter SET settled = TRUE, settlement = $1 WHERE id = $2 AND NOT settled
