-- Says words to instances that listen.
SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS word (channel, payload)
