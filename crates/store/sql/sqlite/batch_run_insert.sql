INSERT INTO batch_run (number, run_id, batch, member, role) VALUES (?1, ?2, ?3, ?4, ?5)
