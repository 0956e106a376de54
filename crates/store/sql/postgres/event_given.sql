-- The last place of the log that was given to anybody, committed or not.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_id_seq
