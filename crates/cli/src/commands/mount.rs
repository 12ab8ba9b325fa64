//! Mounting and unmounting.

use farhold_control::ControlClient;
use serde_json::json;

use crate::exit::CommandError;
use crate::output::{self, Output, printable};

/// Mounts the drive.
pub(super) async fn mount(mut client: ControlClient, output: Output) -> Result<(), CommandError> {
    let mount = client.mount().await?;
    let point = printable(&mount.point.to_string_lossy());
    output.say(|| json!({"mount": mount}), || format!("The drive is at {point}."))
}

/// Unmounts it; while programs use it, only if forced.
pub(super) async fn unmount(
    force: bool,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let unmounted = client.unmount(force).await?;
    if !unmounted.unmounted {
        return Err(CommandError::Held(unmounted.holders));
    }
    output.say(
        || json!(unmounted),
        || match output::holders::list(&unmounted.holders) {
            Some(list) => format!("The drive is unmounted. What is open there fails now:\n{list}"),
            None => "The drive is unmounted.".to_owned(),
        },
    )
}
