//! The command line, as `cargo xtask sim` hands it on.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crate::bugs::Bug;
use crate::faults::Kind;
use crate::plan::Options;
use crate::runner::Budget;

/// How to use it.
pub const HELP: &str = "\
Usage: cargo xtask sim [options]

Without options: worlds for one minute, on every core.

  --seed N          the first seed, instead of a new one each time; without --worlds and --minutes,
                    this world alone
  --worlds W        so many worlds
  --minutes M       for so many minutes
  --jobs J          so many jobs a world, instead of as many as the seed says
  --batches B       so many batches a world (0, 1 or 2), instead of as many as the seed says
  --faults a,b      only these kinds of fault; `none` for none
  --faults-max K    no more faults a world than this
  --instances I     so many instances that share the store; 1: one takes over from the other
  --bug WORD        plant a bug
  --trace           tell what happens (one world)
  --core            only lives with core::decide alone, without engine and store
  --life N          tell one such life
  --prove           plant every bug, one after the other, and show that it is found
";

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Args {
    /// what to do
    pub task: Task,
    /// how much to do
    pub budget: Budget,
    /// what is fixed in every world
    pub options: Options,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// live through worlds and report
    Spend,
    /// live through one world and tell it
    Tell,
    /// live through one life of this seed, with `core::decide` alone, and tell it
    TellLife(u64),
    /// plant every bug
    Prove,
}

impl Args {
    /// Reads the command line.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and how to use it.
    pub fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words.peekable();
        let mut options = Options::default();
        let (mut seed, mut worlds, mut minutes, mut core) = (None, None, None, false);
        let mut task = Task::Spend;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value\n\n{HELP}"));
            match word.as_str() {
                "--seed" => seed = Some(number(&value()?)?),
                "--worlds" => worlds = Some(number(&value()?)?),
                "--minutes" => minutes = Some(number(&value()?)?),
                "--jobs" => options.jobs = Some(usize::try_from(number(&value()?)?).unwrap_or(1)),
                "--batches" => {
                    options.batches = Some(usize::try_from(number(&value()?)?).unwrap_or(0).min(2));
                }
                "--faults" => options.kinds = Some(kinds(&value()?)?),
                "--faults-max" => options.faults_max = Some(number(&value()?)?),
                "--instances" => options.instances = Some(instances(&value()?)?),
                "--bug" => options.bug = Some(bug(&value()?)?),
                "--trace" => (task, options.trace) = (Task::Tell, true),
                "--core" => core = true,
                "--life" => task = Task::TellLife(number(&value()?)?),
                "--prove" => task = Task::Prove,
                _ => return Err(format!("unknown option {word:?}\n\n{HELP}")),
            }
        }
        let alone = (seed.is_some() || options.trace) && worlds.is_none() && minutes.is_none();
        let worlds_unless_said = if alone { 1 } else { u64::MAX };
        let minutes_unless_said = if worlds.is_some() || alone { 24 * 60 } else { 1 };
        let budget = Budget {
            seed: seed.unwrap_or_else(new_seed),
            worlds: worlds.unwrap_or(worlds_unless_said),
            time: Duration::from_secs(60 * minutes.unwrap_or(minutes_unless_said)),
            core,
        };
        options.seed = budget.seed;
        Ok(Self { task, budget, options })
    }
}

/// Worlds that nobody has seen yet: repeating the same minute would find nothing new.
fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Far enough apart that two runs do not overlap.
    since.as_secs() * 10_000
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number\n\n{HELP}"))
}

fn instances(text: &str) -> Result<usize, String> {
    match number(text)? {
        count @ 1..=9 => Ok(count as usize),
        _ => Err(format!("there can be 1 to 9 instances\n\n{HELP}")),
    }
}

fn kinds(text: &str) -> Result<BTreeSet<Kind>, String> {
    if text == "none" {
        return Ok(BTreeSet::new());
    }
    let known = || Kind::ALL.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ");
    let kind =
        |word| Kind::of_word(word).ok_or(format!("no fault {word:?}; there are {}", known()));
    text.split(',').map(kind).collect()
}

fn bug(word: &str) -> Result<Bug, String> {
    let known = || Bug::ALL.iter().map(|bug| bug.word()).collect::<Vec<_>>().join(", ");
    Bug::of_word(word).ok_or_else(|| format!("no bug {word:?}; there are {}", known()))
}
