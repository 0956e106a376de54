-- What a run was granted beyond its workflow, what it costs, the accounts that pay for it, and the log of
-- events for others.

-- JSON; NULL for most runs.
ALTER TABLE run_header ADD COLUMN IF NOT EXISTS terms text;

-- In millionths, as all amounts here; NULL for a run that costs nothing.
ALTER TABLE run ADD COLUMN IF NOT EXISTS credits_reserved bigint;
ALTER TABLE run ADD COLUMN IF NOT EXISTS credits_spent bigint;

-- At every instant the sums of a tenant's movements.
CREATE TABLE IF NOT EXISTS credit_account (
    tenant   text   COLLATE "C" PRIMARY KEY,
    balance  bigint NOT NULL,
    reserved bigint NOT NULL,
    spent    bigint NOT NULL
) WITH (fillfactor = 50);

-- The ledger: never edited, and kept when its run is deleted. Whoever writes to it holds the row of the
-- account, so the numbers of an account's lines are in their order.
CREATE TABLE IF NOT EXISTS credit_movement (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    balance        bigint NOT NULL,
    reserved       bigint NOT NULL,
    spent          bigint NOT NULL,
    -- The account after it.
    balance_after  bigint NOT NULL,
    reserved_after bigint NOT NULL,
    spent_after    bigint NOT NULL,
    at             bigint NOT NULL,
    run_id         uuid,
    kind           text   NOT NULL,
    tenant         text   COLLATE "C" NOT NULL,
    actor          text   NOT NULL,
    reason         text   NOT NULL,
    -- A grant under the same key is booked once.
    key            text   COLLATE "C",
    CHECK (kind IN ('granted', 'reserved', 'spent', 'released', 'restored')),
    CHECK ((kind = 'granted') = (run_id IS NULL))
);

CREATE INDEX IF NOT EXISTS credit_movement_by_tenant ON credit_movement (tenant, id);
CREATE INDEX IF NOT EXISTS credit_movement_by_run ON credit_movement (run_id, id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS credit_movement_by_key ON credit_movement (tenant, key)
 WHERE key IS NOT NULL;

-- What others are told. Numbers are given before the commit, and transactions commit in another order:
-- how far everything can be read is found by those who read (`event_writers.sql`).
CREATE TABLE IF NOT EXISTS event (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      bigint NOT NULL,
    run_id  uuid,
    tenant  text   COLLATE "C" NOT NULL,
    dialect text   COLLATE "C" NOT NULL,
    kind    text   COLLATE "C" NOT NULL,
    body    text   NOT NULL
);

CREATE INDEX IF NOT EXISTS event_by_tenant ON event (tenant, id);
CREATE INDEX IF NOT EXISTS event_by_kind ON event (kind, id);
CREATE INDEX IF NOT EXISTS event_by_run ON event (run_id, id) WHERE run_id IS NOT NULL;

-- Addresses that are told of events. Dialects and kinds are JSON lists; empty ones do not restrict.
CREATE TABLE IF NOT EXISTS subscription (
    id          text    COLLATE "C" PRIMARY KEY,
    created_at  bigint  NOT NULL,
    enabled     boolean NOT NULL,
    tenant      text    COLLATE "C",
    dialects    text    NOT NULL,
    kinds       text    NOT NULL,
    url         text    NOT NULL,
    description text    NOT NULL,
    actor       text    NOT NULL
);
