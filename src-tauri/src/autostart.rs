//! Whether the window's program starts, hidden, when its user logs in: a file of the desktop's autostart folder
//! (freedesktop.org, Desktop Application Autostart Specification). The file is the truth; nothing else keeps it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Named like the installed desktop entry, so that desktops show its name and icon.
const FILE: &str = "org.farhold.Farhold.desktop";

/// The entry of one user.
#[derive(Debug)]
pub(crate) struct Autostart {
    file: PathBuf,
    command: Vec<PathBuf>,
}

impl Autostart {
    /// For this program and, unless it is the default one, its config directory. `None` if the user has no home.
    pub(crate) fn new(program: PathBuf, config_dir: Option<PathBuf>) -> Option<Self> {
        let given = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let config_home = given.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
        Some(Self::within(&config_home, program, config_dir))
    }

    fn within(config_home: &Path, program: PathBuf, config_dir: Option<PathBuf>) -> Self {
        let mut command = vec![program, "--hidden".into()];
        if let Some(folder) = config_dir {
            command.extend(["--config-dir".into(), folder]);
        }
        Self { file: config_home.join("autostart").join(FILE), command }
    }

    /// Whether the program starts so. Desktops switch entries off by keys of their own as well.
    pub(crate) fn is_on(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|entry| {
            let off = ["Hidden=true", "X-GNOME-Autostart-enabled=false"];
            !entry.lines().any(|line| off.contains(&line.trim()))
        })
    }

    /// Switches it.
    pub(crate) fn set(&self, on: bool) -> io::Result<()> {
        if !on {
            return match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.file, self.entry()?)
    }

    fn entry(&self) -> io::Result<String> {
        let words = self.command.iter().map(|word| {
            let word = word.to_str().filter(|word| !word.contains(char::is_control));
            word.map(quoted).ok_or_else(|| {
                let text = "an autostart entry cannot name a path that is no readable text";
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })
        });
        let command = words.collect::<io::Result<Vec<_>>>()?.join(" ");
        Ok(format!(
            "[Desktop Entry]\nType=Application\nName=Farhold\nIcon=farhold-app\nExec={command}\nTerminal=false\n"
        ))
    }
}

/// A word of an `Exec` key: quoted, and then escaped once more as every string of a desktop entry is.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '\\' => text.push_str("\\\\\\\\"),
            '"' | '`' | '$' => text.extend(["\\\\", c.encode_utf8(&mut [0; 4])]),
            '%' => text.push_str("%%"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_the_file_says() {
        let home = tempfile::tempdir().unwrap();
        let autostart = Autostart::within(home.path(), "/opt/a b/farhold-app".into(), Some("/c".into()));
        assert!(!autostart.is_on());
        autostart.set(false).unwrap();
        autostart.set(true).unwrap();
        assert!(autostart.is_on());
        let file = home.path().join("autostart").join(FILE);
        let entry = fs::read_to_string(&file).unwrap();
        assert!(entry.contains("\nExec=\"/opt/a b/farhold-app\" \"--hidden\" \"--config-dir\" \"/c\"\n"));
        // As GNOME's settings do.
        fs::write(&file, entry + "X-GNOME-Autostart-enabled=false\n").unwrap();
        assert!(!autostart.is_on());
        autostart.set(true).unwrap();
        autostart.set(false).unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn what_a_shell_would_read_is_escaped() {
        assert_eq!(quoted("a\\b$c\"%"), "\"a\\\\\\\\b\\\\$c\\\\\"%%\"");
        use std::os::unix::ffi::OsStringExt;
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/\xff".to_vec()));
        let home = tempfile::tempdir().unwrap();
        assert!(Autostart::within(home.path(), odd, None).set(true).is_err());
    }
}
