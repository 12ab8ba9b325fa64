//! `farhold-app`: the window and the tray.
#![allow(dead_code, unused_imports)]
mod dto;
fn main() {
    let _ = tauri::Builder::default().run(tauri::generate_context!());
}
