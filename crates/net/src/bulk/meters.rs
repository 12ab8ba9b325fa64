//! Which transport carries bulk requests the quickest, by measurement. No I/O and no clock.
//!
//! On short ways one transport may be several times quicker than the other, and which depends on the machines. So a
//! request goes where it should be through first: what is asked for on lanes of a transport, and the request, over
//! the rate at which bytes came on them while any were asked for.

use std::time::Duration;

use tokio::time::Instant;

use crate::state::Transport;

/// A rate is taken over at least so long, unless everything asked for is there before.
const PERIOD: Duration = Duration::from_millis(50);
/// How much the newest rate counts in the mean.
const NEWEST: f64 = 0.3;
/// A rate that is older tells nothing: the next request measures it anew.
const STALE: Duration = Duration::from_secs(10);

/// Of the lanes of one transport.
#[derive(Debug, Default)]
struct Meter {
    /// Bytes asked for that have not come.
    asked: u64,
    /// Begin of the period that is measured, and the bytes that came in it.
    period: Option<(Instant, u64)>,
    /// Bytes per second, and when it was measured.
    rate: Option<(f64, Instant)>,
}

impl Meter {
    fn arrived(&mut self, bytes: u64, now: Instant) {
        self.asked = self.asked.saturating_sub(bytes);
        let Some((since, came)) = &mut self.period else { return };
        *came += bytes;
        let time = now.duration_since(*since);
        if (self.asked > 0 && time < PERIOD) || time.is_zero() {
            return;
        }
        let newest = *came as f64 / time.as_secs_f64();
        let mean = self.known(now).map_or(newest, |rate| rate + (newest - rate) * NEWEST);
        self.rate = Some((mean, now));
        self.period = (self.asked > 0).then_some((now, 0));
    }

    fn known(&self, now: Instant) -> Option<f64> {
        self.rate.filter(|(_, at)| now.duration_since(*at) < STALE).map(|(rate, _)| rate)
    }
}

/// What the transports of a session's bulk lanes do.
#[derive(Debug, Default)]
pub(super) struct Meters {
    tcp: Meter,
    quic: Meter,
}

impl Meters {
    fn of(&mut self, transport: Transport) -> &mut Meter {
        match transport {
            Transport::Tcp => &mut self.tcp,
            Transport::Quic => &mut self.quic,
        }
    }

    /// Bytes are asked for.
    pub(super) fn asked(&mut self, transport: Transport, bytes: u64, now: Instant) {
        let meter = self.of(transport);
        meter.period.get_or_insert((now, 0));
        meter.asked += bytes;
    }

    /// Bytes that were asked for are there.
    pub(super) fn arrived(&mut self, transport: Transport, bytes: u64, now: Instant) {
        self.of(transport).arrived(bytes, now);
    }

    /// Bytes that were asked for will not come.
    pub(super) fn gone(&mut self, transport: Transport, bytes: u64) {
        let meter = self.of(transport);
        meter.asked = meter.asked.saturating_sub(bytes);
        if meter.asked == 0 {
            meter.period = None;
        }
    }

    /// Where a request of so many bytes should go, if there are lanes of both transports.
    pub(super) fn quicker(&self, bytes: u64, now: Instant) -> Transport {
        let (tcp, quic) = (self.tcp.known(now), self.quic.known(now));
        // One request finds an unknown rate out; until then the lanes share alike.
        match (tcp, quic) {
            (None, Some(_)) if self.tcp.asked == 0 => return Transport::Tcp,
            (Some(_), None) if self.quic.asked == 0 => return Transport::Quic,
            (Some(_) | None, Some(_) | None) => {}
        }
        let other = tcp.or(quic).unwrap_or(1.0);
        let time =
            |meter: &Meter, rate: Option<f64>| (meter.asked + bytes) as f64 / rate.unwrap_or(other).max(1.0);
        if time(&self.quic, quic) < time(&self.tcp, tcp) { Transport::Quic } else { Transport::Tcp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: u64 = 1 << 20;

    /// Asks for requests as long as less than `window` is asked for, with the transports at those rates; gives how many
    /// requests each got in `seconds`.
    fn run(meters: &mut Meters, begin: Instant, rates: [f64; 2], window: u64, seconds: u64) -> [u64; 2] {
        let mut got = [0; 2];
        let step = Duration::from_millis(1);
        let mut debts = [0.0; 2];
        for tick in 0..seconds * 1000 {
            let now = begin + step * u32::try_from(tick).unwrap();
            while meters.tcp.asked + meters.quic.asked < window {
                let transport = meters.quicker(REQUEST, now);
                got[usize::from(transport == Transport::Quic)] += 1;
                meters.asked(transport, REQUEST, now);
            }
            for (index, transport) in [Transport::Tcp, Transport::Quic].into_iter().enumerate() {
                debts[index] += rates[index] * step.as_secs_f64();
                let bytes = (debts[index] as u64).min(meters.of(transport).asked);
                debts[index] =
                    if meters.of(transport).asked == bytes { 0.0 } else { debts[index] - bytes as f64 };
                if bytes > 0 {
                    meters.arrived(transport, bytes, now + step);
                }
            }
        }
        got
    }

    #[test]
    fn the_quicker_one_carries_most_and_the_other_is_measured_again() {
        let (mut meters, begin) = (Meters::default(), Instant::now());
        let [tcp, quic] = run(&mut meters, begin, [2e9, 0.1e9], 8 << 20, 5);
        assert!(tcp > 20 * quic && quic > 0, "{tcp} {quic}");
        // Now the other one is quicker.
        let later = begin + Duration::from_secs(60);
        let [tcp, quic] = run(&mut meters, later, [0.1e9, 2e9], 8 << 20, 30);
        assert!(quic > 10 * tcp, "{tcp} {quic}");
    }

    #[test]
    fn equals_share_alike() {
        let [tcp, quic] = run(&mut Meters::default(), Instant::now(), [1e9, 1e9], 8 << 20, 5);
        assert!(tcp.abs_diff(quic) * 10 < tcp, "{tcp} {quic}");
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let (mut meters, now) = (Meters::default(), Instant::now());
        meters.asked(Transport::Quic, REQUEST, now);
        meters.gone(Transport::Quic, REQUEST);
        assert_eq!((meters.quic.asked, meters.quic.period), (0, None));
        assert_eq!(meters.quic.known(now), None);
    }

    #[test]
    fn an_unknown_transport_gets_one_request_until_it_is_known() {
        let (mut meters, now) = (Meters::default(), Instant::now());
        meters.asked(Transport::Tcp, REQUEST, now);
        meters.arrived(Transport::Tcp, REQUEST, now + Duration::from_millis(1));
        let now = now + Duration::from_millis(2);
        assert_eq!(meters.quicker(REQUEST, now), Transport::Quic);
        meters.asked(Transport::Quic, REQUEST, now);
        assert_eq!(meters.quicker(REQUEST, now), Transport::Tcp);
        let stale = now + STALE;
        meters.arrived(Transport::Quic, REQUEST, stale);
        assert_eq!(meters.quicker(REQUEST, stale), Transport::Tcp, "measured again");
    }
}
