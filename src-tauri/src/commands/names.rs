/// Every command of the page. `build.rs` includes this file too.
const COMMANDS: &[&str] = &[
    "state",
];
