-- Those of some keys of which a firing is noted.
SELECT key FROM firing WHERE tenant = $1 AND trigger = $2 AND key = ANY($3)
