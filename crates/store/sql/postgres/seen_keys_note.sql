-- Notes keys that a runbook has made members of.
INSERT INTO seen_key (runbook, key)
SELECT DISTINCT $1, new.key FROM unnest($2::text[]) AS new (key)
    ON CONFLICT (runbook, key) DO NOTHING
