-- Old lines of the ledger are folded: what runs moved on a day becomes one line.

-- The first two are the names that the server gave to the rules of 0007.
ALTER TABLE credit_movement DROP CONSTRAINT IF EXISTS credit_movement_kind_check;
ALTER TABLE credit_movement DROP CONSTRAINT IF EXISTS credit_movement_check;
ALTER TABLE credit_movement DROP CONSTRAINT IF EXISTS credit_movement_kind_rule;

-- NOT VALID spares a walk through the table: whatever is in it obeyed the narrower rules.
ALTER TABLE credit_movement ADD CONSTRAINT credit_movement_kind_rule
    CHECK (CASE kind
               WHEN 'granted'  THEN run_id IS NULL
               WHEN 'reserved' THEN run_id IS NOT NULL
               WHEN 'spent'    THEN run_id IS NOT NULL
               WHEN 'released' THEN run_id IS NOT NULL
               WHEN 'restored' THEN run_id IS NOT NULL
               WHEN 'carried'  THEN run_id IS NULL AND key IS NULL
               ELSE FALSE
           END) NOT VALID;

-- What is not folded yet, oldest first; what is, and what somebody granted, is not in it.
CREATE INDEX IF NOT EXISTS credit_movement_unfolded ON credit_movement (at, id) WHERE run_id IS NOT NULL;
