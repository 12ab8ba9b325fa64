//! What the machine does without Farhold.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use farhold_tests::peer::output;

use crate::{SIZE, rate};

/// One write or read of a socket or file.
const PIECE: usize = 1 << 20;

/// Writes a file of random bytes to the disk.
pub(crate) fn write_random(path: &Path, length: u64) {
    let mut random = File::open("/dev/urandom").expect("random bytes").take(length);
    let mut file = File::create(path).expect("a new file");
    std::io::copy(&mut random, &mut file).expect("room for the file");
    file.sync_all().expect("the file is on disk");
}

/// Reads a file from front to back in another process, as any program would.
pub(crate) fn read(path: &Path) {
    output(Command::new("dd").arg(format!("if={}", path.display())).args([
        "of=/dev/null",
        "bs=1M",
        "status=none",
    ]));
}

/// Makes the system forget every page that is on disk; `false` if it does not let us.
pub(crate) fn drop_pages() -> bool {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "1").is_ok()
}

/// Bytes per second of one TCP connection over loopback.
pub(crate) fn tcp() -> f64 {
    rate(SIZE, || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let sender = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let piece = vec![0; PIECE];
            let mut left = SIZE;
            while left > 0 {
                let length = left.min(PIECE as u64);
                stream.write_all(&piece[..length as usize]).expect("the receiver reads");
                left -= length;
            }
        });
        let mut stream = TcpStream::connect(address).expect("the listener is there");
        let mut piece = vec![0; PIECE];
        while stream.read(&mut piece).expect("the sender writes") > 0 {}
        sender.join().expect("the sender ends");
    })
}

/// Bytes per second of writing a file as large as that one, without waiting for the disk.
pub(crate) fn copy(from: &Path, folder: &Path) -> f64 {
    let to = folder.join("copy");
    rate(SIZE, || {
        output(Command::new("cp").args([from, &to]));
        std::fs::remove_file(&to).expect("the copy");
    })
}
