//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use farhold_engine::commands::DrivePath;
use farhold_engine::settings::SettingsKey;
use farhold_engine::status::TransferId;
use farhold_engine::{Name, RelayAddress};

use crate::size::{self, Limit};

/// A shared drive between people who paired once: each sees what the others share as a folder.
///
/// `farhold up` runs the engine; every other command asks it. Give your contact what `farhold code` prints, add what
/// theirs prints with `farhold contact add`, and connect.
#[derive(Debug, Parser)]
#[command(name = "farhold", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 not running, 4 not found, \
                        5 not connected, 6 timed out, 7 refused, 8 conflict.\n\
                        Log messages go to standard error; FARHOLD_LOG chooses them (such as FARHOLD_LOG=debug).")]
pub(crate) struct Cli {
    /// Everything of one engine: settings, identity, contacts, catalogs, cache [default: ~/.config/farhold]
    #[arg(long, global = true, value_name = "DIR", env = "FARHOLD_CONFIG_DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Prints JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs the engine in the foreground, with the drive mounted, until Ctrl-C or `farhold down`
    Up(Up),
    #[command(flatten)]
    Ask(Ask),
    /// Checks what works on this machine, and says how to mend what does not
    Doctor {
        /// Checks this relay instead of the one in use
        #[arg(long, value_name = "HOST:PORT")]
        relay: Option<RelayAddress>,
        /// Writes a file for whoever looks for a fault: version, system, settings, status, these checks and the latest
        /// log messages, without names, codes, paths and addresses
        #[arg(long, value_name = "FILE", conflicts_with = "relay")]
        export: Option<PathBuf>,
    },
    /// Runs a relay and a second peer on this machine, paired with a fresh engine and mounted
    Demo(Demo),
    /// Prints a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// What a running engine is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Ask {
    /// Stops the engine and unmounts the drive
    Down,
    /// Shows contacts, connections, drive, cache and traffic
    Status,
    /// Prints the code to give to a contact
    Code,
    /// Saves, shows, renames or removes contacts
    #[command(subcommand)]
    Contact(Contact),
    /// Connects to a contact, now and whenever both are there
    Connect {
        /// The contact
        name: String,
        /// Waits so long for the connection, also for a pairing that is still pending
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        wait: Option<Duration>,
    },
    /// Ends the connection with a contact until `farhold connect`; the contact still sees you present
    Disconnect {
        /// The contact
        name: String,
    },
    /// Shares files and folders with a contact, from where they lie: nothing is copied
    Share(Share),
    /// Withdraws a share
    Unshare {
        /// The shared file or folder
        path: PathBuf,
        /// From this contact only
        #[arg(long, value_name = "NAME")]
        with: Option<String>,
    },
    /// Shows what is shared, and with whom
    Shares,
    /// Lists a folder of the drive
    Ls {
        /// A contact's folder or something below it; the drive's top without it
        #[arg(value_name = "NAME[/PATH]", value_parser = drive_path())]
        path: Option<DrivePath>,
    },
    /// Fetches a file or folder of the drive as a whole, and goes on by itself after any interruption
    Pull {
        /// What to fetch
        #[arg(value_name = "NAME/PATH", value_parser = drive_path())]
        source: DrivePath,
        /// The folder to put it into, or its new path [default: the current folder]
        #[arg(value_name = "DEST")]
        destination: Option<PathBuf>,
        /// Waits for the end, and tells it
        #[arg(long)]
        wait: bool,
    },
    /// Sends a file or folder to a contact, who has it once it accepts it
    Push {
        /// What to send
        path: PathBuf,
        /// To whom
        #[arg(value_name = "NAME")]
        contact: String,
        /// Waits for the end, and tells it
        #[arg(long)]
        wait: bool,
    },
    /// Shows what is being fetched and sent as a whole
    Transfers,
    /// Stops a transfer until `farhold resume`
    Pause {
        /// Its number, as in `farhold transfers`
        id: TransferId,
    },
    /// Goes on with a transfer that was paused or failed, from where it was
    Resume {
        /// Its number, as in `farhold transfers`
        id: TransferId,
    },
    /// Gives a transfer up; files that are finished stay
    Cancel {
        /// Its number, as in `farhold transfers`
        id: TransferId,
    },
    /// Takes what a contact offers, or all that a contact pushes from now on
    Accept {
        /// The number of an offer, as in `farhold transfers`, or a contact
        #[arg(value_name = "ID|NAME")]
        what: String,
        /// Where it goes; nothing there is ever overwritten [default for an offer: ~/Downloads/Farhold]
        #[arg(value_name = "DIR", conflicts_with = "off")]
        folder: Option<PathBuf>,
        /// Takes nothing from the contact by itself any more
        #[arg(long)]
        off: bool,
    },
    /// Does not take what a contact offers
    Decline {
        /// Its number, as in `farhold transfers`
        id: TransferId,
    },
    /// Takes finished transfers off the list, with what they left unfinished
    Forget {
        /// Their numbers, as in `farhold transfers` [default: all that are done, cancelled or failed]
        ids: Vec<TransferId>,
    },
    /// Shows the cache and what is pinned in it, or empties it
    Cache {
        #[command(subcommand)]
        command: Option<Cache>,
    },
    /// Keeps a contact's file or folder whole in the cache, also its new versions
    Pin {
        /// What to keep
        #[arg(value_name = "NAME[/PATH]", value_parser = drive_path())]
        path: DrivePath,
    },
    /// Keeps it no longer; what is there stays until room is needed
    Unpin {
        /// What was pinned
        #[arg(value_name = "NAME[/PATH]", value_parser = drive_path())]
        path: DrivePath,
    },
    /// Mounts the drive, after `farhold unmount` or if it was not mounted at the start
    Mount,
    /// Unmounts the drive until `farhold mount` or the next start; everything else goes on
    Unmount {
        /// Also while programs use it; what they have open fails then
        #[arg(long)]
        force: bool,
    },
    /// Shows the settings, or changes one: at once, or where that cannot be, from the next start on
    Settings {
        /// Which one, as in settings.json
        #[arg(requires = "value")]
        key: Option<SettingsKey>,
        /// Its new value; null for none
        value: Option<OsString>,
    },
    /// Sets how much room the cache may take, such as 20GB, and how fast contents come and go, such as 2MB a second
    Limit {
        /// The room
        #[arg(value_parser = size::parse, required_unless_present_any = ["receive", "send"])]
        size: Option<u64>,
        /// Most that is received in a second; off for no limit
        #[arg(long, value_name = "RATE", value_parser = size::parse_limit)]
        receive: Option<Limit>,
        /// Most that is sent in a second; off for no limit
        #[arg(long, value_name = "RATE", value_parser = size::parse_limit)]
        send: Option<Limit>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    /// The relay through which contacts find each other
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) relay: Option<RelayAddress>,
    /// Where the drive is mounted [default: ~/Farhold]
    #[arg(long, value_name = "DIR", conflicts_with = "no_mount")]
    pub(crate) mount: Option<PathBuf>,
    /// Does not mount the drive
    #[arg(long)]
    pub(crate) no_mount: bool,
    /// TCP port for direct connections; 0 takes any free one
    #[arg(long, value_name = "PORT", conflicts_with = "relay_only")]
    pub(crate) listen: Option<u16>,
    /// Does not dial contacts in the local network; they may still dial you
    #[arg(long)]
    pub(crate) no_lan: bool,
    /// Connects through the relay only
    #[arg(long)]
    pub(crate) relay_only: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Contact {
    /// Saves a contact and looks for it; it must add you too
    Add {
        /// What you call the contact, and its folder in the drive
        name: String,
        /// What the contact's `farhold code` prints
        // A code may begin with '-'.
        #[arg(allow_hyphen_values = true)]
        code: String,
    },
    /// Shows the contacts
    List,
    /// Calls a contact, and its folder, otherwise
    Rename {
        /// Its name now
        old: String,
        /// Its new name
        new: String,
    },
    /// Forgets a contact: its shares, your shares with it, what is cached of it
    Remove {
        /// The contact
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Share {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// With whom; needed once there are several contacts
    #[arg(long, value_name = "NAME")]
    pub(crate) with: Option<String>,
    /// What the contact sees it as, instead of its own name
    #[arg(long = "as", value_name = "NAME", value_parser = name())]
    pub(crate) name: Option<Name>,
    /// The contact may also write into it
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Empties the cache, or drops what it has of a file or folder; works while the drive is in use
    Drop {
        /// What to drop
        #[arg(value_name = "NAME[/PATH]", value_parser = drive_path())]
        path: Option<DrivePath>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Ends by itself after so long
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    /// Where the drive is mounted, instead of a folder of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) mount: Option<PathBuf>,
    /// In the window instead of the terminal
    #[arg(long, conflicts_with_all = ["seconds", "mount"])]
    pub(crate) window: bool,
}

/// A year: whoever waits longer means for ever.
const MOST_SECONDS: f64 = 366.0 * 86_400.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.0..=MOST_SECONDS).contains(&seconds) {
        return Err("not between 0 and a year of seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Names and paths of the drive are bytes; text parsers would refuse what is no UTF-8.
fn drive_path() -> impl clap::builder::TypedValueParser<Value = DrivePath> {
    use clap::builder::{OsStringValueParser, TypedValueParser};
    OsStringValueParser::new().try_map(|text: OsString| DrivePath::parse(&text))
}

fn name() -> impl clap::builder::TypedValueParser<Value = Name> {
    use clap::builder::{OsStringValueParser, TypedValueParser};
    use std::os::unix::ffi::OsStringExt;
    OsStringValueParser::new().try_map(|text: OsString| Name::new(text.into_vec()))
}

#[cfg(test)]
mod tests;
