//! Placeholders for what must not be told.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Folders of the system, the same everywhere.
const PUBLIC: [&str; 5] = ["/dev/fuse", "/etc/", "/proc/", "/sys/", "/usr/"];
/// What is as long as this, and no word, may be a code or a key.
const CODE_BYTES: usize = 20;
/// What may stand around a word.
const AROUND: [char; 10] = ['"', '\'', '`', '(', ')', ',', ';', ':', '.', '!'];

/// Gives everything that it is told the same placeholder every time, and finds it again in texts.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    /// The placeholder of each original.
    known: BTreeMap<String, String>,
    /// How many there are of each kind.
    counts: HashMap<&'static str, usize>,
}

impl Redactor {
    pub(super) fn contact(&mut self, name: &str) -> String {
        self.place("contact", name)
    }

    pub(super) fn code(&mut self, code: &str) -> String {
        self.place("code", code)
    }

    pub(super) fn name(&mut self, name: &str) -> String {
        self.place("name", name)
    }

    pub(super) fn path(&mut self, path: &Path) -> String {
        self.place("path", &path.to_string_lossy())
    }

    /// `HOST` or `HOST:PORT`; the host alone is known from now on too.
    pub(super) fn address(&mut self, address: &str) -> String {
        if let Some((host, _)) = address.rsplit_once(':') {
            self.place("address", host.trim_matches(['[', ']']));
        }
        self.place("address", address)
    }

    /// A text without anything known, and without what looks like a path, an address or a code.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.without_known(text);
        let mut told = String::new();
        let mut rest = text.as_str();
        while let Some((word, after)) = next_word(rest) {
            let (before, core, behind) = trimmed(word);
            if !core.contains('/') || PUBLIC.iter().any(|public| core.starts_with(public)) {
                told.push_str(before);
                told.push_str(&self.word(core));
                told.push_str(behind);
                rest = after;
                continue;
            }
            // A path may have spaces in it: up to where a message goes on.
            let length = path_length(rest);
            let (_, path, behind) = trimmed(&rest[..length]);
            told.push_str(before);
            told.push_str(&self.place("path", path));
            told.push_str(behind);
            rest = &rest[length..];
        }
        told
    }

    fn word(&mut self, word: &str) -> String {
        // As log messages give their values.
        if let Some((key, value)) = word.split_once('=') {
            let value = self.word(value);
            return format!("{key}={value}");
        }
        let bare = word.trim_matches(['[', ']']);
        if bare.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok() {
            self.place("address", word)
        } else if looks_like_code(word) {
            self.place("code", word)
        } else {
            word.to_owned()
        }
    }

    fn place(&mut self, kind: &'static str, original: &str) -> String {
        if original.is_empty() {
            return String::new();
        }
        if let Some(placeholder) = self.known.get(original) {
            return placeholder.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let placeholder = format!("{kind}-{count}");
        self.known.insert(original.to_owned(), placeholder.clone());
        placeholder
    }

    /// Replaces what is known where it stands by itself, the longest first.
    fn without_known(&self, text: &str) -> String {
        let mut originals: Vec<_> = self.known.iter().collect();
        originals.sort_by_key(|(original, _)| std::cmp::Reverse(original.len()));
        let mut told = String::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let inside = is_word(told.chars().next_back()) && is_word(Some(next));
            let here = originals.iter().find(|(original, _)| {
                !inside
                    && rest.strip_prefix(original.as_str()).is_some_and(|after| {
                        !(is_word(original.chars().next_back()) && is_word(after.chars().next()))
                    })
            });
            match here {
                Some((original, placeholder)) => {
                    told.push_str(placeholder);
                    rest = &rest[original.len()..];
                }
                None => {
                    told.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        told
    }
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// The next word with the spaces before it, and what follows.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let start = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    let length = text[start..].find(char::is_whitespace).unwrap_or(text.len() - start);
    (!text.is_empty()).then(|| text.split_at(start + length))
}

/// What stands before a word, the word, and what stands behind it.
fn trimmed(word: &str) -> (&str, &str, &str) {
    let around = |c: char| c.is_whitespace() || AROUND.contains(&c);
    let before = word.len() - word.trim_start_matches(around).len();
    let end = word.trim_end_matches(around).len().max(before);
    (&word[..before], &word[before..end], &word[end..])
}

/// How far a path goes that begins with the next word: to a word that ends as a part of a sentence does.
fn path_length(text: &str) -> usize {
    let mut length = 0;
    while let Some((word, _)) = next_word(&text[length..]) {
        length += word.len();
        if word.ends_with([':', ';', ',', ')', '"', '\'']) {
            break;
        }
    }
    length
}

fn looks_like_code(word: &str) -> bool {
    let of_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '=');
    word.len() >= CODE_BYTES
        && word.chars().all(of_code)
        && (word.contains(|c: char| c.is_ascii_digit()) || word.contains(|c: char| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_same_is_called_the_same_everywhere() {
        let mut redactor = Redactor::default();
        assert_eq!(redactor.contact("ben"), "contact-1");
        assert_eq!(redactor.contact("anna b"), "contact-2");
        assert_eq!(redactor.path(Path::new("/home/u/My drive")), "path-1");
        assert_eq!(redactor.address("relay.example:7480"), "address-2");
        let text = "ben: bend, not anna ben; anna b has /home/u/My drive/x y, relay.example (refused)";
        let told = "contact-1: bend, not anna contact-1; contact-2 has path-2, address-1 (refused)";
        assert_eq!(redactor.text(text), told);
        assert_eq!(redactor.contact("ben"), "contact-1");
    }

    #[test]
    fn what_nobody_told_of_is_found_by_its_looks() {
        let mut redactor = Redactor::default();
        for (text, told) in [
            ("cannot read /srv/a b/c: denied", "cannot read path-1: denied"),
            ("\"/srv/a b/c\" is gone", "\"path-1\" is gone"),
            ("there is no ben/Holiday pictures", "there is no path-2"),
            (
                "at=192.0.2.7:7480 from [2001:db8::1]:9, 2001:db8::2.",
                "at=address-1 from address-2, address-3.",
            ),
            ("AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE", "code-1"),
            ("0.1.0 opened /dev/fuse at 12:30 after 5 s", "0.1.0 opened /dev/fuse at 12:30 after 5 s"),
            (
                "  farhold_net::rendezvous::link: the link is lost",
                "  farhold_net::rendezvous::link: the link is lost",
            ),
            ("", ""),
        ] {
            assert_eq!(redactor.text(text), told);
        }
    }

    proptest! {
        #[test]
        fn nothing_known_survives(name in "[^ ]{1,9} ?[^ ]{1,9}", before in "[ \"(:=,/]{0,2}", after in "[ \")/:=,.]{0,2}") {
            let mut redactor = Redactor::default();
            redactor.contact(&name);
            let told = redactor.text(&format!("the end{before}{name}{after} of it"));
            // A name may be a part of what is always said, or of a placeholder.
            let common = format!("the end{before}{after} of it contact-1 path-1 code-1 address-1");
            prop_assume!(!common.contains(&name));
            prop_assume!(!before.is_empty() || !is_word(name.chars().next()));
            prop_assume!(!after.is_empty() || !is_word(name.chars().next_back()));
            prop_assert!(!told.contains(&name), "{}", told);
        }
    }
}
