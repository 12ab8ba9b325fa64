//! The fresh hybrid exchange that heals a long session after a compromise.
//!
//! Over the control lane side zero offers, side one answers, side zero confirms; one exchange at a time. The secret
//! depends on both messages. Side zero mixes it into its sending keys after the answer, side one after the confirm:
//! by then the other side knows it. Each lane does so at its own next record (see [`crate::record`]).

use std::fmt;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha512};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use crate::kdf::Key;
use crate::mlkem::{self, EncapsulationError};
use crate::random::{self, RandomError};
use crate::session::SessionKeys;
use crate::side::Side;

/// How long after the last exchange, or the start of the session, the next is due.
pub const EXCHANGE_EVERY: Duration = Duration::from_secs(600);
/// How long side zero waits for an answer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// How soon after the last exchange, or the start of the session, side one takes an offer: far before it is due, and
/// seldom enough that a peer cannot keep it busy with key exchanges.
pub const OFFERS_APART: Duration = Duration::from_secs(60);

/// Side zero's fresh public keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeOffer {
    /// Number of the exchange: 1, 2, ...
    pub exchange: u32,
    /// X25519 public key.
    pub x25519: [u8; 32],
    /// ML-KEM-1024 encapsulation key.
    pub mlkem: Box<[u8; mlkem::PUBLIC_BYTES]>,
}

/// Side one's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeAnswer {
    /// Number of the exchange.
    pub exchange: u32,
    /// X25519 public key.
    pub x25519: [u8; 32],
    /// ML-KEM-1024 ciphertext.
    pub mlkem: Box<[u8; mlkem::CIPHERTEXT_BYTES]>,
}

/// Why the session must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// A message that this side does not expect now, or of another exchange.
    #[error("an exchange message came out of turn")]
    OutOfTurn,
    /// An offer within [`OFFERS_APART`] of the last exchange.
    #[error("the peer began an exchange too soon")]
    TooSoon,
    /// An X25519 key of low order.
    #[error("the peer's X25519 key is a point of low order")]
    LowOrder,
    /// A malformed encapsulation key.
    #[error("the peer's ML-KEM key is malformed")]
    MlKem,
    /// No answer within [`ANSWER_WITHIN`].
    #[error("the peer did not answer an exchange")]
    TimedOut,
    /// No random numbers.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// The exchanges of one session, at either side.
pub struct Exchange {
    session: SessionKeys,
    /// Number of the last exchange begun.
    last: u32,
    /// When the last one ended, at side one when it was answered.
    since: Instant,
    state: State,
}

enum State {
    Idle,
    Offered { x25519: StaticSecret, mlkem: Zeroizing<[u8; mlkem::SEED_BYTES]>, offer: [u8; 64], at: Instant },
    Answered,
}

impl Exchange {
    pub(crate) fn new(session: SessionKeys, now: Instant) -> Self {
        Self { session, last: 0, since: now, state: State::Idle }
    }

    /// Asks whether an exchange is due; to be called now and then while there is traffic. An offer goes to the peer
    /// at once. Side one never has one.
    pub fn poll(&mut self, now: Instant) -> Result<Option<ExchangeOffer>, ExchangeError> {
        match &self.state {
            State::Offered { at, .. } if now.saturating_duration_since(*at) >= ANSWER_WITHIN => {
                Err(ExchangeError::TimedOut)
            }
            State::Idle
                if self.session.side() == Side::Zero
                    && now.saturating_duration_since(self.since) >= EXCHANGE_EVERY =>
            {
                self.offer(now).map(Some)
            }
            State::Idle | State::Offered { .. } | State::Answered => Ok(None),
        }
    }

    fn offer(&mut self, now: Instant) -> Result<ExchangeOffer, ExchangeError> {
        let x25519 = StaticSecret::from(random::array::<32>()?);
        let mut seed = Zeroizing::new([0; mlkem::SEED_BYTES]);
        random::fill(&mut *seed)?;
        let number = self.last.checked_add(1).ok_or(ExchangeError::OutOfTurn)?;
        let offer = ExchangeOffer {
            exchange: number,
            x25519: PublicKey::from(&x25519).to_bytes(),
            mlkem: mlkem::public(&mlkem::expand(&seed)),
        };
        self.last = number;
        self.state =
            State::Offered { x25519, mlkem: seed, offer: hash(&offer.x25519, &*offer.mlkem), at: now };
        Ok(offer)
    }

    /// Side one: answers an offer. The answer goes to the peer; from now on its key updates may name this exchange.
    pub fn answer(&mut self, offer: &ExchangeOffer, now: Instant) -> Result<ExchangeAnswer, ExchangeError> {
        let idle = matches!(self.state, State::Idle);
        if self.session.side() != Side::One || !idle || self.last.checked_add(1) != Some(offer.exchange) {
            return Err(ExchangeError::OutOfTurn);
        }
        if now.saturating_duration_since(self.since) < OFFERS_APART {
            return Err(ExchangeError::TooSoon);
        }
        let secret = StaticSecret::from(random::array::<32>()?);
        let dh = secret.diffie_hellman(&PublicKey::from(offer.x25519));
        if !dh.was_contributory() {
            return Err(ExchangeError::LowOrder);
        }
        let kem = mlkem::encapsulate(&*offer.mlkem).map_err(|error| match error {
            EncapsulationError::InvalidKey => ExchangeError::MlKem,
            EncapsulationError::Random(error) => error.into(),
        })?;
        let answer = ExchangeAnswer {
            exchange: offer.exchange,
            x25519: PublicKey::from(&secret).to_bytes(),
            mlkem: kem.ciphertext,
        };
        let hashes = [hash(&offer.x25519, &*offer.mlkem), hash(&answer.x25519, &*answer.mlkem)];
        self.session.learn(offer.exchange, derive(offer.exchange, dh.as_bytes(), &kem.secret, &hashes));
        self.last = offer.exchange;
        self.since = now;
        self.state = State::Answered;
        Ok(answer)
    }

    /// Side zero: takes the answer. A confirm with the exchange's number, which is returned, goes to the peer; my own
    /// records mix in the secret from now on.
    pub fn answered(&mut self, answer: &ExchangeAnswer, now: Instant) -> Result<u32, ExchangeError> {
        let State::Offered { x25519, mlkem, offer, .. } = &self.state else {
            return Err(ExchangeError::OutOfTurn);
        };
        if answer.exchange != self.last {
            return Err(ExchangeError::OutOfTurn);
        }
        let dh = x25519.diffie_hellman(&PublicKey::from(answer.x25519));
        if !dh.was_contributory() {
            return Err(ExchangeError::LowOrder);
        }
        let kem = mlkem::decapsulate(&mlkem::expand(mlkem), &answer.mlkem);
        let hashes = [*offer, hash(&answer.x25519, &*answer.mlkem)];
        self.session.learn(answer.exchange, derive(answer.exchange, dh.as_bytes(), &kem, &hashes));
        self.session.release(answer.exchange);
        self.since = now;
        self.state = State::Idle;
        Ok(answer.exchange)
    }

    /// Side one: takes the confirm. My own records mix in the secret from now on.
    pub fn confirmed(&mut self, exchange: u32) -> Result<(), ExchangeError> {
        if !matches!(self.state, State::Answered) || exchange != self.last {
            return Err(ExchangeError::OutOfTurn);
        }
        self.session.release(exchange);
        self.state = State::Idle;
        Ok(())
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("session", &self.session)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

fn hash(x25519: &[u8; 32], mlkem: &[u8]) -> [u8; 64] {
    Sha512::new().chain_update(x25519).chain_update(mlkem).finalize().into()
}

fn derive(number: u32, dh: &[u8; 32], kem: &[u8; 32], messages: &[[u8; 64]; 2]) -> Key {
    let secrets = Zeroizing::new([*dh, *kem].concat());
    let [offer, answer] = messages;
    Key::extract(b"farhold exchange v1", &secrets).derive("exchange", &[&number.to_be_bytes(), offer, answer])
}

#[cfg(test)]
mod tests;
