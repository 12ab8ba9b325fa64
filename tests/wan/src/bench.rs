//! Measures Farhold on links of the lab, and prints the table of targets with the figures.

use std::any::Any;
use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use farhold_tests::peer::PeerOptions;
use farhold_wan::lab::{Lab, Plan, Site};
use farhold_wan::pair::{Pair, share};
use farhold_wan::probe;

use self::figure::Table;
use self::rows::{Ground, ROWS, Row};
use crate::Link;

mod figure;
mod files;
mod read;
mod rows;

/// How long the link's own rate is measured.
const PROBE: Duration = Duration::from_secs(3);
/// Payload of TCP and of UDP in a full packet.
const TCP_OF_UDP: f64 = 1448.0 / 1472.0;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rows of the table, such as P8 [default: all]
    rows: Vec<String>,
    /// So often, each with engines and relay started afresh; the table shows medians
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
    /// Only where the peers reach each other
    #[arg(long, conflicts_with = "relayed")]
    direct: bool,
    /// Only where the peers reach the relay alone
    #[arg(long)]
    relayed: bool,
    /// Round trip in milliseconds, instead of each row's own links
    #[arg(long, value_name = "MS")]
    rtt: Option<f64>,
    /// Rate of both peers' access each way, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 600.0)]
    mbit: f64,
    /// Packets lost in per cent, instead of each row's own links
    #[arg(long, value_name = "PERCENT")]
    loss: Option<f64>,
    /// Also writes every value of every run here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The links of the table of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// 200 ms.
    Usual,
    /// 330 ms.
    Long,
    /// 200 ms and 0.1 % loss.
    Lossy,
}

impl LinkKind {
    const ALL: [Self; 3] = [Self::Usual, Self::Long, Self::Lossy];

    fn link(self, mbit: f64) -> Link {
        let (rtt, loss) = match self {
            Self::Usual => (200.0, 0.0),
            Self::Long => (330.0, 0.0),
            Self::Lossy => (200.0, 0.1),
        };
        Link { rtt, mbit, buffer: 200.0, loss, burst: None }
    }
}

impl Options {
    /// The links, each with the rows measured on it.
    fn scenarios(&self) -> Vec<(LinkKind, Link, Vec<&'static Row>)> {
        let wanted: Vec<&Row> = ROWS
            .iter()
            .filter(|row| self.rows.is_empty() || self.rows.iter().any(|name| name == row.name))
            .collect();
        if self.rtt.is_some() || self.loss.is_some() {
            let (rtt, loss) = (self.rtt.unwrap_or(200.0), self.loss.unwrap_or(0.0));
            let kind = if loss > 0.0 {
                LinkKind::Lossy
            } else if rtt > 265.0 {
                LinkKind::Long
            } else {
                LinkKind::Usual
            };
            return vec![(kind, Link { rtt, loss, ..kind.link(self.mbit) }, wanted)];
        }
        let of = |kind: LinkKind| -> Vec<&Row> {
            wanted.iter().copied().filter(|row| row.links.contains(&kind)).collect()
        };
        let all = LinkKind::ALL.map(|kind| (kind, kind.link(self.mbit), of(kind)));
        all.into_iter().filter(|(_, _, rows)| !rows.is_empty()).collect()
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    for name in &options.rows {
        ensure!(ROWS.iter().any(|row| row.name == name), "no row {name}");
    }
    let folder = folder()?;
    let _temporary = Temporary::new(&folder)?;
    let files = files::prepare(&folder);
    let mut table = Table::default();
    let mut failed = Vec::new();
    for number in 1..=options.runs {
        for (kind, link, rows) in options.scenarios() {
            for relayed in [false, true] {
                if if relayed { options.direct } else { options.relayed } {
                    continue;
                }
                let path = if relayed { "relayed" } else { "direct" };
                let name = format!("{} ms{}", link.rtt, lossy(link));
                eprintln!("run {number}: {name}, {path}");
                let mut report = |by: &str, figures: Vec<figure::Figure>| {
                    for figure in figures {
                        eprintln!("  {:<3} {:<36} {:.3}", figure.row, figure.what, figure.value);
                        table.add(&name, path, by, figure);
                    }
                };
                let scenario = Scenario { kind, plan: link.plan(), relayed, rows: &rows, files: &files };
                let ran = catch(|| scenario.run(&mut report, &mut failed));
                failed.extend(ran.err().map(|why| format!("{name}, {path}: {why}")));
            }
        }
    }
    println!("{}", table.text());
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&table.json())?).context("cannot write the JSON")?;
    }
    ensure!(failed.is_empty(), "not measured:\n{}", failed.join("\n"));
    Ok(())
}

fn lossy(link: Link) -> String {
    if link.loss > 0.0 { format!(", {} % loss", link.loss) } else { String::new() }
}

/// Rows on one link and path.
struct Scenario<'a> {
    kind: LinkKind,
    plan: Plan,
    relayed: bool,
    rows: &'a [&'static Row],
    files: &'a Path,
}

impl Scenario<'_> {
    fn run(&self, report: &mut dyn FnMut(&str, Vec<figure::Figure>), failed: &mut Vec<String>) {
        let lab = Lab::new(self.plan).expect("a lab");
        let (far, near) = (lab.space(Site::Far), lab.space(Site::Near));
        let rtt = probe::ping(far, near, lab.v4(Site::Near)).expect("a round trip").as_secs_f64();
        let carried = probe::udp(near, far, lab.v4(Site::Far), self.plan.rate, PROBE).expect("a rate");
        if self.relayed {
            lab.cut(Site::Far, Site::Near, true);
        }
        let pair = Pair::start(lab, PeerOptions { mount: true, relay_only: false });
        pair.wait_path(|path, _| (path == "relayed") == self.relayed);
        pair.share_near(self.files, "player.bin");
        share(&pair.far, "near", self.files, "back");
        pair.near.wait_path("far/back/player.bin");
        let ground = Ground { pair: &pair, kind: self.kind, rate: carried.rate * TCP_OF_UDP, rtt };
        for row in self.rows {
            match catch(|| (row.run)(&ground)) {
                Ok(figures) => {
                    let (path, transport) = pair.path();
                    report(&format!("{path} {transport}"), figures);
                }
                Err(why) => failed.push(format!("{}: {why}", row.name)),
            }
        }
        pair.stop();
    }
}

/// Runs what panics when something does not work; what it said then.
fn catch<R>(job: impl FnOnce() -> R) -> Result<R, String> {
    panic::catch_unwind(AssertUnwindSafe(job)).map_err(|panic| said(panic.as_ref()))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "panicked".into())
}

/// Where the bench keeps its files: `wan` in cargo's target folder.
fn folder() -> Result<PathBuf> {
    let own = env::current_exe()?;
    let target = own.ancestors().nth(2).context("not in a target folder")?;
    Ok(target.join("wan"))
}

/// Where engines keep what they have, on the disk of the files; goes with this value, and with the next one if this
/// process is killed.
struct Temporary(PathBuf);

impl Temporary {
    fn new(folder: &Path) -> Result<Self> {
        let all = folder.join("tmp");
        fs::create_dir_all(&all)?;
        for entry in fs::read_dir(&all)? {
            let name = entry?.file_name();
            if !Path::new("/proc").join(&name).exists() {
                fs::remove_dir_all(all.join(name))?;
            }
        }
        let own = all.join(std::process::id().to_string());
        fs::create_dir(&own)?;
        tempfile::env::override_temp_dir(&own)
            .map_err(|_| anyhow::anyhow!("temporary files have a folder already"))?;
        Ok(Self(own))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left goes when the next one starts.
        drop(fs::remove_dir_all(&self.0));
    }
}
