//! A rehearsal as people read it.

use super::summary::{PhaseSummary, Summary};
use crate::moment;
use crate::print::Printer;

/// Writes the summary as tables.
pub(super) fn show(print: Printer, summary: &Summary) {
    let members = &summary.members;
    print.line(&format!(
        "Rehearsal of {}: {}, from {} to {}, seed {}",
        summary.runbook,
        counted(members.total, "member"),
        around_start(summary.began_s),
        around_start(summary.ended_s),
        summary.seed,
    ));
    print.line("");
    let titles =
        ["PHASE", "DUE", "TOOK", "HALF DONE", "DONE", "FAILED", "ATTEMPTS", "RETRIES", "POLLS"];
    print.table(titles, init(summary).into_iter().chain(summary.phases.iter().map(phase)));
    print.line("");
    let pools = summary.pools.iter().map(|pool| {
        vec![
            pool.worker_id.clone(),
            pool.jobs.to_string(),
            pool.at_once_max.to_string(),
            pool.jobs_in_busiest_minute.to_string(),
            around_start(pool.busiest_minute_s),
            length(pool.busy_s),
        ]
    });
    let titles = ["POOL", "JOBS", "AT ONCE", "IN BUSIEST MINUTE", "WHICH IS", "BUSY"];
    print.table(titles, pools);
    print.line("");
    let slowest = summary.slowest_members.iter().map(|member| {
        let longest = format!("{} ({})", member.phase, length(member.phase_took_s));
        vec![member.member_key.clone(), length(member.took_s), longest]
    });
    print.table(["SLOWEST MEMBER", "TOOK", "LONGEST IN"], slowest);
    print.line("");
    let open = if members.open > 0 { format!(", {} open", members.open) } else { String::new() };
    print.line(&format!(
        "{}: {} of {} succeeded, {} failed, {} rolled back{open}",
        summary.status, members.succeeded, members.total, members.failed, members.rolled_back,
    ));
}

fn init(summary: &Summary) -> Option<Vec<String>> {
    let init = summary.init.as_ref()?;
    let effort = init.effort;
    let blank = String::new;
    Some(vec![
        "(init)".to_owned(),
        around_start(init.began_s),
        length(init.ended_s - init.began_s),
        blank(),
        blank(),
        blank(),
        effort.attempts.to_string(),
        effort.retries.to_string(),
        effort.polls.to_string(),
    ])
}

fn phase(phase: &PhaseSummary) -> Vec<String> {
    let took = |until: Option<i64>| match (phase.began_s, until) {
        (Some(began_s), Some(until_s)) => length(until_s - began_s),
        _ => String::new(),
    };
    let ended = match phase.status {
        "completed" | "failed" => took(phase.ended_s),
        status => status.to_owned(),
    };
    let effort = phase.effort;
    vec![
        phase.name.clone(),
        phase.offset.clone(),
        ended,
        took(phase.half_s),
        phase.members.succeeded.to_string(),
        phase.members.failed.to_string(),
        effort.attempts.to_string(),
        effort.retries.to_string(),
        effort.polls.to_string(),
    ]
}

/// `T-5d`, `T-4d23h`, `T+12m30s`.
pub(super) fn around_start(seconds: i64) -> String {
    match seconds {
        0 => "T-0".to_owned(),
        1.. => format!("T+{}", length(seconds)),
        _ => format!("T-{}", length(-seconds)),
    }
}

/// A length in its largest unit and the next smaller one.
pub(super) fn length(seconds: i64) -> String {
    const DAY: u64 = 86_400;
    let seconds = u64::try_from(seconds).unwrap_or(0);
    match seconds / DAY {
        0 => match (seconds / 60, seconds % 60) {
            (10..60, rest) if rest > 0 => format!("{}m{rest}s", seconds / 60),
            _ if seconds >= 36_000 && !(seconds / 60).is_multiple_of(60) => {
                format!("{}h{}m", seconds / 3_600, seconds / 60 % 60)
            }
            _ => moment::length(seconds),
        },
        days => match seconds % DAY / 3_600 {
            0 => format!("{days}d"),
            hours => format!("{days}d{hours}h"),
        },
    }
}

fn counted(count: i64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_its_distance_from_t_0() {
        for (seconds, told) in [
            (0, "T-0"),
            (-432_000, "T-5d"),
            (-435_600, "T-5d1h"),
            (-14_400, "T-4h"),
            (-45_060, "T-12h31m"),
            (45, "T+45s"),
            (1_990, "T+33m10s"),
            (9_300, "T+2h35m"),
            (86_400, "T+1d"),
        ] {
            assert_eq!(around_start(seconds), told);
        }
    }
}
