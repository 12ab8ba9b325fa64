//! What the demo's second peer shares: text, pictures, a large file, nested folders, names that are hard to handle.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::picture::bitmap;

const LARGE_BYTES: u64 = 64_000_000;

/// Makes the folder `root` with everything in it.
pub(crate) fn make(root: &Path) -> io::Result<()> {
    let pictures = root.join("Pictures");
    let deep = root.join("Notes/deeper/and deeper/still");
    let odd = root.join("Odd names");
    for folder in [&pictures, &deep, &odd, &root.join("Nothing in here")] {
        fs::create_dir_all(folder)?;
    }
    fs::write(root.join("Read me.txt"), README)?;
    fs::write(root.join("empty.txt"), "")?;
    fs::write(root.join("Notes/shopping.txt"), "milk\nbread\ncoffee\n")?;
    fs::write(deep.join("found it.txt"), "This far down, and still a few microseconds away.\n")?;
    std::os::unix::fs::symlink("Notes/shopping.txt", root.join("link to the shopping list"))?;
    fs::write(pictures.join("gradient.bmp"), bitmap(320, 200, |x, y| [(x * 4 / 5) as u8, y as u8, 128]))?;
    fs::write(pictures.join("rings.bmp"), bitmap(256, 256, rings))?;
    fs::write(pictures.join("board.bmp"), bitmap(240, 240, board))?;
    large(&root.join("large.bin"))?;
    for name in odd_names() {
        match fs::write(odd.join(OsStr::from_bytes(&name)), format!("{} bytes of name\n", name.len())) {
            // Some file systems take text alone, or shorter names: then these are not in the sample.
            Err(error) if refuses_name(&error) => {}
            written => written?,
        }
    }
    Ok(())
}

const README: &str = "This folder belongs to the demo's second peer.\n\
    What you read of it travels encrypted, over the relay's bridge or directly, and is cached on your side.\n\
    Read large.bin twice: the second time nothing travels.\n";

fn odd_names() -> Vec<Vec<u8>> {
    vec![
        [b"a".repeat(251).as_slice(), b".txt"].concat(),
        ["ü".repeat(125).as_bytes(), b"x.txt"].concat(),
        "😀 smile.txt".into(),
        b"two\nlines.txt".to_vec(),
        b"not utf-8 \xe9\xff.txt".to_vec(),
        b" space around ".to_vec(),
        b"100%25 \"quoted\" 'n' back\\slash:*?.txt".to_vec(),
        b"-rf".to_vec(),
        b"trailing dot.".to_vec(),
    ]
}

fn refuses_name(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::ILSEQ, Errno::INVAL, Errno::NAMETOOLONG]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn rings(x: u16, y: u16) -> [u8; 3] {
    let square = |v: u16| (i32::from(v) - 128).pow(2);
    let distance = f64::from(square(x) + square(y)).sqrt();
    let bright = (distance / 6.0).sin().mul_add(100.0, 128.0) as u8;
    [bright, 96, 255 - bright]
}

fn board(x: u16, y: u16) -> [u8; 3] {
    if (x / 30 + y / 30).is_multiple_of(2) { [238, 216, 180] } else { [101, 67, 33] }
}

/// Numbers of a 64-bit linear congruential generator (Knuth, MMIX): nothing on the way can compress them.
fn large(path: &Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut number: u64 = 1;
    for _ in 0..LARGE_BYTES / 8 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        file.write_all(&number.to_le_bytes())?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_it_promises() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("Sample");
        make(&root).unwrap();
        assert_eq!(root.join("large.bin").metadata().unwrap().len(), LARGE_BYTES);
        assert!(fs::read(root.join("Pictures/rings.bmp")).unwrap().starts_with(b"BM"));
        assert!(root.join("link to the shopping list").exists());
        assert_eq!(fs::read_dir(root.join("Nothing in here")).unwrap().count(), 0);
        assert!(fs::read_dir(root.join("Odd names")).unwrap().count() > 0);
    }

    #[test]
    fn the_longest_names_are_as_long_as_names_can_be() {
        let longest: Vec<_> = odd_names().iter().map(Vec::len).filter(|length| *length == 255).collect();
        assert_eq!(longest, [255, 255]);
    }
}
