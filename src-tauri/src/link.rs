//! `farhold:` links. They come from anywhere, so they only ever fill in what the user then confirms.

use crate::dto::{Link, LinkKind};

/// Longest link that is looked at, in bytes.
const MOST: usize = 2048;
/// Longest code, in characters. Those of today have 86.
const CODE: usize = 128;

/// What a link asks for: `farhold://pair/CODE`.
pub(crate) fn parse(link: &str) -> Link {
    let code = link
        .strip_prefix("farhold:")
        .map(|rest| rest.trim_start_matches('/'))
        .and_then(|rest| rest.strip_prefix("pair/"))
        .map(|rest| rest.trim_end_matches('/'))
        .filter(|code| (1..=CODE).contains(&code.len()) && code.bytes().all(plain));
    match code {
        Some(code) => Link { kind: LinkKind::Pair, text: code.to_owned() },
        None => {
            let text = link.chars().filter(|c| !c.is_control()).take(MOST).collect();
            Link { kind: LinkKind::Unknown, text }
        }
    }
}

fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_to_pair_with_is_found() {
        for link in ["farhold://pair/-aB_9", "farhold:pair/-aB_9", "farhold://pair/-aB_9/"] {
            assert_eq!(parse(link), Link { kind: LinkKind::Pair, text: "-aB_9".to_owned() });
        }
    }

    #[test]
    fn anything_else_is_unknown() {
        let long = format!("farhold://pair/{}", "a".repeat(CODE + 1));
        for link in
            ["farhold://pair/", "farhold://pair/a/b", "farhold://pair/a?b", "farhold://other/a", &long, ""]
        {
            assert_eq!(parse(link).kind, LinkKind::Unknown, "{link}");
        }
        assert_eq!(parse("farhold://a\nb").text, "farhold://ab");
    }
}
