-- When the next order of a queue may be taken that somebody has now.
SELECT min(locked_until) FROM submission WHERE queue = $1 AND locked_until > $2
