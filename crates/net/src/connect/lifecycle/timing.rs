//! When attempts start and end.

use tokio::time::Instant;

use super::{
    ATTEMPT, Attempt, Effect, Interruption, Lifecycle, Link, Moment, MyPost, PUNCHED, PunchPlan, RENEW,
    RETRY, RETRY_MOST, Relay, SILENT_GRACE,
};
use crate::connect::grade::Grade;
use crate::connect::race::{DialId, Race, Step};
use crate::state::{OfflineReason, Path};

impl Lifecycle {
    /// When [`Event::Time`](super::Event::Time) is to be handed in.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let grace = match self.link {
            Link::Up { silent: Some(interruption), .. } | Link::Cut { interruption, .. } => {
                Some(interruption.until)
            }
            Link::Up { silent: None, .. } | Link::Offline { .. } => None,
        };
        let attempt = self.attempt.iter().flat_map(|attempt| {
            let renew = self.wanting().then_some(attempt.renew);
            [attempt.ends, renew, attempt.race.deadline()].into_iter().flatten()
        });
        grace.into_iter().chain(self.retry).chain(attempt).min()
    }

    /// Brings everything in line with what is now so.
    pub(super) fn settle(&mut self, at: &Moment) {
        self.pass_grace(at);
        self.pass_attempt(at);
        self.begin(at);
        self.meet(at);
        self.say();
        self.punch();
        self.run_race(at);
    }

    /// Wants a session again, as if for the first time: something has changed that may make it possible.
    pub(super) fn try_anew(&mut self, at: &Moment) {
        if !self.wanting() {
            return;
        }
        self.failures = 0;
        let shown = self.attempt.as_ref().is_some_and(|attempt| attempt.shown);
        self.start_own(shown, at);
    }

    /// Something has changed that may make a better session possible.
    pub(super) fn hasten(&mut self, at: &Moment) {
        if let Some(attempt) = &mut self.attempt {
            attempt.race.hasten(at.now);
        }
    }

    /// A session stands: from now on only better legs are of use.
    pub(super) fn better(&mut self, at: &Moment) {
        let Link::Up { session, silent: None } = &self.link else { return };
        let grade = session.bar();
        if grade >= Grade::BEST {
            self.drop_attempt();
            return;
        }
        let attempt = self.attempt.get_or_insert_with(|| Attempt {
            race: Race::default(),
            ends: None,
            renew: at.now + RENEW,
            shown: false,
            pair: None,
        });
        attempt.ends = None;
        attempt.race.only_above(grade);
    }

    /// Starts an attempt of our own, unless it would lead nowhere.
    pub(super) fn start_own(&mut self, shown: bool, at: &Moment) {
        self.retry = None;
        self.renew(at);
        if self.blocked().is_some() {
            self.give_up();
        } else {
            self.start(shown, at);
        }
    }

    pub(super) fn drop_attempt(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.effects.extend(attempt.race.end().into_iter().map(Effect::DropDial));
        }
    }

    /// A number above every one before it.
    pub(super) fn next_number(&mut self, at: &Moment) -> u64 {
        self.number = at.unix_milliseconds.max(self.number.saturating_add(1));
        self.number
    }

    /// Starts an attempt, or the one under way anew.
    fn start(&mut self, shown: bool, at: &Moment) {
        let (ends, renew) = (Some(at.now + ATTEMPT), at.now + RENEW);
        let mut race = self.attempt.take().map_or_else(Race::default, |attempt| attempt.race);
        race.unbridge();
        race.reopen(at.now);
        self.attempt = Some(Attempt { race, ends, renew, shown, pair: None });
    }

    fn renew(&mut self, at: &Moment) {
        self.nonce = at.fresh;
        self.next_number(at);
    }

    fn pass_grace(&mut self, at: &Moment) {
        let relay_lost = self.relay == Relay::Lost;
        let (Link::Up { silent: Some(interruption), .. } | Link::Cut { interruption, .. }) = &mut self.link
        else {
            return;
        };
        let Interruption { since, until, reason, path } = interruption;
        if at.now < *until {
            return;
        }
        // The relay closes its legs when it stops, and nobody can come back before it does.
        let longest = *since + SILENT_GRACE;
        if *path == Path::Relayed && relay_lost && at.now < longest {
            *until = longest;
            return;
        }
        let reason = if self.present == Some(false) { OfflineReason::Absent } else { *reason };
        self.end(reason, None);
        self.retry_later(at);
    }

    fn pass_attempt(&mut self, at: &Moment) {
        let (wanting, healthy, doubtful) = (self.wanting(), self.healthy(), self.doubtful());
        let Some(attempt) = &mut self.attempt else { return };
        if healthy {
            if !doubtful || attempt.ends.is_none_or(|ends| at.now >= ends) {
                self.better(at);
            }
            return;
        }
        let ends = *attempt.ends.get_or_insert(at.now + ATTEMPT);
        if at.now >= ends {
            match self.link {
                // The grace says when it ends.
                Link::Up { .. } | Link::Cut { .. } => attempt.ends = Some(at.now + ATTEMPT),
                Link::Offline { .. } => {
                    self.give_up();
                    self.retry_later(at);
                }
            }
        } else if wanting && at.now >= attempt.renew {
            attempt.renew = at.now + RENEW;
            self.renew(at);
        } else if self.blocked().is_some() {
            self.give_up();
        }
    }

    /// The attempt leads nowhere.
    fn give_up(&mut self) {
        let shown = self.attempt.as_ref().is_none_or(|attempt| attempt.shown);
        self.drop_attempt();
        let blocked = self.blocked();
        let Link::Offline { reason } = &mut self.link else { return };
        *reason = match blocked {
            // Its goodbye said so before its post.
            Some(OfflineReason::Refused) if *reason == OfflineReason::PeerDisconnected && !shown => return,
            Some(why) => why,
            None if !shown => return,
            None if self.relay == Relay::NotReached => OfflineReason::RelayUnreachable,
            None => OfflineReason::Unreachable,
        };
    }

    fn retry_later(&mut self, at: &Moment) {
        if self.wanting() {
            let pause = RETRY.saturating_mul(1 + self.failures).min(RETRY_MOST);
            self.failures = self.failures.saturating_add(1);
            self.retry = Some(at.now + pause);
        }
    }

    /// Starts or joins an attempt that is due.
    fn begin(&mut self, at: &Moment) {
        if self.blocked().is_some() {
            // Whatever lifts it is a reason to try at once.
            self.retry = None;
            return;
        }
        let doubtful = self.doubtful();
        if let Some(post) = &self.post
            && post.want
            && post.attempt > self.joined
            && (!self.healthy() || doubtful)
        {
            self.joined = post.attempt;
            self.retry = None;
            match &mut self.attempt {
                // Legs through the relay follow the nonces.
                Some(attempt) => {
                    attempt.ends = Some(at.now + ATTEMPT);
                    attempt.race.reopen(at.now);
                }
                None => self.start(true, at),
            }
        }
        let due = match self.retry {
            Some(due) => at.now >= due,
            None => self.attempt.is_none(),
        };
        if due && self.wanting() {
            self.start_own(false, at);
        }
    }

    /// Keeps the candidates and the legs through the relay in step with the posts.
    fn meet(&mut self, at: &Moment) {
        let nonces = self.nonces();
        let (Some(attempt), Some(post)) = (&mut self.attempt, &self.post) else { return };
        attempt.race.set_candidates(&post.candidates, at.now);
        let pair = nonces.filter(|_| self.present == Some(true));
        if attempt.pair != pair {
            attempt.pair = pair;
            match pair {
                Some(_) => attempt.race.rebridge(at.now),
                None => attempt.race.unbridge(),
            }
        }
    }

    /// Keeps what is punched in step with the attempt.
    fn punch(&mut self) {
        let plan = self.attempt.as_ref().zip(self.post.as_ref()).and_then(|(attempt, post)| {
            let of_use = attempt.race.wants(PUNCHED) && !post.punchable.is_empty();
            let nonces = attempt.pair.filter(|_| of_use)?;
            Some(PunchPlan { nonces, addresses: post.punchable.clone() })
        });
        if self.punching != plan {
            self.punching.clone_from(&plan);
            self.effects.push_back(Effect::Punch(plan));
        }
    }

    fn say(&mut self) {
        let post = MyPost {
            nonce: self.nonce,
            want: self.wanting(),
            refuse: self.intent == super::Intent::Disconnected,
            attempt: self.number,
        };
        if self.posted != Some(post) {
            self.posted = Some(post);
            self.effects.push_back(Effect::Post(post));
        }
    }

    fn run_race(&mut self, at: &Moment) {
        let Some(attempt) = &mut self.attempt else { return };
        let last = &mut self.last_dial;
        while let Some(step) = attempt.race.step(at.now, || {
            *last += 1;
            DialId(*last)
        }) {
            self.effects.push_back(match step {
                Step::Dial(id, target) => Effect::Dial(id, target),
                Step::Drop(id) => Effect::DropDial(id),
            });
        }
    }
}
