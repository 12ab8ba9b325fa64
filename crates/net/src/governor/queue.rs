//! Who asks next. No I/O and no clock.
//!
//! Reading ahead goes before transfers, which get an eighth of the bytes while both wait. Within a class, those who
//! read take turns by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), so large requests get no larger part;
//! each one's requests go in their order.

use std::collections::VecDeque;

use farhold_wire::EntryId;

/// Bytes of a turn.
const QUANTUM: i64 = 1 << 20;
/// While both wait, transfers get one byte for so many that are read ahead.
const AHEAD_SHARE: i64 = 7;

/// What is waited for, of what may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Ahead,
    Bulk,
}

#[derive(Debug)]
struct Waiting<T> {
    ticket: u64,
    bytes: u64,
    item: T,
}

impl<T> Waiting<T> {
    fn length(&self) -> i64 {
        i64::try_from(self.bytes).unwrap_or(i64::MAX)
    }
}

/// One who reads, by what is read: a file.
#[derive(Debug)]
struct Flow<T> {
    entry: EntryId,
    /// Bytes that it may still ask for in this turn; a request may overdraw it.
    deficit: i64,
    waiting: VecDeque<Waiting<T>>,
}

/// Flows in the order of their turns; none of them is empty.
#[derive(Debug)]
struct Turns<T>(VecDeque<Flow<T>>);

impl<T> Turns<T> {
    fn push(&mut self, entry: EntryId, waiting: Waiting<T>) {
        match self.0.iter_mut().find(|flow| flow.entry == entry) {
            Some(flow) => flow.waiting.push_back(waiting),
            None => self.0.push_back(Flow { entry, deficit: QUANTUM, waiting: [waiting].into() }),
        }
    }

    fn pop(&mut self) -> Option<Waiting<T>> {
        while self.0.front()?.deficit <= 0 {
            let mut flow = self.0.pop_front()?;
            flow.deficit += QUANTUM;
            self.0.push_back(flow);
        }
        let flow = self.0.front_mut()?;
        let waiting = flow.waiting.pop_front()?;
        flow.deficit -= waiting.length();
        if flow.waiting.is_empty() {
            self.0.pop_front();
        }
        Some(waiting)
    }

    fn remove(&mut self, ticket: u64) -> Option<Waiting<T>> {
        for (index, flow) in self.0.iter_mut().enumerate() {
            let Some(place) = flow.waiting.iter().position(|waiting| waiting.ticket == ticket) else {
                continue;
            };
            let waiting = flow.waiting.remove(place);
            if flow.waiting.is_empty() {
                self.0.remove(index);
            }
            return waiting;
        }
        None
    }
}

/// Requests that wait for room.
#[derive(Debug)]
pub(super) struct Queue<T> {
    ahead: Turns<T>,
    bulk: Turns<T>,
    /// What was read ahead while transfers waited, less what they got times [`AHEAD_SHARE`].
    credit: i64,
    length: usize,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self { ahead: Turns(VecDeque::new()), bulk: Turns(VecDeque::new()), credit: 0, length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn push(&mut self, class: Class, entry: EntryId, ticket: u64, bytes: u64, item: T) {
        let turns = match class {
            Class::Ahead => &mut self.ahead,
            Class::Bulk => &mut self.bulk,
        };
        turns.push(entry, Waiting { ticket, bytes, item });
        self.length += 1;
    }

    /// The next one, with its bytes.
    pub(super) fn pop(&mut self) -> Option<(u64, T)> {
        let waiting = match (self.ahead.0.is_empty(), self.bulk.0.is_empty()) {
            (_, true) => {
                self.credit = 0;
                self.ahead.pop()
            }
            (true, false) => self.bulk.pop(),
            (false, false) if self.credit >= AHEAD_SHARE * QUANTUM => {
                let waiting = self.bulk.pop();
                self.credit -= AHEAD_SHARE * waiting.as_ref().map_or(0, Waiting::length);
                waiting
            }
            (false, false) => {
                let waiting = self.ahead.pop();
                self.credit += waiting.as_ref().map_or(0, Waiting::length);
                waiting
            }
        }?;
        self.length -= 1;
        Some((waiting.bytes, waiting.item))
    }

    /// Takes one out of its turn.
    pub(super) fn remove(&mut self, ticket: u64) -> Option<T> {
        let waiting = self.ahead.remove(ticket).or_else(|| self.bulk.remove(ticket))?;
        self.length -= 1;
        Some(waiting.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pops so many bytes; gives how many of them each item stood for.
    fn shares(queue: &mut Queue<usize>, bytes: u64) -> [u64; 3] {
        let mut got = [0; 3];
        while got.iter().sum::<u64>() < bytes {
            let (bytes, item) = queue.pop().unwrap();
            got[item] += bytes;
        }
        got
    }

    /// A queue in which each of these has requests of that length.
    fn queue(flows: &[(Class, u64)]) -> Queue<usize> {
        let mut queue = Queue::new();
        let mut ticket = 0;
        for (item, (class, bytes)) in flows.iter().enumerate() {
            for _ in 0..(256 << 20) / bytes {
                ticket += 1;
                queue.push(*class, EntryId([item as u8; 16]), ticket, *bytes, item);
            }
        }
        queue
    }

    #[test]
    fn the_length_of_requests_does_not_matter() {
        let mut queue = queue(&[(Class::Ahead, 4 << 20), (Class::Ahead, 1 << 20), (Class::Ahead, 64 << 10)]);
        for share in shares(&mut queue, 120 << 20) {
            assert!(share.abs_diff(40 << 20) <= 4 << 20, "{share}");
        }
    }

    #[test]
    fn transfers_get_an_eighth_also_with_large_requests() {
        for bytes in [1 << 20, 4 << 20] {
            let mut queue = queue(&[(Class::Ahead, 1 << 20), (Class::Bulk, bytes)]);
            let [ahead, bulk, _] = shares(&mut queue, 160 << 20);
            assert!(bulk.abs_diff((ahead + bulk) / 8) <= 4 << 20, "{bytes}: {ahead} {bulk}");
        }
    }

    #[test]
    fn requests_of_one_go_in_order_and_leave_when_asked_to() {
        let mut queue = Queue::new();
        (0..5).for_each(|ticket| queue.push(Class::Ahead, EntryId([1; 16]), ticket, 10, ticket));
        assert_eq!((queue.remove(2), queue.remove(2)), (Some(2), None));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(_, ticket)| ticket).collect();
        assert_eq!((order, queue.len()), (vec![0, 1, 3, 4], 0));
    }
}
