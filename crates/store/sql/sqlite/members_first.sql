-- The first of a batch's members, if their numbers follow one another without a gap, as they do where
-- all joined together. No member is ever deleted, so as many numbers as members leave no room for one.
SELECT first
  FROM (SELECT joined,
               (SELECT min(id) FROM batch_member INDEXED BY batch_member_by_batch
                 WHERE batch = ?1) AS first,
               (SELECT max(id) FROM batch_member INDEXED BY batch_member_by_batch
                 WHERE batch = ?1) AS last
          FROM batch
         WHERE id = ?1)
 WHERE last - first + 1 = joined
