//! Which answer on a lane goes on next.
//!
//! What was asked first is answered first: whoever reads in order needs it first, and the next answer has its bytes ready
//! meanwhile. No more than that are under way, so bulk answers leave the disk to urgent ones; but one whose disk does not
//! answer makes room for another.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};

/// Answers under way, unless some are stuck.
const AT_ONCE: usize = 2;
/// An answer that had nothing for so long is stuck, until it has.
const STUCK: Duration = Duration::from_millis(200);

struct Answer<T> {
    parts: BoxStream<'static, T>,
    /// When it last had something.
    since: Instant,
}

/// The answers on one lane. Never at an end: without any it waits.
pub(super) struct Answers<T> {
    under_way: Vec<Answer<T>>,
    waiting: VecDeque<BoxStream<'static, T>>,
    /// Answers that are one part, and there already.
    ready: VecDeque<T>,
    stuck: Pin<Box<Sleep>>,
}

impl<T> Answers<T> {
    pub(super) fn new() -> Self {
        let stuck = Box::pin(sleep_until(Instant::now()));
        Self { under_way: Vec::new(), waiting: VecDeque::new(), ready: VecDeque::new(), stuck }
    }

    pub(super) fn push(&mut self, parts: BoxStream<'static, T>) {
        self.waiting.push_back(parts);
    }

    /// A whole answer that is there already, as a refusal is.
    pub(super) fn push_ready(&mut self, part: T) {
        self.ready.push_back(part);
    }

    /// The next part of the oldest answer that has one.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        if let Some(part) = self.ready.pop_front() {
            return Poll::Ready(part);
        }
        let mut index = 0;
        loop {
            while let Some(answer) = self.under_way.get_mut(index) {
                match answer.parts.poll_next_unpin(cx) {
                    Poll::Ready(Some(part)) => {
                        answer.since = Instant::now();
                        return Poll::Ready(part);
                    }
                    Poll::Ready(None) => {
                        self.under_way.remove(index);
                    }
                    Poll::Pending => index += 1,
                }
            }
            if self.waiting.is_empty() {
                return Poll::Pending;
            }
            let now = Instant::now();
            let busy: Vec<Instant> = self
                .under_way
                .iter()
                .map(|answer| answer.since + STUCK)
                .filter(|stuck| *stuck > now)
                .collect();
            if let Some(first) = busy.iter().min()
                && busy.len() >= AT_ONCE
            {
                self.stuck.as_mut().reset(*first);
                if self.stuck.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
            self.under_way.extend(self.waiting.pop_front().map(|parts| Answer { parts, since: now }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;
    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// An answer of two parts, each after a time.
    fn answer(number: u32, time: u64) -> BoxStream<'static, u32> {
        let wait = Duration::from_millis(time);
        stream::iter([number; 2]).then(move |number| sleep(wait).map(move |()| number)).boxed()
    }

    async fn take(answers: &mut Answers<u32>, count: usize) -> Vec<u32> {
        let mut got = Vec::new();
        for _ in 0..count {
            got.push(poll_fn(|cx| answers.poll_next(cx)).await);
        }
        got
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_asked_first_is_answered_first() {
        let mut answers = Answers::new();
        (0..5).for_each(|number| answers.push(stream::iter([number; 3]).boxed()));
        assert_eq!(take(&mut answers, 15).await, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
        assert!(poll_fn(|cx| answers.poll_next(cx)).now_or_never().is_none());
        answers.push(stream::iter([7]).boxed());
        answers.push_ready(8);
        assert_eq!(take(&mut answers, 2).await, [8, 7]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_one_is_made_ready_meanwhile_and_no_more() {
        let mut answers = Answers::new();
        (0..4).for_each(|number| answers.push(answer(number, 10)));
        let begin = Instant::now();
        assert_eq!(take(&mut answers, 4).await, [0, 1, 0, 1]);
        assert_eq!(begin.elapsed().as_millis(), 20);
        assert_eq!(answers.waiting.len(), 2);
        assert_eq!(take(&mut answers, 4).await, [2, 3, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_does_not_answer_holds_up_its_own_answers_only() {
        let mut answers = Answers::new();
        for _ in 0..3 {
            answers.push(stream::pending().boxed());
        }
        answers.push(answer(9, 1));
        let begin = Instant::now();
        assert_eq!(take(&mut answers, 2).await, [9, 9]);
        assert!(begin.elapsed() < 3 * STUCK, "{:?}", begin.elapsed());
    }
}
