//! One round of a pairing, on one authenticated leg.

use std::time::Duration;

use farhold_secure::words::{BrokenCommitment, Words};
use farhold_secure::{PairSecret, RandomError, Side};
use tokio::time::{error::Elapsed, timeout};

use crate::control::{ControlChannel, ControlError, Message, PairingStep};
use crate::leg::Leg;

/// How long the other side has for a step.
const STEP_WITHIN: Duration = Duration::from_secs(10);
/// How long either side has to store the contact.
const STORED_WITHIN: Duration = Duration::from_secs(30);

/// Why a round broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoundError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the leg is not one for pairing")]
    NoKeys,
    #[error("the other side took too long")]
    TimedOut,
    #[error(transparent)]
    Commitment(#[from] BrokenCommitment),
    #[error("the contact was not stored")]
    NotStored,
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl From<Elapsed> for RoundError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// What both sides agreed on.
pub(super) struct Secret {
    pub(super) secret: PairSecret,
    pub(super) words: Words,
}

/// A round after the agreement.
pub(super) struct Round(ControlChannel);

/// Commits, contributes, reveals: both sides come to the same words unless somebody sits between them.
pub(super) async fn agree(leg: Leg, side: Side) -> Result<(Round, Secret), RoundError> {
    let Leg { channel, pairing, .. } = leg;
    let keys = pairing.ok_or(RoundError::NoKeys)?;
    let mut round = Round(channel);
    let words = match side {
        Side::Zero => {
            let (committed, commitment) = keys.words.commit()?;
            round.say(PairingStep::Commitment(commitment)).await?;
            let PairingStep::Contribution(contribution) = round.hear().await? else {
                return Err(out_of_turn());
            };
            let (words, reveal) = committed.reveal(&contribution);
            round.say(PairingStep::Reveal(reveal)).await?;
            words
        }
        Side::One => {
            let PairingStep::Commitment(commitment) = round.hear().await? else { return Err(out_of_turn()) };
            let (contributed, contribution) = keys.words.contribute(commitment)?;
            round.say(PairingStep::Contribution(contribution)).await?;
            let PairingStep::Reveal(reveal) = round.hear().await? else { return Err(out_of_turn()) };
            contributed.check(&reveal)?
        }
    };
    Ok((round, Secret { secret: keys.secret, words }))
}

fn out_of_turn() -> RoundError {
    ControlError::OutOfTurn.into()
}

impl Round {
    /// Tells the other side once the contact is stored here, and waits until it has told the same.
    pub(super) async fn confirm(&mut self, stored: impl Future<Output = bool>) -> Result<(), RoundError> {
        if !timeout(STORED_WITHIN, stored).await? {
            return Err(RoundError::NotStored);
        }
        self.say(PairingStep::Stored).await?;
        let Message::Pairing(PairingStep::Stored) = timeout(STORED_WITHIN, self.0.receive()).await?? else {
            return Err(out_of_turn());
        };
        // What is left to say is said; a close that does not get through loses nothing.
        let _ = timeout(STEP_WITHIN, self.0.close()).await;
        Ok(())
    }

    async fn say(&mut self, step: PairingStep) -> Result<(), RoundError> {
        self.0.send(Message::Pairing(step))?;
        Ok(timeout(STEP_WITHIN, self.0.flush()).await??)
    }

    async fn hear(&mut self) -> Result<PairingStep, RoundError> {
        let Message::Pairing(step) = timeout(STEP_WITHIN, self.0.receive()).await?? else {
            return Err(out_of_turn());
        };
        Ok(step)
    }
}
