-- Messages to the outside that no run wants sent, and more to count dead letters by.

-- Without a run, tenant and dialect say whose it is; with one, the run does.
ALTER TABLE outbox ALTER COLUMN run_id DROP NOT NULL;
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS tenant text COLLATE "C"
    CHECK ((run_id IS NULL) = (tenant IS NOT NULL));
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS dialect text COLLATE "C"
    CHECK ((tenant IS NULL) = (dialect IS NULL));

-- For the figures, which never read the letters themselves.
CREATE INDEX IF NOT EXISTS dead_letter_open_by_dialect ON dead_letter (reason, dialect, id)
 WHERE NOT settled;
