//! What the tray, notifications and file choosers say, in every language. The page has a catalogue of its own.

use std::env;

/// A language's texts. `{}` stands for what is filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) connect: &'static str,
    pub(crate) disconnect: &'static str,
    pub(crate) open_folder: &'static str,
    pub(crate) open_drive: &'static str,
    pub(crate) share_files: &'static str,
    pub(crate) pause_all: &'static str,
    pub(crate) resume_all: &'static str,
    pub(crate) show_window: &'static str,
    pub(crate) restart_engine: &'static str,
    pub(crate) quit: &'static str,
    pub(crate) no_contacts: &'static str,
    pub(crate) engine_starting: &'static str,
    pub(crate) engine_failed: &'static str,
    pub(crate) engine_stopping: &'static str,
    pub(crate) connected: &'static str,
    pub(crate) connecting: &'static str,
    pub(crate) interrupted: &'static str,
    pub(crate) present: &'static str,
    pub(crate) away: &'static str,
    pub(crate) unpaired: &'static str,
    pub(crate) open: &'static str,
    pub(crate) is_present: &'static str,
    pub(crate) offers: &'static str,
    pub(crate) transfer_done: &'static str,
    pub(crate) transfer_failed: &'static str,
    pub(crate) with_contact: &'static str,
    pub(crate) disk_low: &'static str,
    pub(crate) disk_low_hint: &'static str,
    pub(crate) pick_files: &'static str,
    pub(crate) pick_folder: &'static str,
    pub(crate) save_diagnostics: &'static str,
}

static ENGLISH: Texts = Texts {
    connect: "Connect",
    disconnect: "Disconnect",
    open_folder: "Open folder",
    open_drive: "Open drive",
    share_files: "Share files…",
    pause_all: "Pause all transfers",
    resume_all: "Resume all transfers",
    show_window: "Show window",
    restart_engine: "Restart the engine",
    quit: "Quit",
    no_contacts: "No contacts yet",
    engine_starting: "Starting…",
    engine_failed: "The engine is not running",
    engine_stopping: "Stopping…",
    connected: "connected",
    connecting: "connecting",
    interrupted: "interrupted",
    present: "online",
    away: "away",
    unpaired: "not paired yet",
    open: "Open",
    is_present: "{} is online",
    offers: "{} offers you files",
    transfer_done: "Transfer done",
    transfer_failed: "Transfer failed",
    with_contact: "{} ({})",
    disk_low: "The disk is almost full",
    disk_low_hint: "What you open is kept for a short time only. Free some space, or lower the cache's limit.",
    pick_files: "Files to share or send",
    pick_folder: "Choose a folder",
    save_diagnostics: "Save the diagnostics",
};

static GERMAN: Texts = Texts {
    connect: "Verbinden",
    disconnect: "Trennen",
    open_folder: "Ordner öffnen",
    open_drive: "Laufwerk öffnen",
    share_files: "Dateien teilen …",
    pause_all: "Alle Übertragungen anhalten",
    resume_all: "Alle Übertragungen fortsetzen",
    show_window: "Fenster zeigen",
    restart_engine: "Dienst neu starten",
    quit: "Beenden",
    no_contacts: "Noch keine Kontakte",
    engine_starting: "Startet …",
    engine_failed: "Der Dienst läuft nicht",
    engine_stopping: "Wird beendet …",
    connected: "verbunden",
    connecting: "verbindet",
    interrupted: "unterbrochen",
    present: "online",
    away: "abwesend",
    unpaired: "noch nicht gepaart",
    open: "Öffnen",
    is_present: "{} ist online",
    offers: "{} bietet Dateien an",
    transfer_done: "Übertragung fertig",
    transfer_failed: "Übertragung fehlgeschlagen",
    with_contact: "{} ({})",
    disk_low: "Der Datenträger ist fast voll",
    disk_low_hint: "Was geöffnet wird, bleibt nur kurz hier. Platz schaffen oder das Limit des Caches senken.",
    pick_files: "Dateien zum Teilen oder Senden",
    pick_folder: "Ordner wählen",
    save_diagnostics: "Diagnose speichern",
};

/// The texts of a language tag; without one, of the system's language. English where there are no others.
pub(crate) fn texts(language: Option<&str>) -> &'static Texts {
    let system = || {
        // The first that is set counts (POSIX, 8.2 Internationalization Variables).
        ["LC_ALL", "LC_MESSAGES", "LANG"]
            .iter()
            .find_map(|name| env::var(name).ok().filter(|tag| !tag.is_empty()))
    };
    let tag = language.map(str::to_owned).or_else(system).unwrap_or_default();
    match tag.get(..2) {
        Some("de") => &GERMAN,
        Some(_) | None => &ENGLISH,
    }
}

/// Puts values into a text's gaps, in order.
pub(crate) fn fill(text: &str, values: &[&str]) -> String {
    let mut parts = text.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        filled.push_str(values.get(index).copied().unwrap_or_default());
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_its_tag() {
        assert_eq!(texts(Some("de-AT")), &GERMAN);
        assert_eq!(texts(Some("en")), &ENGLISH);
        assert_eq!(texts(Some("xx")), &ENGLISH);
    }

    #[test]
    fn gaps_are_filled_in_order() {
        assert_eq!(fill("{} ({})", &["a{}", "b"]), "a{} (b)");
        assert_eq!(fill("no gap", &["a"]), "no gap");
    }
}
