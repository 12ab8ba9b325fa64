//! Which symlink targets are told.

/// Whether a link whose folder lies `depth` folders below its share's root leads to something inside the share.
///
/// Told are relative targets that first go up, at most to the root, and then only down. What goes up leads through
/// real folders, and any link met on the way down keeps the same rule, so no chain of such links leaves the share.
/// A `..` after a name could leave it if that name is a link itself, so it is not told.
pub fn stays_inside(target: &[u8], depth: usize) -> bool {
    if target.is_empty() || target.starts_with(b"/") || target.contains(&0) {
        return false;
    }
    let mut up = 0;
    let mut down = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if down => return false,
            b".." => up += 1,
            _ => down = true,
        }
    }
    up <= depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_is_told_and_outside_is_not() {
        for (target, depth) in [
            (&b"a"[..], 0),
            (b"a/b", 0),
            (b"./a//b/", 0),
            (b"..", 1),
            (b"../a", 1),
            (b"../../a", 2),
            (b".", 0),
        ] {
            assert!(stays_inside(target, depth), "{:?}", String::from_utf8_lossy(target));
        }
        for (target, depth) in [
            (&b""[..], 3),
            (b"/etc/passwd", 9),
            (b"..", 0),
            (b"../../a", 1),
            (b"a/../b", 5),
            (b"a/..", 5),
            (b"./../..", 1),
            (b"a\0b", 5),
        ] {
            assert!(!stays_inside(target, depth), "{:?}", String::from_utf8_lossy(target));
        }
    }
}
