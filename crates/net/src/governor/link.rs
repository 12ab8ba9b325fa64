//! A path to try the governor on: a sender with ordered lanes, a bottleneck with a drop-tail buffer, and delay.
//!
//! Time is virtual and goes in steps of one event. Bytes travel in chunks; a chunk that is lost comes a round trip later,
//! and what follows it on its lane waits for it, as with TCP and QUIC streams.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use farhold_wire::EntryId;
use tokio::time::Instant;

use super::{Governor, Priority};

const CHUNK: u64 = 16 << 10;
/// Reads that are not demand are this long.
pub(super) const REQUEST: u64 = 1 << 20;
/// The sender does not write faster than this times the bottleneck.
const SENDER: f64 = 1.25;
/// Its first congestion window, what a full buffer leaves of it, and how fast it grows after that, by the round trip.
const SENDER_FIRST: f64 = 320e3;
const SENDER_BACK: f64 = 0.85;
const SENDER_GROWTH: f64 = 1.05;

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A path as it is now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    /// Bytes per second.
    pub(super) rate: f64,
    pub(super) rtt: Duration,
    /// Time that the bottleneck's buffer holds.
    pub(super) buffer: Duration,
    /// Of a chunk.
    pub(super) loss: f64,
    /// Lanes that are not urgent.
    pub(super) lanes: usize,
    /// How often a second the sender does nothing for up to 150 ms, as a busy machine does.
    pub(super) stalls: f64,
    /// What others send, as a part of the rate, whatever we do.
    pub(super) constant: f64,
}

impl Path {
    pub(super) fn new(megabytes: f64, rtt: u64) -> Self {
        Self {
            rate: megabytes * 1e6,
            rtt: ms(rtt),
            buffer: ms(200),
            loss: 0.0,
            stalls: 0.0,
            lanes: 2,
            constant: 0.0,
        }
    }
}

/// Another sender that halves its window at a loss and grows it by an eighth of the path each second.
#[derive(Debug, Default)]
struct Other {
    window: f64,
    outstanding: f64,
    until: Duration,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request(u64),
    /// The sender may hand the next chunk to the bottleneck.
    Send,
    /// A chunk of a read comes out, the n-th of its lane.
    Arrive {
        read: u64,
        lane: usize,
        index: u64,
        bytes: u64,
    },
    /// The sender hears that a chunk is there.
    Acknowledged(u64),
    /// A chunk was lost and is handed over again.
    Again {
        read: u64,
        lane: usize,
        index: u64,
        bytes: u64,
    },
    OtherArrives,
    OtherLost,
    Jump,
}

/// The number of the chunk that is next to pass on, and those that wait for it: which read they are of, and their bytes.
type Lane = (u64, BTreeMap<u64, (u64, u64)>);

#[derive(Debug)]
struct Read {
    entry: u8,
    priority: Priority,
    bytes: u64,
    left: u64,
    asked: Duration,
    began: bool,
}

/// What was seen of one reader.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Reader {
    /// Requests that it always has waiting or outstanding; none at 0.
    pub(super) depth: usize,
    pub(super) bulk: bool,
    open: usize,
    pub(super) arrived: u64,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) path: Path,
    begin: Instant,
    pub(super) now: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    last_event: u64,
    pub(super) governor: Governor<u64>,
    reads: HashMap<u64, Read>,
    last_read: u64,
    /// Chunks at the sender, by lane: 0 is urgent.
    backlog: Vec<VecDeque<(u64, u64)>>,
    sending: bool,
    in_flight: f64,
    congestion: f64,
    /// No further drop counts until then; none yet at 0.
    backed_off: Duration,
    turn: usize,
    sent: Vec<u64>,
    /// Chunks that wait for one before them, by lane.
    received: Vec<Lane>,
    /// When the bottleneck will have sent everything it has.
    free: Duration,
    pub(super) readers: Vec<Reader>,
    /// Time between demand reads.
    jumps: Option<Duration>,
    pub(super) latencies: Vec<Duration>,
    other: Option<Other>,
    seed: u64,
    pub(super) drops: u64,
    /// Sum of the bottleneck's queue at each chunk, and how many.
    queue: (f64, u64),
    total: u64,
}

impl Link {
    pub(super) fn new(path: Path, seed: u64) -> Self {
        let begin = Instant::now();
        let lanes = path.lanes + 1;
        Self {
            path,
            begin,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            last_event: 0,
            governor: Governor::new(None, begin),
            reads: HashMap::new(),
            last_read: 0,
            backlog: (0..lanes).map(|_| VecDeque::new()).collect(),
            sending: false,
            in_flight: 0.0,
            congestion: SENDER_FIRST,
            backed_off: Duration::ZERO,
            turn: 0,
            sent: vec![0; lanes],
            received: (0..lanes).map(|_| (0, BTreeMap::new())).collect(),
            free: Duration::ZERO,
            readers: Vec::new(),
            jumps: None,
            latencies: Vec::new(),
            other: None,
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            drops: 0,
            queue: (0.0, 0),
            total: 0,
        }
    }

    pub(super) fn reader(&mut self, depth: usize, bulk: bool) {
        self.readers.push(Reader { depth, bulk, ..Reader::default() });
    }

    /// From now on a demand read of 2 MiB every so often.
    pub(super) fn jump(&mut self, every: Duration) {
        self.jumps = Some(every);
        self.at(every, Event::Jump);
    }

    /// Another sender starts, or ends.
    pub(super) fn compete(&mut self, on: bool) {
        if on {
            self.other = Some(Other { window: 1e6, ..Other::default() });
            self.other_sends();
        } else {
            self.other = None;
        }
    }

    /// Runs for a time; gives the part of the bottleneck that we used, and the mean queue in it.
    pub(super) fn run(&mut self, time: Duration) -> (f64, Duration) {
        let (end, before) = (self.now + time, self.total);
        self.queue = (0.0, 0);
        self.fill();
        while let Some(Reverse((at, _, _))) = self.events.peek()
            && *at <= end
        {
            let Some(Reverse((at, _, event))) = self.events.pop() else { break };
            self.now = at;
            self.handle(event);
            self.fill();
        }
        self.now = end;
        let used = (self.total - before) as f64 / (self.path.rate * time.as_secs_f64());
        (used, Duration::from_secs_f64(self.queue.0 / self.queue.1.max(1) as f64))
    }

    pub(super) fn instant(&self) -> Instant {
        self.begin + self.now
    }

    fn random(&mut self) -> f64 {
        // xorshift64 (Marsaglia 2003).
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.last_event += 1;
        self.events.push(Reverse((self.now + after, self.last_event, event)));
    }

    /// Asks for what may be asked for.
    fn fill(&mut self) {
        for index in 0..self.readers.len() {
            while self.readers[index].open < self.readers[index].depth {
                self.readers[index].open += 1;
                let priority = if self.readers[index].bulk { Priority::Bulk } else { Priority::ReadAhead };
                let entry = u8::try_from(index).unwrap();
                let read = self.read(entry, priority, REQUEST);
                self.governor.wait(priority, EntryId([entry; 16]), REQUEST, read).unwrap();
            }
        }
        while let Some((_, read)) = self.governor.next(self.instant()) {
            self.ask(read);
        }
    }

    fn read(&mut self, entry: u8, priority: Priority, bytes: u64) -> u64 {
        self.last_read += 1;
        let read = Read { entry, priority, bytes, left: bytes, asked: self.now, began: false };
        self.reads.insert(self.last_read, read);
        self.last_read
    }

    fn ask(&mut self, read: u64) {
        self.reads.get_mut(&read).unwrap().asked = self.now;
        let half = self.path.rtt / 2;
        self.at(half, Event::Request(read));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Request(read) => {
                let known = &self.reads[&read];
                let (mut left, demand) = (known.bytes, known.priority == Priority::Demand);
                let lane = if demand { 0 } else { 1 + usize::try_from(read).unwrap() % self.path.lanes };
                while left > 0 {
                    let bytes = left.min(CHUNK);
                    self.backlog[lane].push_back((read, bytes));
                    left -= bytes;
                }
                self.wake_sender();
            }
            Event::Send => self.send(),
            Event::Acknowledged(bytes) => {
                let limited = self.in_flight > self.congestion * 0.8;
                self.in_flight -= bytes as f64;
                let growth = if self.backed_off.is_zero() { 2.0 } else { SENDER_GROWTH };
                if limited {
                    self.congestion += bytes as f64 * (growth - 1.0);
                }
                self.wake_sender();
            }
            Event::Arrive { read, lane, index, bytes } => {
                self.received[lane].1.insert(index, (read, bytes));
                while let (next, waiting) = &mut self.received[lane]
                    && let Some((read, bytes)) = waiting.remove(next)
                {
                    *next += 1;
                    self.arrive(read, bytes);
                }
            }
            Event::Again { read, lane, index, bytes } => self.through(read, lane, index, bytes),
            Event::OtherArrives => {
                let growth = self.path.rate / 8.0 * self.path.rtt.as_secs_f64();
                if let Some(other) = &mut self.other {
                    other.outstanding -= CHUNK as f64;
                    other.window += growth * CHUNK as f64 / other.window;
                }
                self.other_sends();
            }
            Event::OtherLost => {
                let (now, rtt) = (self.now, self.path.rtt);
                if let Some(other) = &mut self.other {
                    other.outstanding -= CHUNK as f64;
                    if now >= other.until {
                        other.window = (other.window / 2.0).max(CHUNK as f64);
                        other.until = now + 2 * rtt;
                    }
                }
                self.other_sends();
            }
            Event::Jump => {
                if let Some(every) = self.jumps {
                    let read = self.read(u8::MAX, Priority::Demand, 2 << 20);
                    let now = self.instant();
                    self.governor.demand(2 << 20, now);
                    self.ask(read);
                    self.at(every, Event::Jump);
                }
            }
        }
    }

    fn wake_sender(&mut self) {
        if !self.sending {
            self.sending = true;
            self.at(Duration::ZERO, Event::Send);
        }
    }

    /// Hands the next chunk to the bottleneck: urgent ones first, the other lanes in turn.
    fn send(&mut self) {
        if self.in_flight > self.congestion {
            self.sending = false;
            return;
        }
        self.turn += 1;
        let lanes = (0..self.path.lanes).map(|lane| 1 + (lane + self.turn) % self.path.lanes);
        let lane = std::iter::once(0).chain(lanes).find(|lane| !self.backlog[*lane].is_empty());
        let Some((lane, (read, bytes))) = lane.and_then(|lane| Some((lane, self.backlog[lane].pop_front()?)))
        else {
            self.sending = false;
            return;
        };
        let index = self.sent[lane];
        self.sent[lane] += 1;
        self.in_flight += bytes as f64;
        self.through(read, lane, index, bytes);
        let mut pause = bytes as f64 / (self.path.rate * SENDER);
        if self.path.stalls > 0.0 && self.random() < self.path.stalls * pause {
            pause += 0.15 * self.random();
        }
        self.at(Duration::from_secs_f64(pause), Event::Send);
    }

    fn through(&mut self, read: u64, lane: usize, index: u64, bytes: u64) {
        let lost = self.path.loss > 0.0 && self.random() < self.path.loss;
        let delay = self.queued(bytes);
        if delay.is_none() && self.now >= self.backed_off {
            self.congestion *= SENDER_BACK;
            self.backed_off = self.now + self.path.rtt + self.path.buffer;
        }
        match delay.filter(|_| !lost) {
            Some(delay) => {
                self.at(delay, Event::Arrive { read, lane, index, bytes });
                self.at(delay + self.path.rtt / 2, Event::Acknowledged(bytes));
            }
            None => self.at(self.path.rtt, Event::Again { read, lane, index, bytes }),
        }
    }

    /// When bytes come out of the bottleneck; `None` if there is no room for them.
    fn queued(&mut self, bytes: u64) -> Option<Duration> {
        let queue = self.free.saturating_sub(self.now);
        if queue > self.path.buffer {
            self.drops += 1;
            return None;
        }
        self.queue.0 += queue.as_secs_f64();
        self.queue.1 += 1;
        let rate = self.path.rate * (1.0 - self.path.constant);
        self.free = self.free.max(self.now) + Duration::from_secs_f64(bytes as f64 / rate);
        Some(self.free - self.now + self.path.rtt / 2)
    }

    fn other_sends(&mut self) {
        while let Some(other) = &mut self.other
            && other.outstanding < other.window
        {
            other.outstanding += CHUNK as f64;
            let half = self.path.rtt / 2;
            match self.queued(CHUNK) {
                Some(delay) => self.at(delay + half, Event::OtherArrives),
                None => {
                    self.at(2 * half, Event::OtherLost);
                    break;
                }
            }
        }
    }

    fn arrive(&mut self, read: u64, bytes: u64) {
        let now = self.instant();
        let known = self.reads.get_mut(&read).unwrap();
        if !known.began {
            known.began = true;
            self.governor.measured(self.now - known.asked, now);
        }
        self.total += bytes;
        known.left -= bytes;
        let (entry, priority, done) = (known.entry, known.priority, known.left == 0);
        self.governor.arrived(bytes, priority != Priority::Demand, now);
        if done && let Some(known) = self.reads.remove(&read) {
            if priority == Priority::Demand {
                self.latencies.push(self.now - known.asked);
            } else {
                self.readers[usize::from(entry)].open -= 1;
            }
        }
        if priority != Priority::Demand {
            self.readers[usize::from(entry)].arrived += bytes;
        }
    }
}
