-- A new instance, by the clock of the server.
INSERT INTO instance (id) VALUES ($1) RETURNING epoch
