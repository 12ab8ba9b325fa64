//! The relay's calls, and what posts hold, on the wire.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use farhold_secure::Token;
use farhold_wire::convert::array;
use farhold_wire::proto::peer as pb;
use farhold_wire::proto::relay as relay_pb;
use farhold_wire::proto::relay::relay_client::RelayClient as Client;
use farhold_wire::{WireError, limits};
use hyper_util::rt::TokioIo;
use prost::Message;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};
use tower::service_fn;

use crate::config::RelayAddress;
use crate::connect::lifecycle::Nonce;
use crate::socket;
use crate::text::printable;

/// A ping this often keeps hops that cut idle connections after 120 s from ever seeing one.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Why a call to the relay failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The connection does not carry calls any more.
    #[error("{0}")]
    Broken(String),
    /// The relay answered, but not as asked.
    #[error("{0}")]
    Refused(String),
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        let said = printable(status.message());
        match status.code() {
            Code::Ok
            | Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::DataLoss
            | Code::Unauthenticated => Self::Refused(said),
            Code::Cancelled | Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable => {
                Self::Broken(said)
            }
        }
    }
}

/// One connection to a relay.
#[derive(Debug, Clone)]
pub(crate) struct RelayClient(Client<Channel>);

/// The events of a watch.
#[derive(Debug)]
pub(crate) struct Watch(Streaming<relay_pb::WatchEvent>);

impl RelayClient {
    /// Connects; also says at which of its addresses the relay was reached.
    pub(crate) async fn connect(relay: &RelayAddress) -> Result<(Self, IpAddr), CallError> {
        let broken = |error: tonic::transport::Error| {
            // The outer error only says that there is one.
            let cause =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            CallError::Broken(cause)
        };
        let failed = |error: std::io::Error| CallError::Broken(error.to_string());
        let stream = socket::connect_host(&relay.host, relay.port).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let at = stream.peer_addr().map_err(failed)?.ip().to_canonical();
        let endpoint = Endpoint::from_shared(format!("http://{relay}"))
            .map_err(broken)?
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_ANSWERED_WITHIN)
            .keep_alive_while_idle(true);
        // One connection and no other in its place: whoever keeps the link decides about the next.
        let mut stream = Some(TokioIo::new(stream));
        let connector = service_fn(move |_| {
            let stream = stream.take().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotConnected));
            async move { stream }
        });
        let channel = endpoint.connect_with_connector(connector).await.map_err(broken)?;
        Ok((Self(Client::new(channel).max_decoding_message_size(limits::RELAY_MESSAGE_BYTES)), at))
    }

    /// The address from which the relay sees us.
    pub(crate) async fn reflexive(&self) -> Result<SocketAddr, CallError> {
        let reply = self.0.clone().reflexive(relay_pb::ReflexiveRequest {}).await?.into_inner();
        reply.address.parse().map_err(|_| CallError::Refused("the relay's answer is no address".to_owned()))
    }

    /// Puts a blob under a token; an empty one takes ours back.
    pub(crate) async fn post(
        &self,
        token: Token,
        blob: Vec<u8>,
        ttl_seconds: u32,
        slot_key: [u8; limits::SLOT_KEY_BYTES],
    ) -> Result<(), CallError> {
        let request = relay_pb::PostRequest {
            token: Bytes::copy_from_slice(&token.0),
            blob: blob.into(),
            ttl_seconds,
            slot_key: Bytes::copy_from_slice(&slot_key),
        };
        self.0.clone().post(request).await?;
        Ok(())
    }

    pub(crate) async fn watch(&self, tokens: impl Iterator<Item = &Token>) -> Result<Watch, CallError> {
        let tokens = tokens.map(|token| Bytes::copy_from_slice(&token.0)).collect();
        Ok(Watch(self.0.clone().watch(relay_pb::WatchRequest { tokens }).await?.into_inner()))
    }
}

impl Watch {
    /// A token and all blobs under it; `None` when the watch is over.
    pub(crate) async fn next(&mut self) -> Option<(Token, Vec<Bytes>)> {
        let event = self.0.message().await.ok().flatten()?;
        let token = Token(array(&event.token, "token").ok()?);
        (event.blobs.len() <= limits::SLOTS_PER_TOKEN).then_some((token, event.blobs))
    }
}

/// What we post for a saved contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PresencePost {
    pub(crate) nonce: Nonce,
    pub(crate) want: bool,
    pub(crate) refuse: bool,
    pub(crate) attempt: u64,
    /// Where the poster listens, for TCP and QUIC.
    pub(crate) candidates: Vec<SocketAddr>,
    /// From where the relay sees its UDP port.
    pub(crate) reflexive: Vec<SocketAddr>,
}

impl PresencePost {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let post = pb::PresencePost {
            nonce: Bytes::copy_from_slice(&self.nonce),
            want: self.want,
            refuse: self.refuse,
            candidates: self.candidates.iter().map(announced).collect(),
            attempt: self.attempt,
            reflexive: self.reflexive.iter().map(announced).collect(),
        };
        post.encode_to_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let post = pb::PresencePost::decode(bytes).map_err(|_| WireError::Malformed)?;
        if post.candidates.len() > limits::CANDIDATES {
            return Err(WireError::TooLarge("candidates"));
        }
        if post.reflexive.len() > limits::REFLEXIVE {
            return Err(WireError::TooLarge("reflexive addresses"));
        }
        Ok(Self {
            nonce: array(&post.nonce, "nonce")?,
            want: post.want,
            refuse: post.refuse,
            attempt: post.attempt,
            candidates: post.candidates.iter().map(candidate).collect::<Result<_, _>>()?,
            reflexive: post.reflexive.iter().map(candidate).collect::<Result<_, _>>()?,
        })
    }
}

fn announced(address: &SocketAddr) -> pb::Candidate {
    let ip = match address.ip() {
        IpAddr::V4(ip) => Bytes::copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => Bytes::copy_from_slice(&ip.octets()),
    };
    pb::Candidate { ip, port: address.port().into() }
}

fn candidate(candidate: &pb::Candidate) -> Result<SocketAddr, WireError> {
    let ip = match array::<4>(&candidate.ip, "candidate") {
        Ok(v4) => IpAddr::from(v4),
        Err(_) => IpAddr::from(array::<16>(&candidate.ip, "candidate")?),
    };
    let port = u16::try_from(candidate.port).map_err(|_| WireError::TooLarge("port"))?;
    Ok(SocketAddr::new(ip, port))
}

/// What we post while pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PairingPost {
    pub(crate) nonce: Nonce,
    /// The poster's public keys, not checked.
    pub(crate) keys: Bytes,
    /// Stands for the pair secret that the poster has stored.
    pub(crate) holds: Option<[u8; 16]>,
}

impl PairingPost {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let post = pb::PairingPost {
            nonce: Bytes::copy_from_slice(&self.nonce),
            keys: self.keys.clone(),
            holds: self.holds.map_or_else(Bytes::new, |holds| Bytes::copy_from_slice(&holds)),
        };
        post.encode_to_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let post = pb::PairingPost::decode(bytes).map_err(|_| WireError::Malformed)?;
        let holds = if post.holds.is_empty() { None } else { Some(array(&post.holds, "holds")?) };
        Ok(Self { nonce: array(&post.nonce, "nonce")?, keys: post.keys, holds })
    }
}

#[cfg(test)]
mod tests;
