//! Holds the list of commands, the capability and the policy of the page together.

use std::collections::BTreeSet;

macro_rules! commands {
    ($($name:ident),*) => { [$(stringify!($name)),*] };
}

const COMMANDS: &[&str] = &include!("names.rs");

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_page_may_listen_and_call_farholds_commands_and_nothing_else() {
    let capability = json(include_str!("../../capabilities/window.json"));
    let granted: BTreeSet<String> = capability["permissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap().to_owned())
        .collect();
    let mut expected: BTreeSet<String> =
        COMMANDS.iter().map(|name| format!("allow-{}", name.replace('_', "-"))).collect();
    expected.extend(["core:event:allow-listen".to_owned(), "core:event:allow-unlisten".to_owned()]);
    assert_eq!(granted, expected);
    assert_eq!(capability["windows"], serde_json::json!(["main"]));
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let config = json(include_str!("../../tauri.conf.json"));
    assert_eq!(config["app"]["withGlobalTauri"], false);
    let policy = config["app"]["security"]["csp"].as_str().unwrap();
    let parts: BTreeSet<&str> = policy.split("; ").collect();
    assert!(parts.contains("default-src 'self'") && parts.contains("object-src 'none'"), "{policy}");
    assert!(
        !policy.contains('*') && !policy.contains("https:") && !policy.contains("unsafe-eval"),
        "{policy}"
    );
    let script = parts.iter().find(|part| part.starts_with("script-src"));
    assert!(script.is_none_or(|part| !part.contains("unsafe-inline")), "{policy}");
    assert!(config["app"]["security"].get("assetProtocol").is_none());
}
