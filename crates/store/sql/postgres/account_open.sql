-- Begins the account of a tenant, if there is none.
INSERT INTO credit_account (tenant, balance, reserved, spent)
VALUES ($1, 0, 0, 0)
    ON CONFLICT (tenant) DO NOTHING
