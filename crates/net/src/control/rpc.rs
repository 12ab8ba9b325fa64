//! Control messages on the wire.

use bytes::{Buf, Bytes, BytesMut};
use farhold_secure::exchange::{ExchangeAnswer, ExchangeOffer};
use farhold_wire::convert::array;
use farhold_wire::proto::peer as pb;
use farhold_wire::proto::peer::control_message::Message as Wire;
use farhold_wire::proto::peer::pairing_step::Step;
use farhold_wire::{WireError, limits};
use prost::Message as _;

use super::{Goodbye, Message, PairingStep};
use crate::text::printable;

impl Message {
    /// The message with its length before it.
    pub(super) fn encode(self) -> Vec<u8> {
        let message = match self {
            Self::Attempt(number) => Wire::Attempt(pb::Attempt { number }),
            Self::Nominate(number) => Wire::Nominate(pb::Nominate { number }),
            Self::About { build } => Wire::About(pb::About { build }),
            Self::LaneOffer { lane, class, nonce, bridge_leg, tcp_beside } => {
                Wire::LaneOffer(pb::LaneOffer {
                    lane,
                    class: pb::LaneClass::from(class).into(),
                    nonce: copy(&nonce),
                    bridge_leg: bridge_leg.unwrap_or_default(),
                    tcp_beside,
                })
            }
            Self::LaneAnswer { lane, nonce } => {
                Wire::LaneAnswer(pb::LaneAnswer { lane, nonce: copy(&nonce) })
            }
            Self::LaneRefusal { lane, reason } => Wire::LaneRefusal(pb::LaneRefusal { lane, reason }),
            Self::ExchangeOffer(ExchangeOffer { exchange, x25519, mlkem }) => {
                Wire::ExchangeOffer(pb::ExchangeOffer {
                    exchange,
                    x25519: copy(&x25519),
                    mlkem: copy(&*mlkem),
                })
            }
            Self::ExchangeAnswer(ExchangeAnswer { exchange, x25519, mlkem }) => {
                Wire::ExchangeAnswer(pb::ExchangeAnswer {
                    exchange,
                    x25519: copy(&x25519),
                    mlkem: copy(&*mlkem),
                })
            }
            Self::ExchangeConfirm(exchange) => Wire::ExchangeConfirm(pb::ExchangeConfirm { exchange }),
            Self::Goodbye(goodbye) => {
                Wire::Goodbye(pb::Goodbye { reason: pb::GoodbyeReason::from(goodbye).into() })
            }
            Self::Pairing(step) => Wire::Pairing(pb::PairingStep { step: Some(step.into()) }),
            Self::Ping(number) => Wire::Ping(pb::Ping { number }),
            Self::Pong(number) => Wire::Pong(pb::Pong { number }),
        };
        pb::ControlMessage { message: Some(message) }.encode_length_delimited_to_vec()
    }

    /// Takes the first whole message off `buffer`; `None` if more bytes are needed.
    pub(super) fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, WireError> {
        let mut peek = &buffer[..];
        let length = match prost::decode_length_delimiter(&mut peek) {
            Ok(length) if length > limits::CONTROL_MESSAGE_BYTES => {
                return Err(WireError::TooLarge("control message"));
            }
            Ok(length) => length,
            // A length has at most ten bytes.
            Err(_) if buffer.len() >= 10 => return Err(WireError::Malformed),
            Err(_) => return Ok(None),
        };
        if peek.len() < length {
            return Ok(None);
        }
        buffer.advance(buffer.len() - peek.len());
        let message = buffer.split_to(length).freeze();
        let message = pb::ControlMessage::decode(message).map_err(|_| WireError::Malformed)?;
        message.message.ok_or(WireError::Unknown("control message"))?.try_into().map(Some)
    }
}

impl TryFrom<Wire> for Message {
    type Error = WireError;

    fn try_from(message: Wire) -> Result<Self, WireError> {
        Ok(match message {
            Wire::Attempt(attempt) => Self::Attempt(attempt.number),
            Wire::Nominate(nominate) => Self::Nominate(nominate.number),
            Wire::About(about) => Self::About { build: printable(&about.build) },
            Wire::LaneOffer(offer) => Self::LaneOffer {
                lane: offer.lane,
                class: offer.class().try_into()?,
                nonce: array(&offer.nonce, "lane nonce")?,
                bridge_leg: (offer.bridge_leg != 0).then_some(offer.bridge_leg),
                tcp_beside: offer.tcp_beside,
            },
            Wire::LaneAnswer(answer) => {
                Self::LaneAnswer { lane: answer.lane, nonce: array(&answer.nonce, "lane nonce")? }
            }
            Wire::LaneRefusal(refusal) => {
                Self::LaneRefusal { lane: refusal.lane, reason: printable(&refusal.reason) }
            }
            Wire::ExchangeOffer(offer) => Self::ExchangeOffer(ExchangeOffer {
                exchange: offer.exchange,
                x25519: array(&offer.x25519, "exchange key")?,
                mlkem: Box::new(array(&offer.mlkem, "exchange key")?),
            }),
            Wire::ExchangeAnswer(answer) => Self::ExchangeAnswer(ExchangeAnswer {
                exchange: answer.exchange,
                x25519: array(&answer.x25519, "exchange key")?,
                mlkem: Box::new(array(&answer.mlkem, "exchange ciphertext")?),
            }),
            Wire::ExchangeConfirm(confirm) => Self::ExchangeConfirm(confirm.exchange),
            Wire::Goodbye(goodbye) => Self::Goodbye(goodbye.reason().try_into()?),
            Wire::Pairing(step) => {
                Self::Pairing(step.step.ok_or(WireError::Missing("pairing step"))?.try_into()?)
            }
            Wire::Ping(ping) => Self::Ping(ping.number),
            Wire::Pong(pong) => Self::Pong(pong.number),
        })
    }
}

impl From<Goodbye> for pb::GoodbyeReason {
    fn from(goodbye: Goodbye) -> Self {
        match goodbye {
            Goodbye::User => Self::User,
            Goodbye::Stopping => Self::Stopping,
            Goodbye::Replaced => Self::Replaced,
            Goodbye::Refused => Self::Refused,
        }
    }
}

impl TryFrom<pb::GoodbyeReason> for Goodbye {
    type Error = WireError;

    fn try_from(reason: pb::GoodbyeReason) -> Result<Self, WireError> {
        match reason {
            pb::GoodbyeReason::User => Ok(Self::User),
            pb::GoodbyeReason::Stopping => Ok(Self::Stopping),
            pb::GoodbyeReason::Replaced => Ok(Self::Replaced),
            pb::GoodbyeReason::Refused => Ok(Self::Refused),
            pb::GoodbyeReason::Unspecified => Err(WireError::Unknown("goodbye")),
        }
    }
}

impl From<PairingStep> for Step {
    fn from(step: PairingStep) -> Self {
        match step {
            PairingStep::Commitment(bytes) => Self::Commitment(copy(&bytes)),
            PairingStep::Contribution(bytes) => Self::Contribution(copy(&bytes)),
            PairingStep::Reveal(bytes) => Self::Reveal(copy(&bytes)),
            PairingStep::Stored => Self::Stored(true),
        }
    }
}

impl TryFrom<Step> for PairingStep {
    type Error = WireError;

    fn try_from(step: Step) -> Result<Self, WireError> {
        Ok(match step {
            Step::Commitment(bytes) => Self::Commitment(array(&bytes, "commitment")?),
            Step::Contribution(bytes) => Self::Contribution(array(&bytes, "contribution")?),
            Step::Reveal(bytes) => Self::Reveal(array(&bytes, "reveal")?),
            Step::Stored(_) => Self::Stored,
        })
    }
}

fn copy(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
