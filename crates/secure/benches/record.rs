//! The record layer beside its bare AEAD, one thread: sealing into and opening out of a lane's buffer, against
//! encrypting and decrypting in place with the same crate. Ends with the ratios.

#![allow(clippy::print_stdout, reason = "the ratios are what it is for")]

#[path = "../tests/support/contacts.rs"]
mod contacts;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit, inout::InOutBuf};
use bytes::BytesMut;
use chacha20poly1305::ChaCha20Poly1305;
use contacts::{establish, lane};
use criterion::{Bencher, BenchmarkId, Criterion, Throughput};
use farhold_secure::handshake::Established;
use farhold_secure::record::{Opener, Record, Sealer};

const SIZES: [usize; 3] = [64 << 10, 256 << 10, 1 << 20];
/// Records sealed before they are opened: few enough to stay in a cache, as they would on a link.
const AHEAD: usize = 2 << 20;

/// The shortest time of each benchmark and size, per iteration.
#[derive(Default)]
struct Best(RefCell<BTreeMap<(String, usize), Duration>>);

impl Best {
    fn measure(
        &self,
        bencher: &mut Bencher<'_>,
        name: &str,
        size: usize,
        mut run: impl FnMut(u64) -> Duration,
    ) {
        bencher.iter_custom(|iterations| {
            let took = run(iterations);
            let each = took / u32::try_from(iterations).unwrap_or(u32::MAX);
            let mut best = self.0.borrow_mut();
            let best = best.entry((name.to_owned(), size)).or_insert(Duration::MAX);
            *best = each.min(*best);
            took
        });
    }

    fn print(&self, suite: &str) {
        let best = self.0.borrow();
        for ((name, size), took) in best.iter() {
            let Some(bare) = best.get(&(format!("bare {name}"), *size)) else { continue };
            let rate = |took: Duration| *size as f64 / took.as_secs_f64() / 1e9;
            println!(
                "{suite} {name} {:>4} KiB: {:.2} GB/s of the bare AEAD's {:.2} ({:.0} %)",
                size >> 10,
                rate(*took),
                rate(*bare),
                100.0 * bare.as_secs_f64() / took.as_secs_f64(),
            );
        }
    }
}

fn bare<C: AeadInOut>(cipher: &C, size: usize, best: &Best, group: &mut Group<'_>) {
    let mut buffer = vec![0; size];
    let nonce = Default::default();
    group.throughput(Throughput::Bytes(size as u64));
    group.bench_with_input(BenchmarkId::new("bare seal", size), &size, |bencher, _| {
        best.measure(bencher, "bare seal", size, |iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                let tag =
                    cipher.encrypt_inout_detached(&nonce, &[0; 4], InOutBuf::from(buffer.as_mut_slice()));
                black_box(tag).expect("a short message");
            }
            start.elapsed()
        });
    });
    group.bench_with_input(BenchmarkId::new("bare open", size), &size, |bencher, _| {
        best.measure(bencher, "bare open", size, |iterations| {
            let mut took = Duration::ZERO;
            for _ in 0..iterations {
                let tag = cipher
                    .encrypt_inout_detached(&nonce, &[0; 4], InOutBuf::from(buffer.as_mut_slice()))
                    .expect("a short message");
                let start = Instant::now();
                cipher
                    .decrypt_inout_detached(&nonce, &[0; 4], InOutBuf::from(buffer.as_mut_slice()), &tag)
                    .expect("its own message");
                took += start.elapsed();
            }
            took
        });
    });
}

fn records(sealer: &mut Sealer, opener: &mut Opener, size: usize, best: &Best, group: &mut Group<'_>) {
    let payload = vec![0_u8; size];
    let per_round = (AHEAD / size) as u64;
    let now = Instant::now();
    // One run seals and opens in turns, since neither can go without the other, and counts the time of one of them.
    let mut run = |iterations: u64, count_seal: bool, wire: &mut BytesMut| {
        let (mut sealing, mut opening) = (Duration::ZERO, Duration::ZERO);
        let mut left = iterations;
        while left > 0 {
            let round = left.min(per_round);
            left -= round;
            wire.reserve(AHEAD + (AHEAD >> 3));
            let start = Instant::now();
            for _ in 0..round {
                sealer.data(now, payload.as_slice(), wire).expect("a good payload");
            }
            sealing += start.elapsed();
            let start = Instant::now();
            for _ in 0..round {
                let Ok(Some(Record::Data(data))) = opener.open(wire) else { panic!("a record was sealed") };
                black_box(data);
            }
            opening += start.elapsed();
        }
        if count_seal { sealing } else { opening }
    };
    let mut wire = BytesMut::new();
    group.throughput(Throughput::Bytes(size as u64));
    for (name, count_seal) in [("seal", true), ("open", false)] {
        group.bench_with_input(BenchmarkId::new(name, size), &size, |bencher, _| {
            best.measure(bencher, name, size, |iterations| run(iterations, count_seal, &mut wire));
        });
    }
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn suite(criterion: &mut Criterion, name: &str, ends: &[Established; 2], cipher: &impl AeadInOut) {
    let best = Best::default();
    let mut group = criterion.benchmark_group(name);
    for (number, size) in (0..).zip(SIZES) {
        let [(mut sealer, _), (_, mut opener)] = lane(ends, number);
        bare(cipher, size, &best, &mut group);
        records(&mut sealer, &mut opener, size, &best, &mut group);
    }
    group.finish();
    best.print(name);
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    suite(&mut criterion, "AES-256-GCM", &establish(true), &Aes256Gcm::new(&[7; 32].into()));
    suite(&mut criterion, "ChaCha20-Poly1305", &establish(false), &ChaCha20Poly1305::new(&[7; 32].into()));
    criterion.final_summary();
}
