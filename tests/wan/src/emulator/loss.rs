//! Which packets a path loses.

use fastrand::Rng;

/// How a path loses packets. Shares are of all packets, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// Never.
    #[default]
    None,
    /// Each with the same chance.
    Random {
        /// Part of all packets.
        share: f64,
    },
    /// In bursts: Gilbert's two-state chain that loses every packet in its bad state (the Gilbert-Elliott model with
    /// loss 0 in the good state and 1 in the bad one).
    Bursts {
        /// Part of all packets in the long run, below 1.
        share: f64,
        /// Mean length of a burst in packets, at least 1.
        length: f64,
    },
}

/// Where a direction of a path is in its bursts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossState {
    bad: bool,
}

impl LossState {
    /// Whether the next packet is lost.
    pub(super) fn drops(&mut self, loss: Loss, rng: &mut Rng) -> bool {
        match loss {
            Loss::None => false,
            Loss::Random { share } => rng.f64() < share,
            Loss::Bursts { share, length } => {
                // The chain is bad for `share` of the time if it leaves with 1/length and enters with
                // share / (length * (1 - share)).
                let leave = 1.0 / length;
                let enter = share * leave / (1.0 - share);
                self.bad = if self.bad { rng.f64() >= leave } else { rng.f64() < enter };
                self.bad
            }
        }
    }
}
