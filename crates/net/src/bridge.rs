//! A leg through the relay's bridge.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use farhold_secure::{RandomError, Side, Token, random};
use farhold_wire::bridge::{BridgeCall, BridgeSide, PAIRED};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::config::RelayAddress;
use crate::counters::WireCounter;
use crate::socket::{self, Socket};

/// How long a leg waits for the other side's, which is also how long the relay keeps it.
const MET_WITHIN: Duration = Duration::from_secs(30);

/// Why no leg came of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BridgeError {
    #[error("cannot be reached: {0}")]
    Connect(io::Error),
    #[error("closed the leg: {0}")]
    Closed(io::Error),
    #[error("the contact did not come")]
    Alone,
    #[error("answered something else")]
    Answer,
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// Meets the other side under a token.
pub(crate) async fn meet(
    relay: &RelayAddress,
    token: Token,
    side: Side,
    counter: Arc<WireCounter>,
) -> Result<Socket, BridgeError> {
    let stream = socket::connect_host(&relay.host, relay.bridge_port).await.map_err(BridgeError::Connect)?;
    let mut socket = Socket::new(stream, counter).map_err(BridgeError::Connect)?;
    let side = match side {
        Side::Zero => BridgeSide::Zero,
        Side::One => BridgeSide::One,
    };
    let call = BridgeCall { token: token.0, side, nonce: random::array()? };
    socket.write_all(&call.encode()).await.map_err(BridgeError::Closed)?;
    match timeout(MET_WITHIN, socket.read_u8()).await {
        Ok(Ok(PAIRED)) => Ok(socket),
        Ok(Ok(_)) => Err(BridgeError::Answer),
        Ok(Err(error)) => Err(BridgeError::Closed(error)),
        Err(_) => Err(BridgeError::Alone),
    }
}
