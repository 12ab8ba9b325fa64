//! Transfers.

use farhold_engine::status::{Direction, TransferState, TransferStatus};

use super::printable;
use super::table::table;
use crate::size;

/// All of them.
pub(crate) fn list(transfers: &[TransferStatus]) -> String {
    if transfers.is_empty() {
        return "Nothing is being transferred. Fetch something with: farhold pull NAME/PATH".to_owned();
    }
    let mut rows = vec![
        ["ID", "WHAT", "CONTACT", "STATE", "DONE", "RATE", "LEFT", "NAME", "NOTE"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(transfers.iter().map(|transfer| {
        let running = transfer.state == TransferState::Running;
        vec![
            transfer.id.to_string(),
            direction(transfer.direction).to_owned(),
            printable(&transfer.contact),
            transfer.state.name().to_owned(),
            done(transfer),
            if running { size::rate(transfer.rate) } else { "-".to_owned() },
            transfer.remaining_seconds.filter(|_| running).map_or_else(|| "-".to_owned(), duration),
            printable(&transfer.name),
            transfer.reason.as_deref().map(printable).unwrap_or_default(),
        ]
    }));
    table(&rows)
}

/// One line while somebody waits.
pub(crate) fn progress(transfer: &TransferStatus) -> String {
    let mut parts = vec![printable(&transfer.name), done(transfer)];
    match transfer.state {
        TransferState::Running => {
            parts.push(size::rate(transfer.rate));
            parts.extend(transfer.remaining_seconds.map(|left| format!("{} left", duration(left))));
        }
        TransferState::Offered
        | TransferState::Queued
        | TransferState::Waiting
        | TransferState::Paused
        | TransferState::Done
        | TransferState::Failed
        | TransferState::Cancelled => {
            parts.push(transfer.state.name().to_owned());
            parts.extend(transfer.reason.as_deref().map(printable));
        }
    }
    parts.join(" | ")
}

/// How a transfer ended, and what to do about it.
pub(crate) fn ended(transfer: &TransferStatus) -> String {
    let TransferStatus { id, name, state, .. } = transfer;
    let name = printable(name);
    let what = match transfer.direction {
        Direction::Pull | Direction::Receive => format!("{name} from {}", printable(&transfer.contact)),
        Direction::Push | Direction::Serve => format!("{name} to {}", printable(&transfer.contact)),
    };
    let reason =
        transfer.reason.as_deref().map(|reason| format!(": {}", printable(reason))).unwrap_or_default();
    match state {
        TransferState::Done => {
            let amount = match transfer.files {
                1 => size::show(transfer.bytes),
                files => format!("{files} files, {}", size::show(transfer.bytes)),
            };
            let place = transfer.destination.as_ref().filter(|_| transfer.direction == Direction::Pull);
            let place = place.map(|place| format!(" It is at {}", printable(&place.to_string_lossy())));
            format!("Transferred {what} ({amount}).{}{reason}", place.unwrap_or_default())
        }
        TransferState::Failed => {
            format!("the transfer of {what} failed{reason}. Try again from there with: farhold resume {id}")
        }
        TransferState::Paused => {
            format!("the transfer of {what} is paused{reason}. Go on with: farhold resume {id}")
        }
        TransferState::Cancelled => format!("the transfer of {what} was cancelled{reason}"),
        TransferState::Offered => {
            format!("{what} is offered. Take it with: farhold accept {id}, or not with: farhold decline {id}")
        }
        TransferState::Queued | TransferState::Running | TransferState::Waiting => {
            format!("the transfer of {what} goes on{reason}")
        }
    }
}

fn done(transfer: &TransferStatus) -> String {
    let bytes = format!("{} of {}", size::show(transfer.bytes_done), size::show(transfer.bytes));
    match transfer.files {
        0 | 1 => bytes,
        files => format!("{bytes}, {} of {files} files", transfer.files_done),
    }
}

/// The name of a direction, as in JSON.
fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Pull => "pull",
        Direction::Push => "push",
        Direction::Receive => "receive",
        Direction::Serve => "serve",
    }
}

/// The two greatest units of a time.
fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use farhold_engine::status::TransferId;

    use super::*;

    pub(crate) fn transfer(state: TransferState, reason: Option<&str>) -> TransferStatus {
        TransferStatus {
            id: TransferId(3),
            direction: Direction::Pull,
            contact: "ben".into(),
            name: "Film".into(),
            state,
            reason: reason.map(str::to_owned),
            class: None,
            files_done: 2,
            files: 5,
            bytes_done: 1_000_000,
            bytes: 4_000_000,
            rate: 50_000,
            remaining_seconds: Some(60),
            destination: Some("/home/u/Film".into()),
        }
    }

    #[test]
    fn progress_tells_rate_and_rest_or_why_it_waits() {
        assert_eq!(
            progress(&transfer(TransferState::Running, None)),
            "Film | 1.00 MB of 4.00 MB, 2 of 5 files | 50.0 kB/s | 1 min 0 s left"
        );
        assert_eq!(
            progress(&transfer(TransferState::Waiting, Some("ben is not connected"))),
            "Film | 1.00 MB of 4.00 MB, 2 of 5 files | waiting | ben is not connected"
        );
    }

    #[test]
    fn the_end_says_what_happened_and_what_to_do() {
        assert_eq!(
            ended(&transfer(TransferState::Done, None)),
            "Transferred Film from ben (5 files, 4.00 MB). It is at /home/u/Film"
        );
        assert_eq!(
            ended(&transfer(TransferState::Failed, Some("the disk is full"))),
            "the transfer of Film from ben failed: the disk is full. Try again from there with: farhold resume 3"
        );
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        let text = list(&[transfer(TransferState::Running, None), transfer(TransferState::Paused, None)]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("50.0 kB/s") && lines[1].contains("1 min 0 s"), "{text}");
        assert!(!lines[2].contains("kB/s"), "{text}");
        assert!(list(&[]).contains("farhold pull"));
    }

    #[test]
    fn times_have_two_units() {
        let shown = [59, 61, 3_700, 100_000].map(duration);
        assert_eq!(shown, ["59 s", "1 min 1 s", "1 h 1 min", "1 d 3 h"]);
    }
}
