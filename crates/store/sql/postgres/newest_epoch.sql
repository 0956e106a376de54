-- The newest epoch, for whoever is told that theirs has passed.
SELECT max(epoch) FROM instance
