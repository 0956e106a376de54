-- Takes the store over: whoever holds an earlier epoch writes nothing from here on.
UPDATE meta SET epoch = epoch + 1, instance = ?1 WHERE id = 1 RETURNING epoch
