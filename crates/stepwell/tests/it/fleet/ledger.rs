//! Who owned which job from when on: written by the database itself, with its own clock.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Fleet;

/// Notes every change of an owner beside the tables of the servers, which know nothing of it.
const INSTALL: &str = "
    create table stepwell.owner_change (
        run_id uuid not null, from_epoch bigint, to_epoch bigint not null,
        at timestamptz not null default clock_timestamp()
    );
    create function stepwell.note_owner() returns trigger language plpgsql as $$
    begin
        if tg_op = 'INSERT' then
            insert into stepwell.owner_change values (new.id, null, new.owner);
        else
            insert into stepwell.owner_change values (new.id, old.owner, new.owner);
        end if;
        return null;
    end $$;
    create trigger note_first_owner after insert on stepwell.run
        for each row execute function stepwell.note_owner();
    create trigger note_next_owner after update of owner on stepwell.run
        for each row when (old.owner is distinct from new.owner)
        execute function stepwell.note_owner();
";

/// A server that stopped to give signs of life.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// its id at that time
    pub(super) instance: String,
    pub(super) at: SystemTime,
    /// when it went on, if it was not lost for ever
    pub(super) woke: Option<Arc<OnceLock<SystemTime>>>,
}

/// How long takeovers took, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Takeovers {
    pub(super) count: u64,
    pub(super) p50_ms: u64,
    pub(super) p99_ms: u64,
    pub(super) max_ms: u64,
    /// lost servers that nobody has declared dead
    pub(super) unnoticed: u64,
}

impl Fleet {
    /// From here on every change of an owner is noted.
    pub(super) fn note_owners(&self) {
        self.query(INSTALL);
    }

    /// How long jobs of lost servers had to wait, from the loss to the moment somebody else owned them.
    /// One that lives on keeps its jobs, and may give them away whenever it wants to.
    pub(super) fn takeovers(&self, losses: &[Loss]) -> Takeovers {
        let lost: Vec<String> = losses.iter().map(row).collect();
        if lost.is_empty() {
            return Takeovers::default();
        }
        let lines = self.query(&format!(
            "with lost (epoch, at) as (
                select epoch, lost.at
                  from (values {}) as lost (id, at)
                  left join stepwell.instance on instance.id = lost.id and state = 'dead'),
                  waited (ms) as (
                select extract(epoch from change.at - lost.at) * 1000
                  from lost
                  join stepwell.owner_change change
                    on change.from_epoch = lost.epoch and change.at > lost.at)
             select count(*), coalesce(percentile_disc(0.5) within group (order by ms), 0)::bigint,
                    coalesce(percentile_disc(0.99) within group (order by ms), 0)::bigint,
                    coalesce(max(ms), 0)::bigint,
                    (select count(*) from lost where epoch is null)
               from waited",
            lost.join(", ")
        ));
        let [count, p50_ms, p99_ms, max_ms, unnoticed] = numbers(&lines[0]);
        Takeovers { count, p50_ms, p99_ms, max_ms, unnoticed }
    }

    /// The longest time without any decision, in milliseconds.
    pub(super) fn longest_rest_ms(&self) -> u64 {
        let rests = self.query(
            "select coalesce(max(at - before), 0)
               from (select at, lag(at) over (order by at) as before from stepwell.history) record",
        );
        rests[0].parse().expect("a number")
    }

    /// How many jobs each instance was the first to own, largest share first.
    pub(super) fn first_owners(&self) -> Vec<u64> {
        let lines = self.query(
            "select count(*) from stepwell.owner_change where from_epoch is null
              group by to_epoch order by 1 desc",
        );
        lines.iter().map(|line| line.parse().expect("a number")).collect()
    }
}

fn row(loss: &Loss) -> String {
    let since: Duration = loss.at.duration_since(UNIX_EPOCH).expect("after 1970");
    format!("('{}', to_timestamp({}))", loss.instance, since.as_secs_f64())
}

fn numbers<const N: usize>(line: &str) -> [u64; N] {
    let numbers: Vec<u64> = line.split('|').map(|it| it.parse().expect("a number")).collect();
    numbers.try_into().expect("as many columns as asked for")
}
