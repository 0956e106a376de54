-- Whether there is anything to take over; nearly always not, so it costs one statement to know.
-- Milliseconds until the next owner will have been silent for too long, if it stays silent.
SELECT EXISTS (SELECT FROM instance WHERE epoch = $1 AND state = 'alive'),
       EXISTS (SELECT FROM instance
                WHERE state = 'alive' AND epoch <> $1
                  AND heartbeat_at < clock_timestamp() - $2::bigint * interval '1 millisecond'),
       EXISTS (SELECT FROM instance AS gone
                WHERE gone.state <> 'alive'
                  AND EXISTS (SELECT FROM run
                               WHERE run.owner = gone.epoch AND run.ended_at IS NULL
                                 -- Asked again, so that it is looked up owner by owner.
                                 AND gone.state <> 'alive'))
       OR EXISTS (SELECT FROM input
                   CROSS JOIN LATERAL (SELECT owner FROM run WHERE run.id = input.run_id OFFSET 0) AS run
                    JOIN instance AS gone ON gone.epoch = run.owner
                   WHERE gone.state <> 'alive'),
       (SELECT ceil(extract(epoch FROM min(heartbeat_at) - clock_timestamp()) * 1000)::bigint + $2::bigint
          FROM instance
         WHERE state = 'alive' AND epoch <> $1
           AND heartbeat_at >= clock_timestamp() - $2::bigint * interval '1 millisecond')
