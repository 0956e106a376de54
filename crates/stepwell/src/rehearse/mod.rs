//! `stepwell rehearse`: the same runbook on a compressed clock, with workers that only pretend.
//!
//! Everything but the workers and the clock is real: the engine, its store in memory, the queue, the
//! decisions. So what a rehearsal shows (what is retried, what is rolled back, who holds up whom) is
//! what would happen if the workers behaved as stated.

mod args;
mod ledger;
mod members;
mod nest;
mod picture;
mod place;
mod pools;
mod script;
mod show;
mod stage;
mod summary;
mod workers;

use std::path::Path;
use std::time::Instant;

use indicatif::ProgressBar;
use stepwell_core::batch::Batch;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::{self, Reading, Runbook};

pub(crate) use args::RehearseArguments;

use self::args::MEMBERS_DEFAULT;
use self::picture::picture;
use self::script::Script;
use self::stage::{Piece, Played};
use self::summary::{Summary, Told};
use crate::config::Given;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment;
use crate::print::Printer;
use crate::progress;
use crate::session::Global;

/// T-0 where nobody states it: an origin to count from, the same on any day.
const START_MS: i64 = 946_684_800_000;

/// Rehearses a runbook.
pub(crate) async fn run(global: Global, arguments: RehearseArguments) -> Result<Exit, Failure> {
    let print = global.session(Given::default())?.print;
    let (source, reading) = read(&arguments.runbook)?;
    let runbook = reading.runbook.clone();
    let members = match &arguments.list {
        Some(path) => members::listed(path, &runbook)?,
        None => members::made_up(arguments.members.unwrap_or(MEMBERS_DEFAULT), &runbook),
    };
    let start_ms = arguments.start.map_or(START_MS, jiff::Timestamp::as_millisecond);
    let start = Timestamp::from_millis(start_ms);
    let script = Script::of(&arguments, &runbook)?;
    let piece = Piece { source, reading, members, script, start, speed: arguments.speed };
    let began = Instant::now();
    let played = play(print, piece).await?;
    let is_start_stated = arguments.start.is_some();
    let summary =
        Summary::of(&runbook, &played, &Told { seed: arguments.seed, start, is_start_stated });
    tell(print, &summary, began)?;
    if let Some(path) = &arguments.svg {
        draw(path, &runbook, &summary, &played, start)?;
        print.note(&format!("the picture is in {}", path.display()));
    }
    Ok(if summary.status == "completed" { Exit::Ok } else { Exit::Failure })
}

fn read(path: &Path) -> Result<(String, Reading), Failure> {
    let bytes = std::fs::read(path).map_err(|cause| Failure::file(path, "read", &cause))?;
    let reading = runbooks::read(&bytes).map_err(|problems| {
        Failure::problems("is not a runbook that could be published", path, &problems)
            .next("correct it; `stepwell validate` checks it too")
    })?;
    let source = String::from_utf8(bytes).expect("what was read as YAML is UTF-8");
    Ok((source, reading))
}

/// Plays on a thread of its own, whose idleness is what makes time pass.
async fn play(print: Printer, piece: Piece) -> Result<Played, Failure> {
    let bars = Bars::new(print, &piece.reading.runbook, piece.members.len());
    let played = tokio::task::spawn_blocking(move || piece.play(|batch| bars.show(batch))).await;
    played.map_err(|error| {
        Failure::new(Exit::Failure, "rehearsal_broken", format!("the rehearsal broke off: {error}"))
    })?
}

/// A bar for each phase, where somebody looks on.
struct Bars(Vec<ProgressBar>);

impl Bars {
    fn new(print: Printer, runbook: &Runbook, members: usize) -> Self {
        let lines = progress::lines(print.is_live());
        let length = u64::try_from(members).unwrap_or(u64::MAX);
        let bar = |name: &str| progress::bar(&lines, name, length);
        Self(runbook.phases.iter().map(|phase| bar(&phase.name)).collect())
    }

    fn show(&self, batch: &Batch) {
        for (bar, phase) in self.0.iter().zip(&batch.phases) {
            let ended = phase.tally.members() - phase.tally.open;
            bar.set_position(u64::try_from(ended).unwrap_or(0));
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.0.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn tell(print: Printer, summary: &Summary, began: Instant) -> Result<(), Failure> {
    if print.is_json() {
        let value = serde_json::to_value(summary).map_err(|error| {
            Failure::new(Exit::Failure, "not_json", format!("the summary is no JSON: {error}"))
        })?;
        print.value(&value);
        return Ok(());
    }
    show::show(print, summary);
    let took = moment::measured(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
    let rehearsed = show::length(summary.ended_s - summary.began_s);
    print.note(&format!("{rehearsed} rehearsed in {took}"));
    Ok(())
}

fn draw(
    path: &Path,
    runbook: &Runbook,
    summary: &Summary,
    played: &Played,
    start: Timestamp,
) -> Result<(), Failure> {
    let drawing = picture(runbook, summary, &played.ledger.jobs, start);
    std::fs::write(path, drawing).map_err(|cause| Failure::file(path, "written", &cause))
}
