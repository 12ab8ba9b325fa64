//! A source in memory that fails as told.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{BlockSource, ContentKey, FETCH_BYTES, FetchError, Fetched, Urgency};

/// What the source has at `offset` of a content: nothing repeats, within it or between versions.
pub(crate) fn content(key: &ContentKey, offset: u64, length: usize) -> Vec<u8> {
    let seed = (u64::from(key.entry[0]) << 48) ^ (key.epoch << 32) ^ key.counter;
    (offset..offset + length as u64)
        .map(|at| {
            let mut word = seed ^ (at / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            word = (word ^ (word >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (word >> (8 * (at % 8))) as u8
        })
        .collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) key: ContentKey,
    pub(crate) range: Range<u64>,
    pub(crate) urgency: Urgency,
}

/// How a request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As asked, or of the newest version if that asked for is gone.
    Right,
    /// Not at all.
    Error(FetchError),
    /// This follows so many bytes.
    ErrorAfter(u64, FetchError),
    /// Nothing follows so many bytes, not even the end.
    HangAfter(u64),
    /// So many bytes come instead of those announced.
    Length(u64),
    /// What is announced, and what comes, is this.
    Announce(ContentKey, u64, u64),
    /// The task panics.
    Panic,
}

type Script = Box<dyn FnMut(&Request) -> Answer + Send>;

pub(crate) struct TestSource {
    newest: Mutex<HashMap<[u8; 16], (ContentKey, u64)>>,
    requests: Mutex<Vec<Request>>,
    raised: Mutex<Vec<(Range<u64>, CancellationToken)>>,
    script: Mutex<Script>,
    pub(crate) piece: usize,
    pub(crate) latency: Duration,
    link: Arc<Link>,
    open: Arc<()>,
}

/// What all answers share.
#[derive(Default)]
struct Link {
    /// Time that a MiB takes.
    per_mib: Duration,
    free: Mutex<Option<Instant>>,
    sent: AtomicU64,
}

impl Link {
    async fn carry(&self, bytes: usize) {
        if !self.per_mib.is_zero() {
            let until = {
                let now = Instant::now();
                let mut free = self.free.lock().unwrap();
                let until = free.unwrap_or(now).max(now) + self.per_mib.mul_f64(bytes as f64 / 1_048_576.0);
                *free = Some(until);
                until
            };
            sleep_until(until).await;
        }
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl TestSource {
    pub(crate) fn new(entries: impl IntoIterator<Item = (ContentKey, u64)>) -> Self {
        let newest = entries.into_iter().map(|(key, size)| (key.entry, (key, size))).collect();
        Self {
            newest: Mutex::new(newest),
            requests: Mutex::default(),
            raised: Mutex::default(),
            script: Mutex::new(Box::new(|_| Answer::Right)),
            piece: 100_000,
            latency: Duration::ZERO,
            link: Arc::default(),
            open: Arc::new(()),
        }
    }

    /// Answers begin after `latency`, and share a link on which a MiB takes `per_mib`.
    pub(crate) fn far(mut self, latency: Duration, per_mib: Duration) -> Self {
        self.latency = latency;
        self.link = Arc::new(Link { per_mib, ..Link::default() });
        self
    }

    pub(crate) fn newest(&self, entry: u8) -> (ContentKey, u64) {
        self.newest.lock().unwrap()[&[entry; 16]]
    }

    pub(crate) fn publish(&self, key: ContentKey, size: u64) {
        self.newest.lock().unwrap().insert(key.entry, (key, size));
    }

    pub(crate) fn script(&self, script: impl FnMut(&Request) -> Answer + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    /// Requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    /// The ranges of all requests for which somebody came to wait after they were made.
    pub(crate) fn raised(&self) -> Vec<Range<u64>> {
        let raised = self.raised.lock().unwrap();
        raised.iter().filter(|(_, raised)| raised.is_cancelled()).map(|(range, _)| range.clone()).collect()
    }

    /// Bytes handed out.
    pub(crate) fn sent(&self) -> u64 {
        self.link.sent.load(Ordering::Relaxed)
    }

    /// Requests that were neither answered to their end nor dropped.
    pub(crate) fn open(&self) -> usize {
        Arc::strong_count(&self.open) - 1
    }
}

#[async_trait]
impl BlockSource for TestSource {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        urgency: Urgency,
        raised: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let open = Arc::clone(&self.open);
        assert_eq!(range.start % crate::BLOCK_BYTES, 0);
        assert!(!range.is_empty() && range.end - range.start <= FETCH_BYTES);
        let request = Request { key, range: range.clone(), urgency };
        self.raised.lock().unwrap().push((range.clone(), raised));
        let answer = (self.script.lock().unwrap())(&request);
        self.requests.lock().unwrap().push(request);
        sleep(self.latency).await;
        let (key, size) = *self.newest.lock().unwrap().get(&key.entry).ok_or(FetchError::NotFound)?;
        let length = range.end.min(size).saturating_sub(range.start);
        let (comes, after) = match answer {
            Answer::Right => (length, None),
            Answer::Error(error) => return Err(error),
            Answer::ErrorAfter(comes, error) => (comes.min(length), Some(Some(error))),
            Answer::HangAfter(comes) => (comes.min(length), Some(None)),
            Answer::Length(comes) => (comes, None),
            Answer::Announce(key, size, length) => {
                let data = Bytes::from(content(&key, range.start, length as usize));
                let data = stream::iter([Ok(data)]).boxed();
                return Ok(Fetched { key, size, length, data });
            }
            Answer::Panic => panic!("told to"),
        };
        let pieces: Vec<Bytes> = (0..comes)
            .step_by(self.piece)
            .map(|at| {
                let length = self.piece.min((comes - at) as usize);
                content(&key, range.start + at, length).into()
            })
            .collect();
        let state = (pieces.into_iter(), after, Arc::clone(&self.link), open);
        let data = stream::unfold(state, |(mut pieces, after, link, open)| async {
            match (pieces.next(), after) {
                (Some(piece), after) => {
                    link.carry(piece.len()).await;
                    Some((Ok(piece), (pieces, after, link, open)))
                }
                (None, None) => None,
                (None, Some(Some(error))) => Some((Err(error), (pieces, None, link, open))),
                (None, Some(None)) => std::future::pending().await,
            }
        });
        Ok(Fetched { key, size, length, data: data.boxed() })
    }
}
