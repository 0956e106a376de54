INSERT INTO batch_history (batch, version, at, entries) VALUES (?1, ?2, ?3, ?4)
