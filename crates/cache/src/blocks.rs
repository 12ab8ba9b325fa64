//! Which blocks of a content are here.

use std::collections::BTreeMap;
use std::ops::Range;

/// Where the cache has a block of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// On disk, or about to be written there.
    Stored,
    /// In memory only.
    Memory,
    /// Asked for because somebody waits for it or it is to be kept, or being loaded.
    InFlight,
    /// Asked for because somebody will probably read it.
    ReadAhead,
}

/// Which blocks of a content the cache has. What is in none of the runs is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocks {
    /// Block numbers in order, each once; neighbours in the same state are one run.
    pub runs: Vec<(Range<u64>, BlockState)>,
}

impl Blocks {
    /// Of runs on disk, in order, the blocks in the queue to it, and what is on its way or in memory, of which the later
    /// counts. What is on disk is that, wherever else it is.
    pub(crate) fn new(
        stored: &[Range<u64>],
        queued: impl IntoIterator<Item = u64>,
        others: impl IntoIterator<Item = (u64, BlockState)>,
    ) -> Self {
        let mut single: BTreeMap<u64, BlockState> = others.into_iter().collect();
        single.extend(queued.into_iter().map(|index| (index, BlockState::Stored)));
        let mut single = single.into_iter().peekable();
        let mut blocks = Self::default();
        for run in stored {
            while let Some((index, state)) = single.next_if(|(index, _)| *index < run.end) {
                if index < run.start {
                    blocks.push(index..index + 1, state);
                }
            }
            blocks.push(run.clone(), BlockState::Stored);
        }
        single.for_each(|(index, state)| blocks.push(index..index + 1, state));
        blocks
    }

    /// Adds what follows.
    fn push(&mut self, run: Range<u64>, state: BlockState) {
        match self.runs.last_mut() {
            Some((last, former)) if last.end == run.start && *former == state => last.end = run.end,
            Some(_) | None => self.runs.push((run, state)),
        }
    }

    /// How many blocks are on disk or in memory.
    pub fn cached(&self) -> u64 {
        let cached = |state| matches!(state, BlockState::Stored | BlockState::Memory);
        self.runs.iter().filter(|(_, state)| cached(*state)).map(|(run, _)| run.end - run.start).sum()
    }

    /// Whether anything is on its way.
    pub fn is_fetching(&self) -> bool {
        self.runs.iter().any(|(_, state)| matches!(state, BlockState::InFlight | BlockState::ReadAhead))
    }

    /// The same; what is in memory alone counts as stored.
    #[must_use]
    pub fn kept(self) -> Self {
        let mut kept = Self::default();
        for (run, state) in self.runs {
            let state = if state == BlockState::Memory { BlockState::Stored } else { state };
            kept.push(run, state);
        }
        kept
    }

    /// The same, drawn with `most` runs at most (at least one): of neighbours, those with the smallest gaps between them
    /// become one, of the same state first; the larger one's state is that of both.
    #[must_use]
    pub fn at_most(mut self, most: usize) -> Self {
        let surplus = self.runs.len().saturating_sub(most.max(1));
        if surplus == 0 {
            return self;
        }
        let cost = |pair: &[(Range<u64>, BlockState)]| match pair {
            [(a, former), (b, state)] => (former != state, b.start.saturating_sub(a.end)),
            _ => (true, u64::MAX),
        };
        let mut gaps: Vec<_> = self.runs.windows(2).map(cost).zip(1..).collect();
        gaps.select_nth_unstable(surplus - 1);
        let mut joined = vec![false; self.runs.len()];
        gaps.iter().take(surplus).for_each(|(_, index)| joined[*index] = true);
        let mut runs: Vec<(Range<u64>, BlockState)> = Vec::with_capacity(most);
        // Of the part of the last run that gave it its state.
        let mut largest = 0;
        for ((run, state), joined) in std::mem::take(&mut self.runs).into_iter().zip(joined) {
            let length = run.end - run.start;
            match runs.last_mut().filter(|_| joined) {
                Some((last, former)) => {
                    last.end = run.end;
                    if length > largest {
                        (*former, largest) = (state, length);
                    }
                }
                None => {
                    largest = length;
                    runs.push((run, state));
                }
            }
        }
        Self { runs }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::BlockState::{InFlight, Memory, ReadAhead, Stored};
    use super::*;

    fn runs(runs: &[(Range<u64>, BlockState)]) -> Blocks {
        Blocks { runs: runs.to_vec() }
    }

    #[test]
    fn what_is_on_disk_is_that_wherever_else_it_is() {
        let others = [(9, ReadAhead), (2, InFlight), (3, InFlight), (3, Memory), (5, Memory), (20, InFlight)];
        let blocks = Blocks::new(&[4..6, 8..10], [6], others);
        assert_eq!(
            blocks.runs,
            [(2..3, InFlight), (3..4, Memory), (4..7, Stored), (8..10, Stored), (20..21, InFlight)]
        );
        assert_eq!((blocks.cached(), blocks.is_fetching()), (6, true));
        assert_eq!(
            blocks.kept().runs,
            [(2..3, InFlight), (3..7, Stored), (8..10, Stored), (20..21, InFlight)]
        );
    }

    #[test]
    fn small_gaps_close_first_and_states_mix_last() {
        let blocks = runs(&[(0..2, Stored), (3..4, Stored), (9..10, Stored), (10..12, ReadAhead)]);
        assert_eq!(blocks.clone().at_most(4), blocks);
        let three = blocks.clone().at_most(3);
        assert_eq!(three.runs, [(0..4, Stored), (9..10, Stored), (10..12, ReadAhead)]);
        assert_eq!(blocks.clone().at_most(2).runs, [(0..10, Stored), (10..12, ReadAhead)]);
        assert_eq!(blocks.at_most(0).runs, [(0..12, Stored)]);
    }

    proptest! {
        #[test]
        fn a_coarse_picture_covers_the_fine_one(
            lengths in prop::collection::vec((1..5u64, 0..4u64, 0..4usize), 0..200),
            most in 1..40usize,
        ) {
            let mut at = 0;
            let mut fine = Blocks::default();
            for (length, gap, state) in lengths {
                let state = [Stored, Memory, InFlight, ReadAhead][state];
                fine.push(at + gap..at + gap + length, state);
                at += gap + length;
            }
            let coarse = fine.clone().at_most(most);
            prop_assert!(coarse.runs.len() <= most && (coarse.runs.is_empty() == fine.runs.is_empty()));
            prop_assert_eq!(coarse.runs.len(), most.min(fine.runs.len()));
            for pair in coarse.runs.windows(2) {
                prop_assert!(pair[0].0.end <= pair[1].0.start);
            }
            for (run, _) in &fine.runs {
                prop_assert!(coarse.runs.iter().any(|(other, _)| other.start <= run.start && run.end <= other.end));
            }
        }
    }
}
