//! Holds `ui/src/ipc/types.ts` to the types here.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use ts_rs::{Config, TS, TypeVisitor};

use super::*;

/// Events of the shell, by name.
#[derive(TS)]
struct Events {
    #[ts(rename = "state")]
    _state: State,
    #[ts(rename = "transfers")]
    _transfers: TransferChanges,
    #[ts(rename = "dragging")]
    _dragging: Dragging,
    #[ts(rename = "dropped")]
    _dropped: Paths,
    #[ts(rename = "link")]
    _link: Link,
    #[ts(rename = "opened")]
    _opened: Paths,
    #[ts(rename = "ask-close")]
    _ask_close: Nothing,
    #[ts(rename = "quit-held")]
    _quit_held: Held,
    #[ts(rename = "show-view")]
    _show_view: ShowView,
}

/// Every type reached from the ones given, by name.
struct Collect<'a> {
    config: &'a Config,
    found: BTreeMap<String, String>,
}

impl TypeVisitor for Collect<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Types of the standard library have no file of their own.
        if T::output_path().is_none() {
            T::visit_dependencies(self);
            return;
        }
        let docs = T::docs().unwrap_or_default();
        let declaration = format!("{docs}export {}\n", T::decl(self.config));
        if self.found.insert(T::ident(self.config), declaration).is_none() {
            T::visit_dependencies(self);
            T::visit_generics(self);
        }
    }
}

fn types() -> String {
    let config = Config::default().with_large_int("number");
    let mut collect = Collect { config: &config, found: BTreeMap::new() };
    collect.visit::<Events>();
    collect.visit::<Failure>();
    collect.visit::<Listing>();
    collect.visit::<Entry>();
    collect.visit::<OpenFile>();
    collect.visit::<SettingsReply>();
    collect.visit::<Preferences>();
    collect.visit::<Check>();
    collect.visit::<DescribedPath>();
    collect.visit::<RelayTest>();
    let types: Vec<String> = collect.found.into_values().collect();
    format!(
        "// What the shell and the page tell each other. Made of src-tauri/src/dto by its tests; do not edit. To make \
         it anew:\n// FARHOLD_WRITE_TYPES=1 cargo test -p farhold-app the_page_knows\n\n{}",
        types.join("\n")
    )
}

fn file() -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../ui/src/ipc/types.ts")
}

#[test]
fn the_page_knows_these_types() {
    let types = types();
    if std::env::var_os("FARHOLD_WRITE_TYPES").is_some() {
        std::fs::write(file(), &types).unwrap();
    }
    let known = std::fs::read_to_string(file()).unwrap();
    assert!(
        known == types,
        "ui/src/ipc/types.ts is not what the types here say; make it anew as its first lines tell"
    );
}
