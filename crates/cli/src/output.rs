//! What commands print: text for people, or one JSON document for programs.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::exit::CommandError;

pub(crate) mod cache;
pub(crate) mod holders;
pub(crate) mod listing;
pub(crate) mod rates;
pub(crate) mod shares;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod transfers;

/// How to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether programs read it.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints one answer on a line of JSON, or as text.
    pub(crate) fn say(
        self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), CommandError> {
        self.print(&if self.json { json().to_string() } else { text() })
    }

    /// Prints what is the same for programs and people.
    pub(crate) fn print(self, text: &str) -> Result<(), CommandError> {
        write(&mut io::stdout().lock(), text).map_err(CommandError::io("cannot write to standard output"))
    }

    /// Prints why the command failed, and gives its exit code.
    pub(crate) fn fail(self, error: &CommandError) -> ExitCode {
        let (code, class) = error.code();
        let line = if self.json {
            json!({"error": error.to_string(), "class": class, "code": code}).to_string()
        } else {
            format!("farhold: {error}")
        };
        // Nobody is left to be told that standard error is closed.
        let _ = write(&mut io::stderr().lock(), &line);
        ExitCode::from(code)
    }
}

/// A reader who has seen enough (`| head`) is no error.
fn write(stream: &mut impl Write, line: &str) -> io::Result<()> {
    let end = if line.is_empty() || line.ends_with('\n') { "" } else { "\n" };
    match write!(stream, "{line}{end}").and_then(|()| stream.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A name for a terminal: control characters would move the cursor or colour what follows, invisible ones would turn
/// the direction of the text or hide a difference.
pub(crate) fn printable(name: &str) -> String {
    name.chars()
        .map(
            |c| {
                if c.is_control() || is_invisible(c) { c.escape_unicode().to_string() } else { c.to_string() }
            },
        )
        .collect()
}

/// Marks of direction, separators of lines, and what has no width (Unicode's `Bidi_Control` and `Default_Ignorable`, as
/// far as no script needs them within names: joiners, which some do, stay).
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_ends_once_and_a_closed_pipe_is_no_error() {
        let mut out = Vec::new();
        for line in ["a", "b\n", ""] {
            write(&mut out, line).unwrap();
        }
        assert_eq!(out, b"a\nb\n");

        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        write(&mut Closed, "a").unwrap();
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nü😀"), "a\\u{1b}[2Jb\\u{a}ü😀");
        // The end would be shown as `exe.gpj`.
        assert_eq!(printable("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(printable("a\u{200b}\u{2066}b"), "a\\u{200b}\\u{2066}b");
        // A joiner makes the letters of some scripts.
        assert_eq!(printable("\u{645}\u{6cc}\u{200c}\u{62e}"), "\u{645}\u{6cc}\u{200c}\u{62e}");
    }
}
