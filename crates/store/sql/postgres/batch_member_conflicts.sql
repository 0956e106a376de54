-- Members who are in the way of those who join: under the same number, or under the same key of the same
-- batch and not gone.
SELECT new.batch, new.id, known.id
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS new (batch, id, key)
       -- OFFSET keeps it a question of its own, asked member by member.
 CROSS JOIN LATERAL ((SELECT id FROM batch_member WHERE id = new.id OFFSET 0)
                      UNION ALL
                     (SELECT id
                        FROM batch_member
                       WHERE batch = new.batch AND key = new.key AND removed_at IS NULL
                      OFFSET 0)) AS known
