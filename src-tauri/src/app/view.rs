//! The window itself: how it is made, where it is put, and what of it the controller is told.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tauri::webview::{NewWindowResponse, PageLoadEvent, PermissionResponse};
use tauri::{
    AppHandle, DragDropEvent, LogicalPosition, LogicalSize, Monitor, Url, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder,
};
use tokio::sync::mpsc;
use webkit2gtk::WebViewExt;

use super::{WINDOW, lock};
use crate::controller::{Event, WindowEvent};
use crate::dto::Path;
use crate::preferences::Place;

/// Size at first, and the least, in logical pixels.
const SIZE: (f64, f64) = (1080.0, 720.0);
const LEAST: (f64, f64) = (720.0, 520.0);
/// So much of the window's top must be on a screen, for it to be moved by.
const VISIBLE: i32 = 80;

/// Tells the controller what happened to the window. Nobody waits here: this is where the window is drawn.
pub(super) fn tell(events: &mpsc::Sender<Event>, event: WindowEvent) {
    if let Err(error) = events.try_send(Event::Window(event)) {
        tracing::warn!("something that happened to the window is passed over: {error}");
    }
}

/// Makes the window, without showing it, where it was last.
pub(super) fn open(
    app: &AppHandle,
    events: &mpsc::Sender<Event>,
    place: Arc<Mutex<Option<Place>>>,
) -> tauri::Result<WebviewWindow> {
    let loaded = events.clone();
    let builder = WebviewWindowBuilder::new(app, WINDOW, WebviewUrl::default())
        .title("Farhold")
        .visible(false)
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(LEAST.0, LEAST.1)
        // The page shows what this program is made with, and nothing else.
        .on_navigation(is_ours)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_download(|_, _| false)
        .on_permission_request(|_, _| PermissionResponse::Deny)
        .on_page_load(move |_, page| {
            if page.event() == PageLoadEvent::Finished {
                tell(&loaded, WindowEvent::Loaded);
            }
        });
    let window = builder.build()?;
    let last = *lock(&place);
    if let Some(last) = last {
        put(&window, last)?;
    }
    let crashed = events.clone();
    window.with_webview(move |webview| {
        webview.inner().connect_web_process_terminated(move |_, _| tell(&crashed, WindowEvent::Crashed));
    })?;
    let (events, watched) = (events.clone(), window.clone());
    window.on_window_event(move |event| {
        if let Some(event) = translate(event, &watched, &place) {
            tell(&events, event);
        }
    });
    Ok(window)
}

/// Whether the page may go there: only to itself.
fn is_ours(url: &Url) -> bool {
    let development = tauri::is_dev() && url.as_str().starts_with("http://localhost:1420/");
    development || (url.scheme() == "tauri" && url.host_str() == Some("localhost"))
}

fn translate(
    event: &tauri::WindowEvent,
    window: &WebviewWindow,
    place: &Mutex<Option<Place>>,
) -> Option<WindowEvent> {
    match event {
        tauri::WindowEvent::CloseRequested { api, .. } => {
            api.prevent_close();
            Some(WindowEvent::CloseRequested)
        }
        tauri::WindowEvent::Resized(_) | tauri::WindowEvent::Moved(_) => {
            let now = placed(window, *lock(place)).ok().flatten()?;
            *lock(place) = Some(now);
            Some(WindowEvent::Placed(now))
        }
        tauri::WindowEvent::DragDrop(DragDropEvent::Enter { paths, .. }) => {
            let count = files(paths).len();
            Some(WindowEvent::Dragging((count > 0).then_some(count)))
        }
        tauri::WindowEvent::DragDrop(DragDropEvent::Leave) => Some(WindowEvent::Dragging(None)),
        tauri::WindowEvent::DragDrop(DragDropEvent::Drop { paths, .. }) => {
            Some(WindowEvent::Dropped(files(paths)))
        }
        tauri::WindowEvent::Destroyed
        | tauri::WindowEvent::Focused(_)
        | tauri::WindowEvent::ScaleFactorChanged { .. }
        | tauri::WindowEvent::DragDrop(_)
        | tauri::WindowEvent::ThemeChanged(_)
        // Tauri may add others.
        | _ => None,
    }
}

/// What of a drag is on this machine: links out of a browser are dragged as paths too.
fn files(paths: &[PathBuf]) -> Vec<Path> {
    paths.iter().filter(|path| path.is_absolute()).map(Path::new).collect()
}

/// Where the window is; of one that fills the screen, where it was before. `None` while it cannot be seen.
fn placed(window: &WebviewWindow, before: Option<Place>) -> tauri::Result<Option<Place>> {
    if !window.is_visible()? || window.is_minimized()? {
        return Ok(None);
    }
    if window.is_maximized()? {
        return Ok(before.map(|before| Place { maximized: true, ..before }));
    }
    let scale = window.scale_factor()?;
    let position = window.outer_position()?.to_logical::<i32>(scale);
    let size = window.inner_size()?.to_logical::<u32>(scale);
    Ok(Some(Place { x: position.x, y: position.y, width: size.width, height: size.height, maximized: false }))
}

/// Puts the window where it was, unless that is on no screen any more.
fn put(window: &WebviewWindow, place: Place) -> tauri::Result<()> {
    window.set_size(LogicalSize::new(place.width, place.height))?;
    let screens = window.available_monitors()?;
    if screens.iter().map(area).any(|screen| is_within(place, screen)) {
        window.set_position(LogicalPosition::new(place.x, place.y))?;
    }
    if place.maximized {
        window.maximize()?;
    }
    Ok(())
}

/// A screen's left, top, right and bottom, in logical pixels.
fn area(screen: &Monitor) -> [i32; 4] {
    let position = screen.position().to_logical::<i32>(screen.scale_factor());
    let size = screen.size().to_logical::<i32>(screen.scale_factor());
    [position.x, position.y, position.x.saturating_add(size.width), position.y.saturating_add(size.height)]
}

fn is_within(place: Place, [left, top, right, bottom]: [i32; 4]) -> bool {
    let end = place.x.saturating_add(i32::try_from(place.width).unwrap_or(i32::MAX));
    let across = end.min(right).saturating_sub(place.x.max(left));
    across >= VISIBLE && place.y >= top && place.y.saturating_add(VISIBLE) <= bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_nowhere_else() {
        let goes = |url: &str| is_ours(&Url::parse(url).unwrap());
        assert!(goes("tauri://localhost/") && goes("tauri://localhost/index.html"));
        for other in [
            "file:///etc/passwd",
            "https://example.org/",
            "tauri://other/",
            "data:text/html,x",
            "about:blank",
        ] {
            assert!(!goes(other), "{other}");
        }
    }

    #[test]
    fn links_are_no_files() {
        let dragged = ["/a b", "https://example.org/a"].map(PathBuf::from);
        assert_eq!(files(&dragged), [Path::new("/a b")]);
    }

    #[test]
    fn a_window_is_put_only_where_it_can_be_reached() {
        let screen = [0, 0, 1280, 800];
        let at = |x, y| Place { x, y, width: 800, height: 600, maximized: false };
        assert!(
            is_within(at(0, 0), screen)
                && is_within(at(-700, 10), screen)
                && is_within(at(1200, 700), screen)
        );
        for lost in [at(-790, 10), at(1270, 10), at(10, -20), at(10, 790), at(i32::MAX, 0)] {
            assert!(!is_within(lost, screen), "{lost:?}");
        }
    }
}
