//! Who uses the drive.

use farhold_engine::commands::Holder;

use super::printable;

/// One line for each; `None` for nobody.
pub(crate) fn list(holders: &[Holder]) -> Option<String> {
    let line = |Holder { pid, program, file }: &Holder| {
        format!("  {} ({}, process {pid})", printable(&file.to_string_lossy()), printable(program))
    };
    (!holders.is_empty()).then(|| holders.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Why the drive is not unmounted, and what to do.
pub(crate) fn held(holders: &[Holder]) -> String {
    let who = match list(holders) {
        Some(list) => format!("close this first:\n{list}\n"),
        None => "by programs that you may not see; close what is open there first, ".to_owned(),
    };
    format!("the drive is in use; {who}or unmount it nevertheless with: farhold unmount --force")
}
