//! Bounds of everything that comes from outside.

/// Longest entry name, in bytes: what common file systems allow.
pub const NAME_BYTES: usize = 255;
/// Longest symlink target, in bytes (`PATH_MAX` less its NUL).
pub const LINK_TARGET_BYTES: usize = 4095;
/// Deepest folder below the top level.
pub const DEPTH: usize = 256;
/// Largest size or end offset of a file: the largest `off_t`.
pub const FILE_BYTES: u64 = i64::MAX as u64;
/// Most bytes that one read request may ask for.
pub const READ_BYTES: u32 = 4 << 20;
/// Most payload bytes of one `data` part or frame.
pub const PART_BYTES: usize = 256 << 10;
/// Least payload bytes of one `data` part or frame, the last of an answer apart: bounds how many parts there are.
pub const PART_MIN_BYTES: usize = 16 << 10;
/// Most changes in one catalog batch or entries in one page.
pub const BATCH_CHANGES: usize = 1024;
/// Largest encoded gRPC message between peers.
pub const PEER_MESSAGE_BYTES: usize = 2 << 20;
/// Largest encoded `ControlMessage`.
pub const CONTROL_MESSAGE_BYTES: usize = 16 << 10;
/// Largest file that is read as a whole with others, in bytes.
pub const SMALL_FILE_BYTES: u32 = 64 << 10;
/// Most files of one such request.
pub const SMALL_FILES: usize = 64;
/// Read requests that one contact may have under way at once.
pub const READS_AT_ONCE: usize = 256;

/// Bytes of a file that are hashed as one group.
pub const GROUP_BYTES: u64 = 1 << 20;
/// Most files in one request for digests.
pub const DIGEST_ITEMS: usize = 256;
/// Most hashes in one part of an answer to it.
pub const DIGEST_HASHES: usize = 1024;
/// Longest reason in a report on a transfer, in bytes.
pub const REASON_BYTES: usize = 512;

/// Addresses that one post may announce.
pub const CANDIDATES: usize = 16;

/// Addresses from where the relay sees a poster's UDP port: one for each address family, and room for a second NAT.
pub const REFLEXIVE: usize = 4;

/// Length of a relay token, in bytes.
pub const TOKEN_BYTES: usize = 32;
/// Largest sealed blob of a post, in bytes.
pub const BLOB_BYTES: usize = 4096;
/// Length of the key that owns a slot, in bytes.
pub const SLOT_KEY_BYTES: usize = 16;
/// Blobs under one token at once.
pub const SLOTS_PER_TOKEN: usize = 4;
/// Tokens in one watch.
pub const WATCH_TOKENS: usize = 1024;
/// Longest life of a post, in seconds.
pub const POST_TTL_SECONDS: u32 = 120;
/// Largest encoded gRPC message between a program and its relay.
pub const RELAY_MESSAGE_BYTES: usize = 64 << 10;
