//! Which groups of a file are there. No I/O.

use farhold_wire::GroupHash;
use farhold_wire::limits::GROUP_BYTES;

use super::hashes::{group_length, groups};

/// The groups of one file in one version, with the hashes of those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    size: u64,
    have: Vec<Option<GroupHash>>,
}

impl Groups {
    /// A file of `size` bytes of which nothing is there.
    pub(crate) fn new(size: u64) -> Self {
        Self { size, have: vec![None; usize::try_from(groups(size)).unwrap_or(usize::MAX)] }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// First byte and length of a group.
    pub(crate) fn range(&self, group: u64) -> (u64, u32) {
        (group * GROUP_BYTES, group_length(self.size, group))
    }

    /// The groups that are not there, in order.
    pub(crate) fn missing(&self) -> Vec<u64> {
        (0..).zip(&self.have).filter(|(_, have)| have.is_none()).map(|(group, _)| group).collect()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.have.iter().all(Option::is_some)
    }

    /// Bytes that are there.
    pub(crate) fn bytes(&self) -> u64 {
        let there = (0..).zip(&self.have).filter(|(_, have)| have.is_some());
        there.map(|(group, _)| u64::from(group_length(self.size, group))).sum()
    }

    /// A group is there now. One that the file does not have is no group.
    pub(crate) fn arrived(&mut self, group: u64, hash: GroupHash) {
        if let Some(have) = usize::try_from(group).ok().and_then(|group| self.have.get_mut(group)) {
            *have = Some(hash);
        }
    }

    /// The file has another size now. Groups that have another length with it are not there any more.
    pub(crate) fn resize(&mut self, size: u64) {
        let changed = size.min(self.size) / GROUP_BYTES;
        let before = self.size;
        self.size = size;
        self.have.resize(usize::try_from(groups(size)).unwrap_or(usize::MAX), None);
        if before != size
            && let Some(have) = usize::try_from(changed).ok().and_then(|group| self.have.get_mut(group))
        {
            *have = None;
        }
    }

    /// Compares with the hashes that the home has, one for each group. What differs is not there any more.
    pub(crate) fn compare(&mut self, home: &[GroupHash]) {
        for (have, hash) in self.have.iter_mut().zip(home) {
            have.take_if(|have| have != hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const G: u64 = GROUP_BYTES;

    fn whole(size: u64) -> Groups {
        let mut all = Groups::new(size);
        for group in all.missing() {
            all.arrived(group, [group as u8; 32]);
        }
        all
    }

    #[test]
    fn an_empty_file_is_whole_and_a_large_one_is_once_all_is_there() {
        assert!(Groups::new(0).is_whole());
        let mut file = Groups::new(2 * G + 1);
        assert_eq!(file.missing(), [0, 1, 2]);
        assert_eq!((file.range(1), file.range(2)), ((G, G as u32), (2 * G, 1)));
        file.arrived(2, [2; 32]);
        file.arrived(9, [9; 32]);
        assert_eq!((file.missing(), file.bytes()), (vec![0, 1], 1));
        file.arrived(0, [0; 32]);
        file.arrived(1, [1; 32]);
        assert!(file.is_whole());
        // One came differently than it is at home.
        file.compare(&[[0; 32], [7; 32], [2; 32]]);
        assert_eq!(file.missing(), [1]);
    }

    #[test]
    fn what_has_another_length_is_missing_again() {
        for (before, after, missing) in [
            (2 * G, 3 * G, vec![2]),
            (2 * G + 5, 2 * G + 9, vec![2]),
            (2 * G + 5, 3 * G + 9, vec![2, 3]),
            (3 * G, 2 * G + 1, vec![2]),
            (3 * G, 2 * G, vec![]),
            (3 * G, 0, vec![]),
            (2 * G, 2 * G, vec![]),
        ] {
            let mut file = whole(before);
            file.resize(after);
            assert_eq!(file.missing(), missing, "{before} to {after}");
        }
    }

    proptest! {
        #[test]
        fn what_is_there_is_never_of_another_length(sizes in proptest::collection::vec(0..5 * G, 1..6)) {
            let mut file = Groups::new(sizes[0]);
            // What each group that is there was when it came.
            let mut lengths = std::collections::BTreeMap::new();
            for size in sizes {
                file.resize(size);
                for (group, have) in (0..).zip(&file.have) {
                    if have.is_some() {
                        prop_assert_eq!(lengths[&group], file.range(group).1);
                    }
                }
                for group in file.missing() {
                    lengths.insert(group, file.range(group).1);
                    file.arrived(group, [1; 32]);
                }
                prop_assert!(file.is_whole());
                prop_assert_eq!(file.bytes(), size);
            }
        }
    }
}
