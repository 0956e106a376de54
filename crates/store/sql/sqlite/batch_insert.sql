-- Makes a batch. Zero rows mean that its number exists: this very creation was committed before.
INSERT INTO batch (id, version, status, paused, runbook_version, start, advanced_at, init,
                   init_dispatched_at, sweeps, current_phase, joined, removed, updated_at, ended_at,
                   wake_at, settled, tenant, runbook, mode, slot, actor, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
        ?22, ?23)
    ON CONFLICT (id) DO NOTHING
