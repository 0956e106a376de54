-- Orders for runs that wait in a queue, and inputs for runs that another instance owns.

CREATE TABLE IF NOT EXISTS submission (
    id           bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    enqueued_at  bigint  NOT NULL,
    expires_at   bigint  NOT NULL,
    -- earlier goes first: when it was put there, moved ahead by its priority
    place        bigint  NOT NULL,
    -- not taken before: somebody has it, or gave it back to rest
    locked_until bigint  NOT NULL DEFAULT 0,
    priority     integer NOT NULL CHECK (priority BETWEEN 0 AND 10),
    deliveries   integer NOT NULL DEFAULT 0 CHECK (deliveries >= 0),
    queue        text    COLLATE "C" NOT NULL,
    message_id   text    COLLATE "C" NOT NULL,
    workflow     text    NOT NULL,
    body         text    NOT NULL,
    UNIQUE (queue, message_id)
);

CREATE INDEX IF NOT EXISTS submission_by_place ON submission (queue, place, id);
CREATE INDEX IF NOT EXISTS submission_by_lock ON submission (queue, locked_until);

-- Any instance stores what a worker or a person says; the owner of the run decides it. There is no
-- owner here: it is found through the run, so that it can never be out of date.
CREATE TABLE IF NOT EXISTS input (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid   NOT NULL UNIQUE,
    run_id     uuid   NOT NULL,
    from_epoch bigint NOT NULL,
    at         bigint NOT NULL,
    body       text   NOT NULL
);

CREATE INDEX IF NOT EXISTS input_by_run ON input (run_id);
