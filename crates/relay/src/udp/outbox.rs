//! Datagrams on their way out, gathered so that one system call sends many. A state machine without I/O.
//!
//! The system takes several datagrams of one size, the last of them shorter, as one block for one address. Datagrams
//! for one address stay in order; those for different addresses need none.

use quinn_udp::EcnCodepoint;

use super::flows::Route;

/// Bytes of the largest block: what a UDP datagram can hold, less room for the longest headers.
const BLOCK_BYTES: usize = 65_000;
/// Blocks under way. Beyond these the oldest is sent, so that many flows at once take bounded room.
const BLOCKS: usize = 16;

/// Datagrams of one size for one address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) route: Route,
    pub(crate) ecn: Option<EcnCodepoint>,
    /// Bytes of each datagram but the last, which may be shorter.
    pub(crate) segment: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Block {
    /// Whether a datagram of this size can follow.
    fn takes(&self, bytes: usize, most: usize) -> bool {
        let whole = self.bytes.len().is_multiple_of(self.segment);
        let count = self.bytes.len() / self.segment;
        whole && bytes <= self.segment && count < most && self.bytes.len() + bytes <= BLOCK_BYTES
    }
}

/// The blocks that are being filled, oldest first, at most one for each address and marking.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    blocks: Vec<Block>,
    /// Buffers of blocks that were sent.
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// Adds a datagram, of which a block may hold `most`; a block that is to be sent now, if any.
    pub(crate) fn push(
        &mut self,
        route: Route,
        ecn: Option<EcnCodepoint>,
        datagram: &[u8],
        most: usize,
    ) -> Option<Block> {
        let index = self.blocks.iter().position(|block| block.route == route);
        if let Some(block) = index.and_then(|index| self.blocks.get_mut(index))
            && block.ecn == ecn
            && block.takes(datagram.len(), most)
        {
            block.bytes.extend_from_slice(datagram);
            return None;
        }
        let full =
            index.or((self.blocks.len() >= BLOCKS).then_some(0)).map(|index| self.blocks.remove(index));
        let mut bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES));
        bytes.extend_from_slice(datagram);
        self.blocks.push(Block { route, ecn, segment: datagram.len(), bytes });
        full
    }

    /// The next block to be sent, when nothing more is to be added.
    pub(crate) fn pop(&mut self) -> Option<Block> {
        (!self.blocks.is_empty()).then(|| self.blocks.remove(0))
    }

    /// Takes back the buffer of a block that was sent.
    pub(crate) fn reuse(&mut self, mut block: Block) {
        if self.spare.len() <= BLOCKS {
            block.bytes.clear();
            self.spare.push(block.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn route(number: u8) -> Route {
        Route { to: ([192, 0, 2, number], 1000).into(), from: None }
    }

    #[test]
    fn datagrams_of_one_size_go_together_up_to_a_shorter_one() {
        let mut outbox = Outbox::default();
        for size in [1200, 1200, 1200, 40] {
            assert_eq!(outbox.push(route(1), None, &vec![1; size], 64), None);
        }
        let first = outbox.push(route(1), None, &[2; 40], 64).unwrap();
        assert_eq!((first.segment, first.bytes.len()), (1200, 3640));
        let second = outbox.push(route(1), None, &[3; 41], 64).unwrap();
        assert_eq!(
            (second.segment, second.bytes.len()),
            (40, 40),
            "a longer one does not follow a shorter one"
        );
        let third = outbox.push(route(1), Some(EcnCodepoint::Ce), &[3; 41], 64).unwrap();
        assert_eq!(third.ecn, None, "what the network marked stays apart");
    }

    #[test]
    fn a_block_holds_no_more_datagrams_than_the_system_takes() {
        let mut outbox = Outbox::default();
        assert!((0..3).all(|_| outbox.push(route(1), None, &[1; 100], 3).is_none()));
        assert_eq!(outbox.push(route(1), None, &[1; 100], 3).unwrap().bytes.len(), 300);
        assert!(outbox.push(route(1), None, &[1; 100], 1).is_some());
    }

    proptest! {
        /// Everything comes out once, in order for each address, in blocks that the system takes.
        #[test]
        fn nothing_is_lost_or_mixed(
            datagrams in prop::collection::vec((0u8..30, prop_oneof![Just(1200_usize), 1usize..1500, Just(0)], any::<bool>()), 0..300),
            most in 1usize..65,
        ) {
            let mut outbox = Outbox::default();
            let mut sent = Vec::new();
            let mut expected: HashMap<_, Vec<_>> = HashMap::new();
            for (index, (to, size, marked)) in datagrams.into_iter().enumerate() {
                let (ecn, datagram) = (marked.then_some(EcnCodepoint::Ce), vec![index as u8; size]);
                if datagram.is_empty() {
                    continue;
                }
                sent.extend(outbox.push(route(to), ecn, &datagram, most));
                expected.entry(route(to).to).or_default().push((ecn, datagram));
                prop_assert!(outbox.blocks.len() <= BLOCKS);
            }
            sent.extend(std::iter::from_fn(|| outbox.pop()));
            let mut found: HashMap<_, Vec<_>> = HashMap::new();
            for block in sent {
                let segments: Vec<_> = block.bytes.chunks(block.segment).collect();
                prop_assert!(segments.len() <= most && block.bytes.len() <= BLOCK_BYTES);
                let to = found.entry(block.route.to).or_default();
                to.extend(segments.into_iter().map(|segment| (block.ecn, segment.to_vec())));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
