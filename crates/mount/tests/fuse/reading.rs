//! Plain programs read the mount.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use crate::errors::{self, errno};
use crate::using::{Host, run, said};
use crate::{content, hex};

/// Legal on Linux, and odd.
const ODD: [&[u8]; 9] = [
    b"new\nline",
    b"50% off: \"now\"",
    b"trailing dot.",
    b"trailing space ",
    "emoji \u{1f980}".as_bytes(),
    b"no \xff utf8",
    b"-rf",
    b"back\\slash",
    b"*?[",
];

#[test]
fn programs_read_what_the_home_has() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let host_folder = folder.path().join("host");
    fs::create_dir(&host_folder).unwrap();
    let mut host = Host::start(&host_folder);
    let long = [b'n'; 255];
    let sizes = [0, 1, 4096, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, (3 << 20) + 77];
    let names = sizes.iter().map(|size| (size.to_string().into_bytes(), *size));
    let odd = ODD.into_iter().chain([&long[..]]).map(|name| (name.to_vec(), 100));
    for (seed, (name, size)) in names.chain(odd).enumerate() {
        let seed = u8::try_from(seed).unwrap();
        host.file(&name, size, seed);
        fs::write(source.join(OsStr::from_bytes(&name)), content(seed, size)).unwrap();
    }
    said(Command::new("diff").arg("-r").arg(&source).arg(host.tree()));
    let sums = |folder: &Path| {
        said(
            Command::new("sh")
                .args(["-c", "find . -type f -print0 | sort -z | xargs -0 sha256sum"])
                .current_dir(folder),
        )
    };
    assert_eq!(sums(&source), sums(&host.tree()));
    let listed = said(Command::new("ls").arg("-lRA").arg("--quoting-style=escape").arg(host.point()));
    for odd in ["new\\nline", "no\\ \\377\\ utf8", "emoji"] {
        assert!(listed.contains(odd), "{odd}: {listed}");
    }
    // Reading it all again, out of the caches, asks for nothing.
    let fetches = host.tell("fetches");
    assert_eq!(sums(&source), sums(&host.tree()));
    assert_eq!(host.tell("fetches"), fetches);
    assert!(host.stop().is_empty());
}

#[test]
fn random_places_are_read_right() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    let whole = content(5, 5 << 20);
    host.file(b"file", whole.len(), 5);
    let file = fs::File::open(host.path("file")).unwrap();
    let mut place = 1u64;
    for _ in 0..300 {
        // A generator is enough: the places only have to be all over the file.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (place >> 33) as usize % whole.len();
        let length = (place >> 20) as usize % 300_000;
        let mut read = vec![0; length.min(whole.len() - at)];
        file.read_exact_at(&mut read, at as u64).unwrap();
        assert!(read == whole[at..at + read.len()], "at {at}+{length}");
    }
    drop(file);
    host.stop();
}

#[test]
fn files_are_mapped_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    // A program runs by being mapped.
    assert_eq!(host.tell(&format!("copy {} /bin/echo", hex(b"echo"))), "ok");
    assert_eq!(said(Command::new(host.path("echo")).arg("mapped")), "mapped\n");
    host.file(b"file", 1 << 20, 9);
    let script = "import mmap, sys; f = open(sys.argv[1], 'rb'); \
                  sys.stdout.buffer.write(mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)[:])";
    match Command::new("python3").args(["-c", script]).arg(host.path("file")).output() {
        Ok(output) => {
            assert!(output.stdout == content(9, 1 << 20), "{}", String::from_utf8_lossy(&output.stderr))
        }
        Err(error) => println!("shared maps are not tried: python3: {error}"),
    }
    host.stop();
}

#[test]
fn large_folders_are_listed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    assert_eq!(host.tell("many 10000"), "ok");
    let many = host.path("many");
    let count =
        |script: &str| said(Command::new("sh").args(["-c", script]).current_dir(&many)).trim().to_owned();
    assert_eq!(count("ls -U | sort -u | wc -l"), "10000");
    assert_eq!(count("ls -l | grep -c '^-r--r--r--'"), "10000");
    assert_eq!(count("find . -type f -size -6c | wc -l"), "10000");
    // d_ino is st_ino.
    let entry = fs::read_dir(&many).unwrap().next().unwrap().unwrap();
    assert_eq!(std::os::unix::fs::DirEntryExt::ino(&entry), fs::metadata(entry.path()).unwrap().ino());
    host.stop();
}

#[test]
fn attributes_links_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 1000, 1);
    host.tell("link inside file");
    host.tell("link outside ../../../../etc/passwd");
    let stat = fs::metadata(host.path("file")).unwrap();
    let me = fs::metadata(folder.path()).unwrap();
    assert_eq!((stat.len(), stat.mode() & 0o7777, stat.nlink()), (1000, 0o440, 1));
    assert_eq!((stat.uid(), stat.gid()), (me.uid(), me.gid()));
    assert_eq!((stat.mtime(), stat.mtime_nsec()), (1_700_000_000, 5));
    assert_eq!(fs::read_link(host.path("inside")).unwrap(), Path::new("file"));
    assert_eq!(fs::read(host.path("inside")).unwrap(), content(1, 1000));
    assert_eq!(errno(fs::read(host.path("outside"))), errors::EACCES);
    assert_eq!(errno(fs::read(host.path("none"))), errors::ENOENT);
    assert_eq!(errno(fs::read(host.path(&"n".repeat(256)))), errors::ENAMETOOLONG);
    assert_eq!(errno(fs::read(host.path("file/x"))), errors::ENOTDIR);
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = table.lines().find(|line| line.contains(host.point().to_str().unwrap())).unwrap();
    for part in ["nosuid", "nodev", " - fuse.farhold farhold ", "default_permissions"] {
        assert!(mount.contains(part), "{part}: {mount}");
    }
    host.stop();
}

#[test]
fn a_file_is_one_piece_and_has_no_extended_attributes() {
    use rustix::fs::{SeekFrom, getxattr, seek};
    use rustix::io::Errno;

    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 1000, 1);
    let file = fs::File::open(host.path("file")).unwrap();
    // The second time the kernel knows without asking.
    for _ in 0..2 {
        assert_eq!(seek(&file, SeekFrom::Data(300)), Ok(300));
        assert_eq!(seek(&file, SeekFrom::Hole(300)), Ok(1000));
        assert_eq!(seek(&file, SeekFrom::Data(1000)), Err(Errno::NXIO));
        let mut value = [0u8; 64];
        assert_eq!(getxattr(host.path("file"), "user.any", &mut value), Err(Errno::OPNOTSUPP));
    }
    drop(file);
    host.stop();
}

#[test]
fn nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    let file = host.path("file");
    let root = rustix::process::geteuid().is_root();
    // Modes keep an ordinary user from some of it already.
    let read_only = |result| {
        let errno = errno(result);
        assert!(errno == errors::EROFS || (!root && errno == errors::EACCES), "{errno}");
    };
    read_only(fs::write(&file, "x").map(drop));
    read_only(fs::write(host.path("new"), "x").map(drop));
    read_only(fs::create_dir(host.path("new")));
    read_only(fs::remove_file(&file));
    read_only(fs::rename(&file, host.path("new")));
    read_only(std::os::unix::fs::symlink("x", host.path("new")));
    assert_eq!(errno(fs::set_permissions(&file, mode(0o777))), errors::EROFS);
    let own = (fs::metadata(&file).unwrap().uid(), 12_345);
    assert_eq!(errno(std::os::unix::fs::chown(&file, Some(own.0), Some(own.1))), errors::EPERM);
    if root {
        assert_eq!(errno(fs::hard_link(&file, host.path("new"))), errors::EPERM);
        assert_eq!(errno(fs::create_dir(host.point().join("new"))), errors::EPERM);
        assert_eq!(errno(fs::remove_dir(host.point().join("bob"))), errors::EPERM);
        assert_eq!(errno(fs::remove_dir(host.tree())), errors::EBUSY);
    }
    assert_eq!(fs::read(&file).unwrap(), content(1, 10));
    assert!(!run(Command::new("touch").arg(host.path("new"))).status.success());
    host.stop();
}

fn mode(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}
