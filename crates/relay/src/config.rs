//! What a relay can be told: where it listens, how much it carries and how long it waits.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The port of the rendezvous; the bridge is one above it, health and metrics two above.
pub const DEFAULT_PORT: u16 = 7480;

/// How a relay runs.
#[derive(Debug, Clone, Default)]
pub struct RelayConfig {
    /// Where the rendezvous listens. With port 0 all three ports are free ones picked by the system. `None` is
    /// [`DEFAULT_PORT`] on every IPv6 and IPv4 address, or on every IPv4 address where there is no IPv6.
    pub listen: Option<SocketAddr>,
    /// How much it carries.
    pub limits: Limits,
    /// How long it waits.
    pub timings: Timings,
}

impl RelayConfig {
    /// The defaults, on three free ports of the IPv4 loopback address.
    pub fn loopback() -> Self {
        Self { listen: Some((Ipv4Addr::LOCALHOST, 0).into()), ..Self::default() }
    }
}

/// A bound for all sources together and one for each source. A source is an IPv4 address or an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// For all sources together.
    pub total: usize,
    /// For each source.
    pub per_source: usize,
}

impl Limit {
    /// A limit of `total`, and of `per_source` for each source.
    pub const fn new(total: usize, per_source: usize) -> Self {
        Self { total, per_source }
    }
}

/// How often each source may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So often on the average.
    pub every: Duration,
    /// So often at once, after a pause.
    pub burst: u32,
}

/// How much a relay carries. What is over a limit is refused; what is already carried stays.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections to the rendezvous. Default: 8192, 256 per source.
    pub rendezvous_connections: Limit,
    /// Connections to the bridge, from accept to close: silent, parked and spliced ones. Default: 16384, 512 per
    /// source.
    pub bridge_connections: Limit,
    /// Bridge legs that wait for their partner. Default: 4096, 128 per source.
    pub parked_legs: Limit,
    /// Connections to health and metrics. Default: 64, 16 per source.
    pub http_connections: Limit,
    /// Posts that are alive. Default: 65536, 1024 per source.
    pub posts: Limit,
    /// Bytes of the blobs of those posts. Default: 128 MiB, 4 MiB per source.
    pub post_bytes: Limit,
    /// Watches under way. Default: 16384, 256 per source.
    pub watches: Limit,
    /// Tokens of all those watches. Default: 262144, 16384 per source.
    pub watched_tokens: Limit,
    /// Watches of one token, to each of which every change of it is told. Default: 32, 16 per source. One program
    /// watches a token; the others are its connections that were lost unheard of.
    pub token_watches: Limit,
    /// Posts taken of each source. Default: one every 50 ms, 200 at once. A program posts for each contact every 20 s,
    /// and for all of them when it starts.
    pub post_rate: Rate,
    /// Sides of UDP flows. Default: 16384, 256 per source.
    pub udp_sides: Limit,
    /// Requests taken of each source over UDP. Default: one every 20 ms, 500 at once. A program joins again every 10 s
    /// for each flow.
    pub udp_request_rate: Rate,
    /// Bytes a second that each source may send through the bridge and over UDP together. Bridge legs over it are
    /// slowed down, datagrams over it are lost. Default: 250 MB/s, far over what a distant caller reaches.
    pub source_bytes_per_second: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rendezvous_connections: Limit::new(8192, 256),
            bridge_connections: Limit::new(16384, 512),
            parked_legs: Limit::new(4096, 128),
            http_connections: Limit::new(64, 16),
            posts: Limit::new(65536, 1024),
            post_bytes: Limit::new(128 << 20, 4 << 20),
            watches: Limit::new(16384, 256),
            watched_tokens: Limit::new(262_144, 16384),
            token_watches: Limit::new(32, 16),
            post_rate: Rate { every: Duration::from_millis(50), burst: 200 },
            udp_sides: Limit::new(16384, 256),
            udp_request_rate: Rate { every: Duration::from_millis(20), burst: 500 },
            source_bytes_per_second: 250_000_000,
        }
    }
}

/// How long a relay waits.
#[derive(Debug, Clone)]
pub struct Timings {
    /// For the first bytes of a connection: the HTTP/2 preface or the bridge call. Default: 5 s.
    pub opening: Duration,
    /// For a whole call of the rendezvous, the stream of a watch apart, and for a whole connection to health and
    /// metrics. Default: 10 s.
    pub call: Duration,
    /// Between two HTTP/2 pings, and for the answer to one. Default: 20 s, so that no hop on the way that cuts idle
    /// connections after 120 s ever sees one.
    pub keepalive: Duration,
    /// For the partner of a bridge leg. Default: 30 s.
    pub parked: Duration,
    /// For a byte in either direction of a spliced pair. Default: 10 minutes.
    pub idle: Duration,
    /// For a side of a UDP flow to join again. Default: 60 s; programs do so every 10 s.
    pub udp_side: Duration,
    /// For watches and spliced pairs to end when the relay stops. Default: 5 s.
    pub drain: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(5),
            call: Duration::from_secs(10),
            keepalive: Duration::from_secs(20),
            parked: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            udp_side: Duration::from_secs(60),
            drain: Duration::from_secs(5),
        }
    }
}
