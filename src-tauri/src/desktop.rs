//! What the window does with the desktop around it: clipboard, file choosers, file manager.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use gtk::gdk;
use gtk::prelude::*;
use tauri::{AppHandle, Manager};
use tokio::sync::oneshot;
use zbus::{Connection, Proxy};

use crate::app::WINDOW;
use crate::dto::{self, Failure};
use crate::texts::Texts;

/// How long a file manager may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// What a file chooser is to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Files that are there.
    Files,
    /// A folder that is there, or a new one.
    Folder,
    /// A file to write, with a proposal for its name.
    Save(&'static str),
}

/// Runs `work` where GTK may be used, and waits for what it sends.
async fn on_main<T: Send + 'static>(
    app: &AppHandle,
    work: impl FnOnce(oneshot::Sender<T>) + Send + 'static,
) -> Result<T, Failure> {
    let (sender, result) = oneshot::channel();
    app.run_on_main_thread(move || work(sender))
        .map_err(|error| Failure::internal("The window ended", error))?;
    result.await.map_err(|_| Failure::internal("The window ended", "no answer"))
}

/// Puts text into the clipboard.
pub(crate) async fn copy_text(app: &AppHandle, text: String) -> Result<(), Failure> {
    on_main(app, move |done| {
        gtk::Clipboard::get(&gdk::SELECTION_CLIPBOARD).set_text(&text);
        // Whoever asked may be gone, here and below.
        let _ = done.send(());
    })
    .await
}

/// The files in the clipboard.
pub(crate) async fn paste_paths(app: &AppHandle) -> Result<Vec<PathBuf>, Failure> {
    on_main(app, |done| {
        gtk::Clipboard::get(&gdk::SELECTION_CLIPBOARD).request_uris(|_, urls| {
            let _ = done.send(urls.iter().filter_map(|url| dto::of_file_url(url)).collect());
        });
    })
    .await
}

/// Lets the user choose; nothing if that was called off.
pub(crate) async fn choose(
    app: &AppHandle,
    choice: Choice,
    texts: &'static Texts,
) -> Result<Vec<PathBuf>, Failure> {
    let handle = app.clone();
    on_main(app, move |done| {
        let parent = handle.get_webview_window(WINDOW).and_then(|window| window.gtk_window().ok());
        let (title, action) = match choice {
            Choice::Files => (texts.pick_files, gtk::FileChooserAction::Open),
            Choice::Folder => (texts.pick_folder, gtk::FileChooserAction::SelectFolder),
            Choice::Save(_) => (texts.save_diagnostics, gtk::FileChooserAction::Save),
        };
        let chooser = gtk::FileChooserNative::new(Some(title), parent.as_ref(), action, None, None);
        chooser.set_modal(true);
        match choice {
            Choice::Files => chooser.set_select_multiple(true),
            Choice::Folder => chooser.set_create_folders(true),
            Choice::Save(name) => {
                chooser.set_current_name(name);
                chooser.set_do_overwrite_confirmation(true);
            }
        }
        // Nobody else holds the chooser until it is answered.
        let held = Rc::new(std::cell::Cell::new(Some((chooser.clone(), done))));
        chooser.connect_response(move |_, response| {
            let Some((chooser, done)) = held.take() else { return };
            let chosen = if response == gtk::ResponseType::Accept { chooser.uris() } else { Vec::new() };
            let _ = done.send(chosen.iter().filter_map(|url| dto::of_file_url(url)).collect());
            chooser.destroy();
        });
        chooser.show();
    })
    .await
}

/// Opens a folder in the file manager.
pub(crate) async fn open_folder(folder: &Path) -> Result<(), Failure> {
    if ask_file_manager("ShowFolders", folder).await {
        return Ok(());
    }
    xdg_open(folder).await
}

/// Shows a file or folder in the folder that it is in.
pub(crate) async fn show_in_folder(path: &Path) -> Result<(), Failure> {
    if ask_file_manager("ShowItems", path).await {
        return Ok(());
    }
    xdg_open(path.parent().unwrap_or(path)).await
}

/// Asks a file manager that listens on the session bus (org.freedesktop.FileManager1); whether one does so.
async fn ask_file_manager(what: &str, path: &Path) -> bool {
    let asked = async {
        let bus = Connection::session().await?;
        let name = "org.freedesktop.FileManager1";
        let manager = Proxy::new(&bus, name, "/org/freedesktop/FileManager1", name).await?;
        let url = dto::Path::new(path).to_file_url();
        manager.call::<_, _, ()>(what, &([url.as_str()].as_slice(), "")).await
    };
    matches!(tokio::time::timeout(ANSWER, asked).await, Ok(Ok(())))
}

async fn xdg_open(folder: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let what = format!("No file manager opens {}", folder.display());
        Failure::internal(&what, format!("{error}; install one, or open the folder by hand"))
    };
    // With a slash at its end it is nothing but a folder: a contact's file must not be opened by its program.
    let opening = tokio::process::Command::new("xdg-open").arg(folder.join("")).status();
    match tokio::time::timeout(ANSWER, opening).await {
        // Without a desktop environment it lasts as long as the file manager's window.
        Ok(Ok(status)) if status.success() => Ok(()),
        Err(_) => Ok(()),
        Ok(Ok(status)) => Err(failed(&status)),
        Ok(Err(error)) => Err(failed(&error)),
    }
}
