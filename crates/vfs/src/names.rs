//! What the trees of a contact's folder are called when both sides have one of the same name.

/// Longest name, in bytes.
pub(crate) const NAME_BYTES: usize = 255;

/// `name`, or if that is taken `NAME (mark)`, or if that is taken too `NAME (mark 2)` and so on. A name that would
/// become too long is cut at the end of a character.
pub(crate) fn shown(name: &[u8], mark: &str, taken: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    if !taken(name) {
        return name.to_vec();
    }
    marked(name, mark, taken)
}

/// `NAME (mark)`, or if that is taken `NAME (mark 2)` and so on.
pub(crate) fn marked(name: &[u8], mark: &str, taken: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut number = 1u32;
    loop {
        let suffix = if number == 1 { format!(" ({mark})") } else { format!(" ({mark} {number})") };
        let mut candidate = cut(name, NAME_BYTES.saturating_sub(suffix.len())).to_vec();
        candidate.extend_from_slice(suffix.as_bytes());
        if !taken(&candidate) {
            return candidate;
        }
        number += 1;
    }
}

/// At most `most` bytes of `name`, without half a UTF-8 character at the end.
fn cut(name: &[u8], most: usize) -> &[u8] {
    if name.len() <= most {
        return name;
    }
    let mut end = most;
    // A byte 10xxxxxx continues a character: step back to where it begins, at most three bytes.
    while end > most.saturating_sub(3) && name.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_name_is_taken() {
        assert_eq!(shown(b"a", "kX3_-q", |_| false), b"a");
        assert_eq!(shown(b"a", "kX3_-q", |name| name == b"a"), b"a (kX3_-q)");
        let taken = |name: &[u8]| name == b"a" || name == b"a (kX3_-q)";
        assert_eq!(shown(b"a", "kX3_-q", taken), b"a (kX3_-q 2)");
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        let long = "\u{e4}".repeat(127);
        let shown = shown(long.as_bytes(), "kX3_-q", |name| name == long.as_bytes());
        assert!(shown.len() <= NAME_BYTES);
        assert!(std::str::from_utf8(&shown).unwrap().ends_with("\u{e4} (kX3_-q)"));
        // No UTF-8 at all: cut anywhere, but cut.
        let odd = vec![0x80; NAME_BYTES];
        assert!(super::shown(&odd, "kX3_-q", |name| name == odd).len() <= NAME_BYTES);
    }
}
