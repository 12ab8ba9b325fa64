//! `docs/security.md` names every label, and the lengths that are in the code.

use std::fs;
use std::path::{Path, PathBuf};

use farhold_secure::code::CODE_CHARS;
use farhold_secure::exchange::{ANSWER_WITHIN, OFFERS_APART};
use farhold_secure::handshake::{HANDSHAKE_WITHIN, MESSAGE_BYTES};
use farhold_secure::identity::{IDENTITY_BYTES, PUBLIC_KEYS_BYTES};
use farhold_secure::lane::TICKET_LIFE;
use farhold_secure::opening::{OPENING_BYTES, OPENINGS_PER_CONTACT};
use farhold_secure::rendezvous::{POST_BYTES, POST_OVERHEAD};
use farhold_secure::words::LIST_WORDS;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    fs::read_to_string(path).expect("the page is there").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sources that are not tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| {
        path.extension().is_some_and(|extension| extension == "rs")
            && !["tests.rs", "testing.rs", "vectors.rs"].iter().any(|test| path.ends_with(test))
    });
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The string that follows `call` in `source`, wherever it occurs.
fn labels(source: &str, call: &str) -> Vec<String> {
    let arguments = source.split(call).skip(1).map(str::trim_start);
    arguments.filter_map(|rest| rest.strip_prefix('"')?.split('"').next().map(str::to_owned)).collect()
}

#[test]
fn every_label_is_documented() {
    let page = page();
    let mut found = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let source = fs::read_to_string(&path).unwrap();
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let calls = ["derive(", "expand(", "expand::<32>(", "expand::<{ 2 * WORDS }>("];
        let derived =
            calls.iter().flat_map(|call| labels(source, call)).map(|label| format!("`\"{label}\"`("));
        let hashed = source.split("b\"farhold ").skip(1).map(|rest| {
            let label = rest.split('"').next().unwrap();
            format!("\"farhold {label}")
        });
        for label in derived.chain(hashed) {
            let inner = label.replace('`', "");
            assert!(page.contains(&label) || page.contains(&inner), "{label} of {}", path.display());
            found += 1;
        }
    }
    assert!(found >= 23, "{found} labels");
}

#[test]
fn lengths_are_documented() {
    let page = page();
    for length in [
        format!("An identity is {IDENTITY_BYTES} bytes"),
        format!("public keys are {PUBLIC_KEYS_BYTES} bytes"),
        format!("{CODE_CHARS} characters"),
        format!("sends {OPENING_BYTES} bytes"),
        format!("remembers {OPENINGS_PER_CONTACT} of each contact"),
        format!("at most {} bytes", POST_BYTES + POST_OVERHEAD),
        format!("at most {} KiB", MESSAGE_BYTES >> 10),
        format!("at most {} s", HANDSHAKE_WITHIN.as_secs()),
        format!("for {} s", TICKET_LIFE.as_secs()),
        format!("takes over {} s ends the session", ANSWER_WITHIN.as_secs()),
        format!("an offer within {} s", OFFERS_APART.as_secs()),
        format!("a list of {LIST_WORDS}"),
    ] {
        assert!(page.contains(&length), "{length}");
    }
}
