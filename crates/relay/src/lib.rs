//! The blind relay: where two paired programs find each other, and through which their connections go when no direct
//! path exists.
//!
//! * **Rendezvous** (gRPC): sealed blobs under random-looking tokens. One posts, the other watches, changes are pushed.
//! * **Bridge** (TCP): two callers that name the same token and different sides are spliced.
//! * **UDP relay**: the same for datagrams, and callers are told their address.
//! * **Health and metrics** (HTTP).
//!
//! A relay sees addresses, times and sizes, never names, codes, keys or content, and stores nothing on disk. Anybody
//! may call it, so everything that a caller can make it hold is bounded, in total and per source ([`Limits`]), and
//! every wait has a deadline ([`Timings`]).
//!
//! What can be wrong is in state machines without I/O and clock: `board` (posts and watches), `bridge::pairing`
//! (which legs meet), `udp::flows` (which addresses belong together), `udp::outbox`, `recent`, `source`, `pace` and
//! `throttle` (limits). The rest hands bytes and time to them.

mod accept;
mod board;
mod bridge;
mod config;
mod http;
mod hub;
mod metrics;
mod pace;
mod recent;
mod rpc;
mod server;
mod source;
mod throttle;
mod udp;

pub use config::{DEFAULT_PORT, Limit, Limits, Rate, RelayConfig, Timings};
pub use server::{Addresses, RelayError, RelayServer, RunningRelay};
