//! What the two programs do when their lifecycles ask for it: posts, dials, handshakes, sessions.

use super::*;

impl Network {
    pub(super) fn post(&mut self, side: usize) {
        if let (false, Some(post)) = (self.cut, self.programs[side].post) {
            self.post_ends[side] = Some(self.now + POST_LIFE);
            self.later(side, POST_LIFE, Arrival::PostEnds);
            self.send(1 - side, self.trip, Arrival::Seen(post));
        }
    }

    pub(super) fn act(&mut self, side: usize, effect: Effect) {
        match effect {
            Effect::Post(post) => {
                self.programs[side].post = Some(post);
                self.post(side);
            }
            Effect::Dial(dial, target) => {
                self.dialled += 1;
                self.programs[side].dials.insert(dial);
                match target {
                    Target::Direct { candidate, .. } => {
                        let dead = candidate.address == DEAD.parse().unwrap();
                        self.dial_direct(side, dial, (!dead).then_some(target.grade()));
                    }
                    Target::Punched { .. } => self.dial_direct(side, dial, Some(target.grade())),
                    Target::Bridged { number, .. } => self.dial_bridge(side, dial, number, target.grade()),
                }
            }
            Effect::DropDial(dial) => {
                self.programs[side].dials.remove(&dial);
                self.parked.retain(|_, (who, _, of)| *who != side || *of != dial);
            }
            Effect::Punch(plan) => {
                self.programs[side].punching = plan;
                self.later(0, self.trip, Arrival::Punch);
            }
            Effect::Adopt { leg, session, grade: _, number } => {
                self.programs[side].legs.insert(session, leg.0);
                let said = match side {
                    0 => Arrival::Nomination { leg: leg.0, number },
                    _ => Arrival::Settled { leg: leg.0, number },
                };
                self.send(1 - side, self.trip / 2, said);
                self.later(side, self.trip, Arrival::Measured { leg: leg.0 });
                // In case the other side never comes to have it.
                self.later(side, SILENT_AFTER, Arrival::Silence { leg: leg.0 });
            }
            Effect::Discard(leg) => self.turn_down(side, leg, false),
            Effect::Refuse(leg) => self.turn_down(side, leg, true),
            Effect::Retire(session) => self.part(side, session, Some(Goodbye::Replaced)),
            Effect::End(session, goodbye) => self.part(side, session, goodbye),
        }
    }

    fn part(&mut self, side: usize, session: SessionId, goodbye: Option<Goodbye>) {
        if let Some(leg) = self.programs[side].legs.remove(&session) {
            let arrival = match goodbye {
                Some(goodbye) => Arrival::Goodbye { leg, goodbye },
                None => Arrival::Closed { leg },
            };
            let linger = if goodbye == Some(Goodbye::Replaced) { LINGER } else { Duration::ZERO };
            self.send(1 - side, linger + self.trip / 2, arrival);
        }
    }

    fn turn_down(&mut self, side: usize, LegId(leg): LegId, refused: bool) {
        let said = match (side, refused) {
            (0, refused) => Arrival::Discarded { leg, refused },
            (_, true) => Arrival::Goodbye { leg, goodbye: Goodbye::Refused },
            (_, false) => Arrival::Closed { leg },
        };
        self.send(1 - side, self.trip / 2, said);
    }

    fn dial_direct(&mut self, side: usize, dial: DialId, grade: Option<Grade>) {
        let grade = grade.filter(|grade| self.reachable.contains(grade));
        match grade.filter(|_| !self.cut && self.programs[1 - side].alive) {
            None => self.later(side, DIAL_WITHIN, Arrival::Failed { dial, met: false }),
            Some(grade) => {
                let dial_of_one = (side == 1).then_some(dial);
                self.authenticate(side, dial, Leg { grade, dial_of_one }, self.direct_delay + self.trip);
            }
        }
    }

    fn dial_bridge(&mut self, side: usize, dial: DialId, number: u32, grade: Grade) {
        if self.cut || !self.reachable.contains(&grade) {
            return self.later(side, DIAL_WITHIN, Arrival::Failed { dial, met: false });
        }
        let Some((zero, one)) = self.lives[side].nonces() else { return };
        match self.parked.remove(&(zero, one, number)) {
            Some((other, run, other_dial)) if other != side && self.programs[other].run == run => {
                let (dial, dial_of_one) = if side == 0 { (dial, other_dial) } else { (other_dial, dial) };
                let leg = Leg { grade, dial_of_one: Some(dial_of_one) };
                self.authenticate(0, dial, leg, self.trip);
            }
            Some(_) | None => {
                self.parked.insert((zero, one, number), (side, self.programs[side].run, dial));
            }
        }
    }

    /// A leg whose handshake begins after `after` and takes a round trip; `side` initiates.
    fn authenticate(&mut self, side: usize, dial: DialId, leg: Leg, after: Duration) {
        self.next += 1;
        let id = self.next;
        self.legs.insert(id, leg);
        if side == 0 {
            self.send(0, after + self.trip, Arrival::Authenticated { leg: id, dial });
        } else {
            let number = self.lives[1].number();
            self.send(0, after + self.trip * 3 / 2, Arrival::Attempt { leg: id, number });
        }
        // Lost on the way, or never decided.
        self.later(
            0,
            after + seconds(5),
            Arrival::Failed {
                dial: if side == 0 { dial } else { DialId(0) },
                met: leg.grade != RELAYED_QUIC,
            },
        );
        if let Some(dial) = leg.dial_of_one {
            let met = leg.grade != RELAYED_QUIC;
            self.later(1, after + NOMINATED_WITHIN, Arrival::Failed { dial, met });
        }
    }
}
