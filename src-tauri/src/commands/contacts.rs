//! Contacts and what is shared with them.

use farhold_engine::Name;
use farhold_engine::commands::ShareRequest;
use qrcode::QrCode;
use qrcode::render::svg;
use tauri::State;

use super::Shell;
use crate::dto::{Failure, FailureKind, Path};

#[tauri::command]
pub(super) async fn add_contact(shell: State<'_, Shell>, name: String, code: String) -> Result<(), Failure> {
    Ok(shell.engine()?.add_contact(name, code).await.map(drop)?)
}

#[tauri::command]
pub(super) async fn rename_contact(shell: State<'_, Shell>, old: String, new: String) -> Result<(), Failure> {
    Ok(shell.engine()?.rename_contact(old, new).await?)
}

#[tauri::command]
pub(super) async fn remove_contact(shell: State<'_, Shell>, name: String) -> Result<(), Failure> {
    Ok(shell.engine()?.remove_contact(name).await?)
}

#[tauri::command]
pub(super) async fn connect(shell: State<'_, Shell>, name: String) -> Result<(), Failure> {
    Ok(shell.engine()?.connect(name, None).await.map(drop)?)
}

#[tauri::command]
pub(super) async fn disconnect(shell: State<'_, Shell>, name: String) -> Result<(), Failure> {
    Ok(shell.engine()?.disconnect(name).await?)
}

/// A picture that a phone's camera reads as `text`.
#[tauri::command]
pub(super) fn qr(text: &str) -> Result<String, Failure> {
    let code = QrCode::new(text)
        .map_err(|error| Failure::internal("The text does not fit into a QR code", error))?;
    Ok(code.render::<svg::Color<'_>>().min_dimensions(256, 256).build())
}

#[tauri::command]
pub(super) async fn accept_pushes(
    shell: State<'_, Shell>,
    contact: String,
    folder: Option<Path>,
) -> Result<(), Failure> {
    let folder = folder.map(|folder| folder.local()).transpose()?;
    Ok(shell.engine()?.accept_pushes(contact, folder.as_deref()).await?)
}

#[tauri::command]
pub(super) async fn share(
    shell: State<'_, Shell>,
    paths: Vec<Path>,
    contact: String,
    name: Option<String>,
    writable: bool,
) -> Result<(), Failure> {
    let paths = paths.iter().map(Path::local).collect::<Result<_, _>>()?;
    let name = name.map(Name::new).transpose();
    let name =
        name.map_err(|error| Failure::new(FailureKind::Usage, format!("It cannot be called so: {error}.")))?;
    let request = ShareRequest { paths, with: Some(contact), name, writable };
    Ok(shell.engine()?.share(request).await.map(drop)?)
}

#[tauri::command]
pub(super) async fn unshare(shell: State<'_, Shell>, path: Path, contact: String) -> Result<(), Failure> {
    Ok(shell.engine()?.unshare(&path.local()?, Some(contact)).await.map(drop)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_code_becomes_a_picture() {
        let picture = super::qr(&"a".repeat(86)).unwrap();
        assert!(picture.contains("<svg") && !picture.contains("script"));
        assert!(super::qr(&"a".repeat(10_000)).is_err());
    }
}
