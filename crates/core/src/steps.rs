//! The steps of a run, kept in chunks that copies of the run share.
//!
//! Every decision begins with a copy of its run and changes one step or two. A run whose steps are
//! done once for each item of a list has thousands; copying, searching and checking all of them for
//! each answer of a worker would take longer than the work. So a chunk is copied when a step in it
//! changes, and everything that looks for something passes over the chunks that cannot hold it.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::sync::{Arc, OnceLock};

use crate::id::StepIndex;
use crate::step::Step;
use crate::time::Timestamp;

/// Steps of a chunk. Every decision copies one, so it is small; a run of thousands of items still has
/// few enough of them to walk over.
const CHUNK: usize = 8;

/// The steps of a run, in order.
#[derive(Clone, Default)]
pub struct Steps {
    /// all full but the last
    chunks: Vec<Arc<Chunk>>,
}

/// Neighbors among the steps.
#[derive(Default)]
struct Chunk {
    steps: Vec<Step>,
    /// the earliest moment of them, once somebody has asked
    wake_at: OnceLock<Option<Timestamp>>,
}

impl Chunk {
    fn of(steps: Vec<Step>) -> Self {
        Self { steps, wake_at: OnceLock::new() }
    }

    /// Steps that nothing has happened to yet. They are all alike, so every run that begins can have
    /// the same ones until something happens to them: 20,000 members wait in the room of one.
    fn waiting(count: usize) -> Arc<Self> {
        static WAITING: [OnceLock<Arc<Chunk>>; CHUNK + 1] = [const { OnceLock::new() }; CHUNK + 1];
        let chunk = WAITING[count].get_or_init(|| Arc::new(Self::of(vec![Step::new(); count])));
        Arc::clone(chunk)
    }

    fn wake_at(&self) -> Option<Timestamp> {
        *self.wake_at.get_or_init(|| self.steps.iter().filter_map(|step| step.wake_at).min())
    }

    /// The steps, to be changed. What was found out about them is forgotten.
    fn change(self: &mut Arc<Self>) -> &mut Vec<Step> {
        let chunk = Arc::make_mut(self);
        chunk.wake_at = OnceLock::new();
        &mut chunk.steps
    }
}

impl Clone for Chunk {
    /// A copy is made to be changed, so what was found out does not go with it.
    fn clone(&self) -> Self {
        Self::of(self.steps.clone())
    }
}

impl Steps {
    /// Steps that nothing has happened to yet.
    #[must_use]
    pub fn waiting(count: usize) -> Self {
        let mut steps = Self::default();
        steps.add_waiting(count);
        steps
    }

    /// Adds steps that nothing has happened to yet.
    pub fn add_waiting(&mut self, count: usize) {
        let end = self.len() + count;
        if let Some(last) = self.chunks.last_mut() {
            let room = (CHUNK - last.steps.len()).min(count);
            if room > 0 {
                let steps = last.change();
                steps.resize(steps.len() + room, Step::new());
            }
        }
        while self.len() < end {
            let count = (end - self.len()).min(CHUNK);
            self.chunks.push(Chunk::waiting(count));
        }
    }

    /// Leaves out what ended steps were given and what they returned.
    pub(crate) fn leave_out_ended(&mut self) {
        let holds_some = |step: &Step| {
            step.status.is_terminal() && (step.params.is_some() || step.result.is_some())
        };
        for chunk in &mut self.chunks {
            if !chunk.steps.iter().any(holds_some) {
                continue;
            }
            for step in chunk.change().iter_mut().filter(|step| holds_some(step)) {
                step.params = None;
                step.result = None;
            }
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.steps.len())
    }

    /// How many there are whose room is not shared with every run that begins: all but those in chunks
    /// to which nothing has happened yet.
    #[must_use]
    pub fn touched(&self) -> usize {
        let own = |chunk: &&Arc<Chunk>| {
            let steps = chunk.steps.len();
            !Arc::ptr_eq(chunk, &Chunk::waiting(steps))
        };
        self.chunks.iter().filter(own).map(|chunk| chunk.steps.len()).sum()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The step at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&Step> {
        self.chunks.get(position / CHUNK)?.steps.get(position % CHUNK)
    }

    /// The steps in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { steps: self, next: 0, end: self.len() }
    }

    /// The earliest moment of any step.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.chunks.iter().filter_map(|chunk| chunk.wake_at()).min()
    }

    /// The steps whose moment has come.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Vec<StepIndex> {
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let chunks = self.chunks.iter().enumerate().filter(|(_, chunk)| is_due(chunk.wake_at()));
        chunks
            .flat_map(|(number, chunk)| (number * CHUNK..).zip(&chunk.steps))
            .filter(|(_, step)| is_due(step.wake_at))
            .map(|(position, _)| StepIndex::at(position))
            .collect()
    }

    /// Every step that may differ from what it was in `before`, with its position, and with what it
    /// was if it was there.
    pub fn changed_since<'s>(
        &'s self,
        before: &'s Self,
    ) -> impl Iterator<Item = (usize, Option<&'s Step>, &'s Step)> {
        let chunks = self.chunks.iter().enumerate();
        chunks
            .filter(|(number, chunk)| {
                !before.chunks.get(*number).is_some_and(|old| Arc::ptr_eq(old, chunk))
            })
            .flat_map(|(number, chunk)| (number * CHUNK..).zip(&chunk.steps))
            .map(|(position, step)| (position, before.get(position), step))
    }
}

impl Index<usize> for Steps {
    type Output = Step;

    fn index(&self, position: usize) -> &Step {
        &self.chunks[position / CHUNK].steps[position % CHUNK]
    }
}

impl IndexMut<usize> for Steps {
    fn index_mut(&mut self, position: usize) -> &mut Step {
        &mut self.chunks[position / CHUNK].change()[position % CHUNK]
    }
}

impl From<Vec<Step>> for Steps {
    fn from(steps: Vec<Step>) -> Self {
        let chunks = steps.chunks(CHUNK).map(|chunk| Arc::new(Chunk::of(chunk.to_vec())));
        Self { chunks: chunks.collect() }
    }
}

impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<Chunk>, &Arc<Chunk>)| {
            Arc::ptr_eq(one, other) || one.steps == other.steps
        };
        self.chunks.len() == other.chunks.len() && self.chunks.iter().zip(&other.chunks).all(same)
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'s> IntoIterator for &'s Steps {
    type Item = &'s Step;
    type IntoIter = Iter<'s>;

    fn into_iter(self) -> Iter<'s> {
        self.iter()
    }
}

/// The steps of a run, one after the other.
#[derive(Clone, Debug)]
pub struct Iter<'s> {
    steps: &'s Steps,
    next: usize,
    end: usize,
}

impl<'s> Iterator for Iter<'s> {
    type Item = &'s Step;

    fn next(&mut self) -> Option<&'s Step> {
        if self.next == self.end {
            return None;
        }
        let step = self.steps.get(self.next);
        self.next += 1;
        step
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (left, Some(left))
    }

    fn nth(&mut self, count: usize) -> Option<&'s Step> {
        self.next = self.next.saturating_add(count).min(self.end);
        self.next()
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_change_in_a_copy_leaves_the_original_alone_and_copies_one_chunk() {
        let original = Steps::waiting(10_000);
        let mut copy = original.clone();
        copy[7_000].attempt = 1;
        assert_eq!((original[7_000].attempt, copy[7_000].attempt), (0, 1));
        assert_eq!(copy.changed_since(&original).count(), CHUNK);
        assert_eq!((original.touched(), copy.touched()), (0, CHUNK));
        assert_ne!(original, copy);
        copy[7_000].attempt = 0;
        assert_eq!(original, copy);
    }

    #[test]
    fn the_earliest_moment_follows_every_change() {
        let mut steps = Steps::waiting(100);
        assert_eq!(steps.wake_at(), None);
        steps[70].wake_at = Some(at(30));
        steps[3].wake_at = Some(at(20));
        assert_eq!(steps.wake_at(), Some(at(20)));
        assert_eq!(steps.due(at(25)), [StepIndex(3)]);
        assert_eq!(steps.due(at(30)), [StepIndex(3), StepIndex(70)]);
        steps[3].wake_at = None;
        assert_eq!((steps.wake_at(), steps.due(at(29))), (Some(at(30)), Vec::new()));
    }

    proptest! {
        #[test]
        fn steps_in_chunks_are_steps_in_a_row(
            parts in proptest::collection::vec(0..80_usize, 0..6),
            touched in proptest::collection::vec(any::<u16>(), 0..20),
        ) {
            let (mut steps, mut row) = (Steps::default(), Vec::new());
            for part in parts {
                steps.add_waiting(part);
                row.resize(row.len() + part, Step::new());
                for touch in &touched {
                    let Some(position) = usize::from(*touch).checked_rem(row.len()) else { break };
                    steps[position].attempt += 1;
                    row[position].attempt += 1;
                }
            }
            prop_assert_eq!(steps.len(), row.len());
            prop_assert_eq!(steps.is_empty(), row.is_empty());
            prop_assert!(steps.iter().eq(row.iter()));
            prop_assert!(steps.iter().skip(5).eq(row.iter().skip(5)));
            prop_assert_eq!(steps.get(row.len()), None);
            prop_assert_eq!(Steps::from(row), steps);
        }
    }
}
