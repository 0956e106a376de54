//! What happens on the timeline of a seed: documents, members, and what people and machines do when.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chance::Chance;

/// The last minute in which somebody interferes.
pub(crate) const TROUBLE_MINUTES: u64 = 240;

/// Everything that is drawn before a timeline begins.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// T-0 as the source has it, in minutes from the first
    pub(crate) start: i64,
    pub(crate) document: Document,
    pub(crate) members: Vec<String>,
    /// by minute
    pub(crate) events: BTreeMap<u64, Vec<Event>>,
}

/// One version of the runbook.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) init: u64,
    pub(crate) phases: Vec<PhaseDocument>,
    pub(crate) reruns: bool,
    pub(crate) reruns_init: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PhaseDocument {
    pub(crate) name: String,
    /// minutes before T-0
    pub(crate) offset: i64,
    pub(crate) steps: Vec<StepDocument>,
}

#[derive(Clone, Debug)]
pub(crate) struct StepDocument {
    pub(crate) name: String,
    pub(crate) polls: bool,
    pub(crate) retries: u64,
    pub(crate) is_undone: bool,
}

/// Something that happens from outside.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// the source returns one more row
    Join(String),
    /// the source returns one row less
    Leave(String),
    /// a newer version of the runbook
    Publish(Document),
    /// T-0 becomes this minute
    Move(i64),
    Pause,
    Resume,
    Cancel,
    /// everybody who failed is tried again
    RetryFailed,
    /// the process dies in the middle of the event that follows it in the same minute, or between two
    Crash {
        /// how far it gets before
        turns: u64,
        /// the workers die too, and what they had in hand is done again
        with_workers: bool,
    },
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let chance = &mut Chance::of(seed, "plan");
        let start = i64::try_from(chance.between(40, 180)).expect("small");
        let document = Document::draw(chance, start, None);
        let count = chance.between(1, 8);
        let members: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
        let mut plan =
            Self { seed, start, document, members: members.clone(), events: BTreeMap::new() };
        plan.draw_members(chance, members);
        plan.draw_acts(chance);
        plan
    }

    fn add(&mut self, minute: u64, event: Event) {
        self.events.entry(minute).or_default().push(event);
    }

    /// Who joins, who leaves, and who comes back.
    fn draw_members(&mut self, chance: &mut Chance, mut there: Vec<String>) {
        let mut moments: Vec<u64> =
            (0..chance.between(0, 5)).map(|_| chance.between(1, TROUBLE_MINUTES)).collect();
        moments.sort_unstable();
        let mut gone: Vec<String> = Vec::new();
        for (number, minute) in moments.into_iter().enumerate() {
            if there.len() > 1 && chance.percent(45) {
                let leaves = there.swap_remove(usize_below(chance, there.len()));
                gone.push(leaves.clone());
                self.add(minute, Event::Leave(leaves));
            } else {
                let back = chance.percent(30).then(|| gone.pop()).flatten();
                let joins = back.unwrap_or_else(|| format!("late{number}"));
                there.push(joins.clone());
                self.add(minute, Event::Join(joins));
            }
        }
    }

    fn draw_acts(&mut self, chance: &mut Chance) {
        let mut newest = self.document.clone();
        for _ in 0..chance.between(0, 2) {
            let minute = chance.between(1, TROUBLE_MINUTES);
            newest = Document::draw(chance, self.start, Some(&newest));
            self.add(minute, Event::Publish(newest.clone()));
        }
        for _ in 0..chance.between(0, 2) {
            let minute = chance.between(1, TROUBLE_MINUTES);
            let start = i64::try_from(chance.between(30, 260)).expect("small");
            self.add(minute, Event::Move(start));
        }
        if chance.percent(35) {
            let minute = chance.between(1, TROUBLE_MINUTES - 40);
            self.add(minute, Event::Pause);
            self.add(minute + chance.between(1, 40), Event::Resume);
        }
        for _ in 0..chance.between(0, 2) {
            self.add(chance.between(1, TROUBLE_MINUTES), Event::RetryFailed);
        }
        if chance.percent(4) {
            self.add(chance.between(1, TROUBLE_MINUTES), Event::Cancel);
        }
        for _ in 0..chance.between(0, 2) {
            let crash =
                Event::Crash { turns: chance.between(0, 60), with_workers: chance.percent(50) };
            // Half of them strike while something else happens.
            let busy = self.events.keys().copied().collect::<Vec<_>>();
            let minute = match busy.len() {
                0 => chance.between(1, TROUBLE_MINUTES),
                _ if chance.percent(50) => chance.between(1, TROUBLE_MINUTES),
                count => busy[usize_below(chance, count)],
            };
            self.events.entry(minute).or_default().insert(0, crash);
        }
    }
}

fn usize_below(chance: &mut Chance, bound: usize) -> usize {
    usize::try_from(chance.bits() % bound as u64).expect("smaller than the bound")
}

impl Document {
    /// A document of its own, or one that changes an earlier one a little.
    fn draw(chance: &mut Chance, start: i64, earlier: Option<&Self>) -> Self {
        let names = match earlier {
            Some(earlier) if chance.percent(80) => earlier.phases.len() as u64,
            _ => chance.between(1, 4),
        };
        let phase = |chance: &mut Chance, number: u64| PhaseDocument {
            name: format!("phase{number}"),
            offset: i64::try_from(chance.between(0, start.unsigned_abs() + 10)).expect("small"),
            steps: (0..chance.between(1, 3)).map(|step| StepDocument::draw(chance, step)).collect(),
        };
        let mut phases: Vec<PhaseDocument> =
            (0..names).map(|number| phase(chance, number)).collect();
        if let Some(earlier) = earlier {
            // Mostly the phases stay where they were.
            for (new, old) in phases.iter_mut().zip(&earlier.phases) {
                if chance.percent(70) {
                    new.offset = old.offset;
                }
            }
        }
        Self {
            init: chance.between(0, 2).saturating_sub(1),
            phases,
            reruns: chance.percent(40),
            reruns_init: chance.percent(30),
        }
    }

    /// As its author writes it.
    pub(crate) fn yaml(&self) -> String {
        let mut yaml = "name: move\ndata_source:\n  type: csv\n  connection: MOVE_CSV\n  \
                        primary_key: user\n  batch_time_column: start\n"
            .to_owned();
        if self.init > 0 {
            yaml += "init:\n  - {name: ready, worker_id: workers, function: Ready, params: {}, \
                     retry: {max_retries: 3, interval: 2m}}\n";
        }
        yaml += "phases:\n";
        for phase in &self.phases {
            let offset = if phase.offset == 0 { "0".into() } else { format!("{}m", phase.offset) };
            writeln!(yaml, "  - name: {}\n    offset: T-{offset}\n    steps:", phase.name)
                .expect("a text grows");
            for (position, step) in phase.steps.iter().enumerate() {
                let step = step.yaml(&phase.name, position == 0);
                writeln!(yaml, "      - {step}").expect("a text grows");
            }
        }
        yaml += "on_member_removed:\n  - {name: forget, worker_id: workers, function: Forget, params: {}}\n\
                 rollbacks:\n  undo:\n    - {name: one, worker_id: workers, function: UndoOne, params: {}}\n    \
                 - {name: two, worker_id: workers, function: UndoTwo, params: {}}\n";
        yaml
    }
}

impl StepDocument {
    fn draw(chance: &mut Chance, number: u64) -> Self {
        Self {
            name: format!("step{number}"),
            polls: chance.percent(25),
            retries: chance.between(0, 2),
            is_undone: chance.percent(40),
        }
    }

    /// The first step of a phase sets what the others of that phase are given.
    fn yaml(&self, phase: &str, is_first: bool) -> String {
        let (seen, set) = match is_first {
            true => ("first".to_owned(), format!(", output_params: {{Seen_{phase}: seen}}")),
            false => (format!("{{{{Seen_{phase}}}}}"), String::new()),
        };
        let poll = if self.polls { ", poll: {interval: 2m, timeout: 20m}" } else { "" };
        let undo = if self.is_undone { ", on_failure: undo" } else { "" };
        format!(
            "{{name: {}, worker_id: workers, function: Do, params: {{user: \"{{{{user}}}}\", \
             seen: \"{seen}\"}}, retry: {{max_retries: {}, interval: 3m}}{poll}{undo}{set}}}",
            self.name, self.retries
        )
    }
}
