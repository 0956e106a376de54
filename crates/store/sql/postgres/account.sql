-- The account of a tenant.
SELECT balance, reserved, spent FROM credit_account WHERE tenant = $1
