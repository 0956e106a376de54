-- Secrets by name, each with its place in the list that was asked for.
SELECT asked.place, secret.value
  FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
  JOIN secret ON secret.name = asked.name
