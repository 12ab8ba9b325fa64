//! The signals that ask a program to end: Ctrl-C, SIGTERM, and the end of its terminal.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::CommandError;

/// Listens from its making on, so that none is missed while something is being started.
#[derive(Debug)]
pub(crate) struct EndSignal {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if whoever started the program wants it to outlive the terminal.
    hangup: Option<Signal>,
}

impl EndSignal {
    pub(crate) fn listen() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(CommandError::io("cannot listen for signals"));
        // To listen would undo it.
        let hangup = if hangup_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn wait(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether the program was started with SIGHUP ignored, as `nohup` does (proc(5): the mask `SigIgn`). Where that is
/// not told, it counts as ignored: the signal then does what it does by itself.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_none_or(|mask| mask & 1 << (SignalKind::hangup().as_raw_value() - 1) != 0)
}

fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        assert_eq!(ignored("Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(ignored("Name:\tx\n"), None);
    }
}
