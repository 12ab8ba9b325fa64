//! Measures a link of the lab with plain sockets, and prints it beside what was asked for.

use std::time::{Duration, Instant};

use anyhow::Result;
use farhold_wan::lab::{Lab, Plan, Site};
use farhold_wan::probe;
use rustix::time::{ClockId, clock_gettime};

/// How long each rate is measured.
const MEASURE: Duration = Duration::from_secs(6);
/// Payload of a full packet: TCP over IPv4 with timestamps, and UDP over IPv4, of 1500 bytes.
const TCP_SHARE: f64 = 1448.0 / 1500.0;
const UDP_SHARE: f64 = 1472.0 / 1500.0;

pub(crate) fn run(plan: Plan) -> Result<()> {
    let lab = Lab::new(plan)?;
    let (far, near) = (lab.space(Site::Far), lab.space(Site::Near));
    let megabytes = plan.rate as f64 / 8e6;
    println!("{:<34}{:>12}{:>12}", "", "asked", "measured");
    let asked = |plan: Plan| plan.rtt.as_secs_f64() * 1e3;
    let row = |what: &str, asked: String, measured: String| println!("{what:<34}{asked:>12}{measured:>12}");
    for (what, ip) in
        [("round trip IPv4, ms", lab.v4(Site::Near)), ("round trip IPv6, ms", lab.v6(Site::Near))]
    {
        let trip = probe::ping(far, near, ip)?;
        row(what, format!("{:.1}", asked(plan)), format!("{:.1}", trip.as_secs_f64() * 1e3));
    }
    let trip = probe::ping(near, lab.space(Site::Relay), lab.v4(Site::Relay))?;
    row("round trip near - relay, ms", "1.0".into(), format!("{:.1}", trip.as_secs_f64() * 1e3));
    for (what, from, to, site) in
        [("far to near", far, near, Site::Near), ("near to far", near, far, Site::Far)]
    {
        let ip = lab.v4(site);
        // Just below the rate, so that what is lost is the path's loss and not the buffer's.
        let (start, cpu) = (Instant::now(), cpu());
        let carried = probe::udp(from, to, ip, plan.rate / 100 * 99, MEASURE)?;
        let load = (self::cpu() - cpu).as_secs_f64() / start.elapsed().as_secs_f64();
        let limit = megabytes * UDP_SHARE;
        row(
            &format!("UDP {what}, MB/s"),
            format!("{:.1}", limit * 0.99),
            format!("{:.1}", carried.rate / 1e6),
        );
        row(&format!("UDP {what}, loss %"), loss(plan), format!("{:.3}", carried.loss * 100.0));
        row(&format!("UDP {what}, processors of lab"), "-".into(), format!("{load:.2}"));
        for flows in [1, 4, 8] {
            let rate = probe::tcp(from, to, ip, flows, MEASURE * 2)?;
            let limit = format!("<= {:.1}", megabytes * TCP_SHARE);
            row(&format!("TCP {what}, {flows} flows, MB/s"), limit, format!("{:.1}", rate / 1e6));
        }
    }
    Ok(())
}

fn loss(plan: Plan) -> String {
    use farhold_wan::emulator::Loss;
    match plan.loss {
        Loss::None => "0".into(),
        Loss::Random { share } | Loss::Bursts { share, .. } => format!("{:.3}", share * 100.0),
    }
}

/// Processor time of this process, probes and network together.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
