//! The task that keeps one share's part of the catalog true.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::core::Core;
use super::round::Work;
use super::scan::{self, Outcome};
use super::signal::Signal;
use crate::CatalogError;

/// Marks are gathered until none came for so long.
const GATHER: Duration = Duration::from_millis(100);
/// The longest that they are gathered, where scans take long and marks do not end.
const GATHER_MOST: Duration = Duration::from_secs(2);
/// How often the root is looked at: an unmount is not notified.
const LOOK: Duration = Duration::from_secs(5);
/// How often everything is scanned although notifications work, because they are hints.
const WHOLE: Duration = Duration::from_secs(600);
/// How often where they do not.
const WHOLE_POLLED: Duration = Duration::from_secs(60);
/// Scans of everything take at most this part of the time.
const WHOLE_PART: u32 = 20;
/// How long to wait after a failure of the catalog.
const FAILED: Duration = Duration::from_secs(5);

/// Keeps the catalog true until the share or the home ends.
pub(crate) async fn keep(core: Arc<Core>, share: i64, root: i64, signal: Arc<Signal>) {
    let mut keeper =
        Keeper { core, share, root, signal, work: Work::default(), times: Times::new(Instant::now()) };
    let cancel = keeper.signal.cancel.clone();
    cancel.run_until_cancelled(keeper.run()).await;
}

struct Keeper {
    core: Arc<Core>,
    share: i64,
    root: i64,
    signal: Arc<Signal>,
    work: Work,
    times: Times,
}

impl Keeper {
    async fn run(&mut self) {
        self.work.scan_everything(self.root);
        loop {
            if self.work.is_empty() {
                tokio::select! {
                    () = self.signal.marked.notified() => self.gather().await,
                    () = sleep_until(self.times.next()) => {}
                }
            }
            self.work.take(self.signal.take(), self.root);
            let started = Instant::now();
            if self.times.again.is_some_and(|again| again <= started) {
                self.times.again = None;
                self.work.again = true;
            }
            if self.times.whole <= started {
                self.times.whole = started + WHOLE;
                if self.work.whole.is_none() {
                    self.work.scan_everything(self.root);
                }
            }
            let whole = self.work.whole.is_some();
            match self.step().await {
                Some(outcome) if outcome.ended => return,
                Some(outcome) => {
                    self.plan(&outcome, started, whole);
                    if outcome.rest {
                        sleep(GATHER).await;
                    }
                }
                None => sleep(FAILED).await,
            }
        }
    }

    /// Lets marks come together, for longer where scanning them takes long.
    async fn gather(&self) {
        gather(&self.signal, (self.times.spent * 2).clamp(GATHER, GATHER_MOST)).await;
    }

    async fn step(&mut self) -> Option<Outcome> {
        let core = self.core.clone();
        let share = self.share;
        let mut work = std::mem::take(&mut self.work);
        let done = self.core.tasks.spawn_blocking(move || {
            let outcome = scan::step(&core, share, &mut work);
            (work, outcome)
        });
        match done.await {
            Ok((work, Ok(outcome))) => {
                self.work = work;
                return Some(outcome);
            }
            Ok((_, Err(CatalogError::Closed))) => return Some(Outcome { ended: true, ..Outcome::default() }),
            Ok((_, Err(error))) => tracing::error!(%error, "a share could not be scanned"),
            Err(error) => tracing::error!(%error, "the scan of a share broke off"),
        }
        self.work.scan_everything(self.root);
        None
    }

    fn plan(&mut self, outcome: &Outcome, started: Instant, whole: bool) {
        let now = Instant::now();
        let times = &mut self.times;
        times.look = now + LOOK;
        times.spent = now - started;
        if let Some(after) = outcome.again_after {
            times.again = Some(now + after.max(GATHER));
        }
        if whole {
            times.whole_spent += times.spent;
            if self.work.whole.is_none() {
                let usual = if self.signal.failure().is_some() { WHOLE_POLLED } else { WHOLE };
                times.whole = now + usual.max(times.whole_spent * WHOLE_PART);
                times.whole_spent = Duration::ZERO;
            }
        }
    }
}

/// Waits until nothing more is marked, at most for `most`, unless somebody waits: the end of many changes is seen soon,
/// and changes without an end are scanned now and then.
async fn gather(signal: &Signal, most: Duration) {
    let quiet = async {
        loop {
            sleep(GATHER).await;
            if signal.marked.notified().now_or_never().is_none() {
                return;
            }
        }
    };
    tokio::select! {
        () = quiet => {}
        () = sleep(most) => {}
        () = signal.urgent.notified() => {}
    }
}

/// When to do what.
struct Times {
    look: Instant,
    whole: Instant,
    again: Option<Instant>,
    /// What the last step took.
    spent: Duration,
    /// What the steps of a scan of everything took.
    whole_spent: Duration,
}

impl Times {
    fn new(now: Instant) -> Self {
        Self {
            look: now,
            whole: now + WHOLE,
            again: None,
            spent: Duration::ZERO,
            whole_spent: Duration::ZERO,
        }
    }

    fn next(&self) -> Instant {
        let next = self.look.min(self.whole);
        self.again.map_or(next, |again| next.min(again))
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// How long is gathered if something is marked every 50 ms for so long.
    async fn gathered(marked_for: Duration, most: Duration) -> Duration {
        let signal = Signal::new(CancellationToken::new());
        let start = Instant::now();
        let marking = async {
            while start.elapsed() < marked_for {
                signal.mark(1);
                sleep(Duration::from_millis(50)).await;
            }
            std::future::pending().await
        };
        tokio::select! {
            () = marking => {}
            () = gather(&signal, most) => {}
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_many_changes_is_waited_for_and_no_longer() {
        let most = Duration::from_secs(2);
        let once = gathered(Duration::from_millis(1), most).await;
        assert!(once <= 2 * GATHER, "{once:?}");
        let burst = gathered(Duration::from_secs(1), most).await;
        assert!(burst >= Duration::from_secs(1) && burst <= Duration::from_secs(1) + 2 * GATHER, "{burst:?}");
        assert_eq!(gathered(Duration::MAX, most).await, most);
        assert_eq!(gathered(Duration::MAX, GATHER).await, GATHER);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_not_kept_waiting() {
        let signal = Signal::new(CancellationToken::new());
        let start = Instant::now();
        signal.urgent.notify_one();
        gather(&signal, GATHER_MOST).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
