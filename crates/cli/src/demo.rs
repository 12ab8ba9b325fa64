//! `farhold demo`: everything on this machine (the crate `farhold-demo`), shown in the terminal or in the window.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use farhold_demo::PEER;
use serde_json::json;

use crate::args::Demo;
use crate::exit::CommandError;
use crate::output::Output;
use crate::signals::EndSignal;

mod live;

/// The window's program, which is installed beside this one.
const WINDOW: &str = "farhold-app";

/// Runs until Ctrl-C, SIGTERM, `farhold down`, or the end of the time given.
pub(crate) async fn run(options: Demo, output: Output) -> Result<(), CommandError> {
    if options.window {
        return Err(window());
    }
    let mut end = EndSignal::listen()?;
    // Starting is not interrupted half way: what it began could not be ended.
    let demo = farhold_demo::Demo::start(options.mount).await?;
    let outcome = tokio::select! {
        outcome = play(&demo, options.seconds, output) => outcome,
        () = end.wait() => Ok(()),
        () = demo.engine().stopping() => Ok(()),
    };
    live::end(output);
    let ended = demo.end().await;
    outcome.and(ended.map_err(Into::into))
}

/// Becomes the window's program; returns only if that cannot be started.
fn window() -> CommandError {
    let beside = std::env::current_exe().map(|program| program.with_file_name(WINDOW));
    let source = match beside {
        Ok(program) => std::process::Command::new(program).arg("--demo").exec(),
        Err(error) => error,
    };
    CommandError::io("cannot start farhold-app, the window's program, beside this one")(source)
}

async fn play(
    demo: &farhold_demo::Demo,
    seconds: Option<Duration>,
    output: Output,
) -> Result<(), CommandError> {
    demo.meet().await?;
    announce(demo, output)?;
    let show = live::show(demo.engine(), PEER, output);
    match seconds {
        Some(seconds) => tokio::time::timeout(seconds, show).await.unwrap_or(Ok(())),
        None => show.await,
    }
}

fn announce(demo: &farhold_demo::Demo, output: Output) -> Result<(), CommandError> {
    let mount = demo.engine().status()?.mount.map(|mount| mount.point).unwrap_or_default();
    let config_dir = demo.engine().layout().root();
    let seen = demo.sample().file_name().map_or_else(|| mount.join(PEER), |name| mount.join(PEER).join(name));
    output.say(
        || {
            json!({
                "ready": true,
                "mount": mount.to_string_lossy(),
                "source": demo.sample().to_string_lossy(),
                "contact": PEER,
                "config_dir": config_dir.to_string_lossy(),
            })
        },
        || welcome(&seen, config_dir),
    )
}

fn welcome(seen: &Path, config_dir: &Path) -> String {
    format!(
        "A relay and a second peer run on this machine; you are paired with it.\n\
         Look into   {}\n\
         Ask with    farhold --config-dir {} status\n\
         Ctrl-C ends it and leaves nothing behind.",
        seen.display(),
        config_dir.display(),
    )
}
