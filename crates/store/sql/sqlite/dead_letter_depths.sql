-- How many dead letters nobody has settled, by reason and dialect, and when the oldest was given up. Only
-- the index is walked, and of it only what is open.
SELECT depth.reason, depth.dialect, depth.count, oldest.at
  FROM (SELECT reason, dialect, count(*) AS count, min(id) AS oldest
          FROM dead_letter INDEXED BY dead_letter_open_by_dialect
         WHERE settled = 0
         GROUP BY reason, dialect) AS depth
 CROSS JOIN dead_letter AS oldest ON oldest.id = depth.oldest
