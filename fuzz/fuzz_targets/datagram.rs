//! Datagrams from anybody: either refused, or read back the same from what is written for them.
#![no_main]

use farhold_wire::datagram::{Datagram, LONGEST, is_ours};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(datagram) = Datagram::decode(bytes) {
        assert!(is_ours(bytes) && bytes.len() <= LONGEST);
        let written = datagram.encode();
        assert_eq!(written.len(), bytes.len());
        assert_eq!(Datagram::decode(&written).as_ref(), Ok(&datagram));
    }
});
