//! Whether a symbolic link of a contact may be followed.

/// Whether a link in a folder `depth` levels below the root of its tree stays inside that tree.
///
/// Only `..` at the very start are allowed, and no more of them than there are levels: they start at the link's real
/// folder, so they are exact. A `..` after a name is not: the name may itself be a link to somewhere else, and a home
/// that makes `a -> .` could climb out with `a/..`, one level at a time. Names that follow are inside, or are links
/// that are checked in their own place.
pub(crate) fn stays_inside(target: &[u8], depth: usize) -> bool {
    if target.is_empty() || target.starts_with(b"/") || target.contains(&0) {
        return false;
    }
    let mut climbed = 0;
    let mut named = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if named => return false,
            b".." => climbed += 1,
            _ => named = true,
        }
    }
    climbed <= depth
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_inside_their_tree() {
        for (target, depth) in [
            ("name", 0),
            ("folder/name", 0),
            ("./name", 0),
            ("..name", 0),
            ("../name", 1),
            ("..", 1),
            (".././../a//b/", 2),
        ] {
            assert!(stays_inside(target.as_bytes(), depth), "{target} at {depth}");
        }
    }

    #[test]
    fn links_out_of_their_tree() {
        for (target, depth) in [
            ("", 3),
            ("/etc/passwd", 3),
            ("..", 0),
            ("../other tree", 0),
            ("../../../etc/passwd", 2),
            ("a/../b", 3),
            ("a/a/a/../../../../../../etc/passwd", 3),
            ("./..", 0),
            ("a\0b", 3),
        ] {
            assert!(!stays_inside(target.as_bytes(), depth), "{target} at {depth}");
        }
    }

    proptest! {
        /// Follows links as a kernel does, in a tree full of links that are all allowed, and never leaves the tree.
        #[test]
        fn no_chain_of_allowed_links_leaves_the_tree(
            links in prop::collection::vec((0usize..4, prop::collection::vec(0u8..4, 1..6)), 4),
            walk in prop::collection::vec(0u8..4, 1..8),
        ) {
            // A place is a depth below the tree's root; every folder holds a folder `d`, and links `l0`, `l1`, that
            // hang at one depth each. Depth is all that matters for leaving.
            let text = |parts: &[u8]| parts.iter().map(|part| ["..", "d", "l0", "l1"][usize::from(*part)]).collect::<Vec<_>>().join("/");
            let links: Vec<(usize, String)> = links.iter().map(|(depth, parts)| (*depth, text(parts))).collect();
            fn follow(target: &str, mut depth: i64, links: &[(usize, String)], fuel: &mut u32) -> Option<i64> {
                for part in target.split('/') {
                    *fuel = fuel.checked_sub(1)?;
                    depth = match part {
                        ".." => depth - 1,
                        "d" => depth + 1,
                        link => {
                            let number: usize = link[1..].parse().ok()?;
                            let here = usize::try_from(depth).ok()?;
                            let (at, target) = links.iter().skip(number).step_by(2).find(|(at, _)| *at == here)?;
                            if !stays_inside(target.as_bytes(), *at) {
                                return None;
                            }
                            follow(target, depth, links, fuel)?
                        }
                    };
                    assert!(depth >= 0, "left the tree by {target}");
                }
                Some(depth)
            }
            let start = text(&walk);
            for depth in 0..4usize {
                if stays_inside(start.as_bytes(), depth) {
                    follow(&start, i64::try_from(depth).unwrap(), &links, &mut 200);
                }
            }
        }
    }
}
