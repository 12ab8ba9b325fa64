//! What is mounted where, as the kernel tells it in `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Where the kernel tells it.
pub(super) const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MountEntry {
    /// The kernel's number of this mount; used again once it is gone.
    pub(super) id: u32,
    /// Minor number of the device; of a FUSE mount, the number of its connection.
    pub(super) minor: u32,
    /// Where it is mounted.
    pub(super) point: PathBuf,
    /// Type of the file system, with its subtype.
    pub(super) kind: String,
    /// What is mounted.
    pub(super) source: String,
}

impl MountEntry {
    /// Whether `other`, as the table has it at another time, is this mount.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.id, self.minor, &self.point) == (other.id, other.minor, &other.point)
    }
}

/// All mounts that this process sees, in the order in which they cover each other.
pub(super) fn read() -> io::Result<Vec<MountEntry>> {
    Ok(parse(&fs::read(MOUNTINFO)?))
}

/// The mount that a path walk to exactly `point` ends on, if something is mounted there.
pub(super) fn topmost(point: &Path) -> io::Result<Option<MountEntry>> {
    Ok(read()?.into_iter().rfind(|entry| entry.point == point))
}

fn parse(text: &[u8]) -> Vec<MountEntry> {
    text.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = number(fields.next()?)?;
    let device = fields.nth(1)?;
    let minor = number(device.rsplit(|byte| *byte == b':').next()?)?;
    let point = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
    // Any number of optional fields, ended by a dash.
    fields.find(|field| *field == b"-")?;
    let kind = text(fields.next()?);
    let source = text(fields.next()?);
    Some(MountEntry { id, minor, point, kind, source })
}

fn number(field: &[u8]) -> Option<u32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

/// Space, tab, newline and backslash stand as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| {
            digits.iter().try_fold(0u8, |value, digit| match digit {
                b'0'..=b'7' => value.checked_mul(8)?.checked_add(digit - b'0'),
                _ => None,
            })
        });
        match octal {
            Some(value) if byte == b'\\' => {
                plain.push(value);
                rest = &after[3..];
            }
            Some(_) | None => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_and_without_optional_fields() {
        let text = b"36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw\n\
                     90 36 0:57 / /home/a\\040b\\134c rw,nosuid - fuse.farhold farhold rw,user_id=0\n\
                     nonsense\n";
        let entries = parse(text);
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].id, entries[0].minor, entries[0].kind.as_str()), (36, 0, "ext3"));
        assert_eq!(entries[1].point, Path::new("/home/a b\\c"));
        assert_eq!((entries[1].minor, entries[1].source.as_str()), (57, "farhold"));
        assert_eq!(entries[1].kind, "fuse.farhold");
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(unescape(b"a\\04"), b"a\\04");
        assert_eq!(unescape(b"\\999"), b"\\999");
        assert_eq!(unescape(b"\\777"), b"\\777");
        assert_eq!(unescape(b"x\\012y"), b"x\ny");
    }

    #[test]
    fn the_root_is_a_mount() {
        assert!(topmost(Path::new("/")).unwrap().is_some());
    }
}
