//! Paths on their way to the page and back. A path is bytes, and the page knows text only: so every byte that is not
//! one of a few plain characters is percent-encoded, and the page never builds a path of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use farhold_engine::commands::DrivePath;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Failure, FailureKind};

/// Longest path that is taken from the page, in bytes before they are decoded: PATH_MAX, each byte as three.
const MOST: usize = 3 * 4096;

/// Opaque: a path's bytes, percent-encoded. The page hands back what it got and never builds one from text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn new(path: impl AsRef<OsStr>) -> Self {
        use std::fmt::Write;
        let mut text = String::new();
        for byte in path.as_ref().as_bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'~' | b'/' | b'-' => {
                    text.push(char::from(*byte));
                }
                byte => {
                    // Writing to a string does not fail.
                    let _ = write!(text, "%{byte:02X}");
                }
            }
        }
        Self(text)
    }

    /// A path of the drive.
    pub(crate) fn of_drive(path: &DrivePath) -> Self {
        Self::new(OsStr::from_bytes(&path.to_bytes()))
    }

    /// As a URL of this machine: the encoding is the same.
    pub(crate) fn to_file_url(&self) -> String {
        format!("file://{}", self.0)
    }

    fn decoded(&self) -> Result<OsString, Failure> {
        let bytes = if self.0.len() <= MOST { decode(self.0.as_bytes()) } else { None };
        bytes.map(OsString::from_vec).ok_or_else(|| Failure::new(FailureKind::Usage, "This is no path."))
    }

    /// As an absolute path of this machine.
    pub(crate) fn local(&self) -> Result<PathBuf, Failure> {
        let path = PathBuf::from(self.decoded()?);
        if path.is_absolute() {
            Ok(path)
        } else {
            Err(Failure::new(FailureKind::Usage, "This is no whole path."))
        }
    }

    /// As a path of the drive; `None` is its top.
    pub(crate) fn drive(&self) -> Result<Option<DrivePath>, Failure> {
        let text = self.decoded()?;
        if text.is_empty() {
            return Ok(None);
        }
        let path = DrivePath::parse(&text);
        path.map(Some).map_err(|error| {
            Failure::new(FailureKind::Usage, format!("This is no path in the drive: {error}."))
        })
    }

    /// As a path of the drive that is not its top.
    pub(crate) fn drive_entry(&self) -> Result<DrivePath, Failure> {
        self.drive()?.ok_or_else(|| Failure::new(FailureKind::Usage, "Choose something in the drive."))
    }
}

/// `None` if a percent sign is not followed by two hexadecimal digits.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next())? << 4 | digit(rest.next())?).ok()?,
            byte => *byte,
        });
    }
    Some(bytes)
}

/// Decodes the path of a `file:` URL of this machine, as clipboards and file choosers give it.
pub(crate) fn of_file_url(url: &str) -> Option<PathBuf> {
    let rest = url.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = PathBuf::from(OsString::from_vec(decode(path.as_bytes())?));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let path = OsString::from_vec([b"/".as_slice(), &bytes].concat());
            let sent = Path::new(&path);
            prop_assert!(sent.0.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(sent.local().unwrap().into_os_string(), path);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["relative", "", "%", "/a%4", "/a%zz"] {
            assert!(Path(text.to_owned()).local().is_err(), "{text}");
        }
        assert!(Path("a".repeat(MOST + 1)).drive().is_err());
        assert!(Path("ben/../x".to_owned()).drive().is_err());
        assert_eq!(Path(String::new()).drive().unwrap(), None);
        let drive = Path("ben/a%FF".to_owned()).drive().unwrap().unwrap();
        assert_eq!(Path::of_drive(&drive), Path("ben/a%FF".to_owned()));
    }

    #[test]
    fn file_urls_are_paths_of_this_machine_only() {
        assert_eq!(of_file_url("file:///a%20b%FF").unwrap().as_os_str().as_bytes(), b"/a b\xff");
        assert_eq!(of_file_url("file://localhost/a").unwrap(), PathBuf::from("/a"));
        for other in ["file://host/a", "http://host/a", "/a", ""] {
            assert_eq!(of_file_url(other), None, "{other}");
        }
    }
}
