//! Shows the tray's icon and menu as an item of the session bus (org.kde.StatusNotifierItem), and looks whether any
//! tray is there to show it.

use ksni::menu::{MenuItem, StandardItem, SubMenu};
use ksni::{OfflineReason, TrayMethods};
use tauri::image::Image;
use tauri::include_image;
use tokio::sync::{mpsc, watch};
use zbus::Connection;

use super::{Icon, Line};
use crate::controller::Event;

mod host;

/// What the item shows.
pub(crate) type Shown = Option<(Icon, Vec<Line>)>;

/// The item.
struct Item {
    events: mpsc::Sender<Event>,
    icon: Icon,
    lines: Vec<Line>,
    /// Whether the panel that it lies in is dark.
    dark: bool,
}

/// Shows what `shown` says, and tells whether a tray is there, until `shown` ends.
pub(crate) async fn run(mut shown: watch::Receiver<Shown>, events: mpsc::Sender<Event>) {
    let Ok(first) = shown.wait_for(Option::is_some).await.map(|shown| shown.clone()) else { return };
    let Some((icon, lines)) = first else { return };
    let Ok(bus) = Connection::session().await else {
        tracing::info!("there is no session bus, so there is no tray");
        return;
    };
    let item = Item { events: events.clone(), icon, lines, dark: host::has_dark_panel(&bus).await };
    // A tray may come later: the item then appears by itself.
    let item = match item.assume_sni_available(true).spawn().await {
        Ok(item) => item,
        Err(error) => {
            tracing::warn!("the tray cannot be used: {error}");
            return;
        }
    };
    let follow = async {
        while shown.changed().await.is_ok() {
            let Some((icon, lines)) = shown.borrow_and_update().clone() else { continue };
            item.update(|item| (item.icon, item.lines) = (icon, lines)).await;
        }
    };
    tokio::select! {
        () = follow => {}
        () = host::follow(&bus, &events) => {}
    }
    // Without a bus nothing brings a hidden window back. Who is told of it may be gone too.
    let _ = events.send(Event::TrayHost(false)).await;
    item.shutdown().await;
}

impl Item {
    /// The menu of a panel waits for nobody.
    fn chosen(&self, event: super::Event) {
        let activation = ksni::current_xdg_activation_token();
        if self.events.try_send(Event::Tray { event, activation }).is_err() {
            tracing::warn!("a choice in the tray's menu is lost: too much is going on");
        }
    }
}

impl ksni::Tray for Item {
    fn id(&self) -> String {
        "org.farhold.Farhold".to_owned()
    }

    fn title(&self) -> String {
        "Farhold".to_owned()
    }

    fn activate(&mut self, _x: i32, _y: i32) {
        self.chosen(super::Event::ShowWindow);
    }

    fn icon_pixmap(&self) -> Vec<ksni::Icon> {
        pictures(self.icon, self.dark).iter().map(pixmap).collect()
    }

    fn menu(&self) -> Vec<MenuItem<Self>> {
        self.lines.iter().map(entry).collect()
    }

    fn watcher_offline(&self, _reason: OfflineReason) -> bool {
        true
    }
}

fn entry(line: &Line) -> MenuItem<Item> {
    match line {
        Line::Separator => MenuItem::Separator,
        Line::Note(text) => StandardItem { label: plain(text), enabled: false, ..Default::default() }.into(),
        Line::Action { label, event, enabled } => {
            let event = event.clone();
            let activate = Box::new(move |item: &mut Item| item.chosen(event.clone()));
            StandardItem { label: plain(label), enabled: *enabled, activate, ..Default::default() }.into()
        }
        Line::Submenu { label, lines } => {
            SubMenu { label: plain(label), submenu: lines.iter().map(entry).collect(), ..Default::default() }
                .into()
        }
    }
}

/// An underscore marks the letter behind it as an access key (com.canonical.dbusmenu); two are one.
fn plain(label: &str) -> String {
    label.replace('_', "__")
}

fn pictures(icon: Icon, dark: bool) -> [Image<'static>; 2] {
    match (icon, dark) {
        (Icon::Idle, true) => [
            include_image!("../icons/tray/idle-dark-24.png"),
            include_image!("../icons/tray/idle-dark-48.png"),
        ],
        (Icon::Idle, false) => [
            include_image!("../icons/tray/idle-light-24.png"),
            include_image!("../icons/tray/idle-light-48.png"),
        ],
        (Icon::Connected, true) => [
            include_image!("../icons/tray/connected-dark-24.png"),
            include_image!("../icons/tray/connected-dark-48.png"),
        ],
        (Icon::Connected, false) => [
            include_image!("../icons/tray/connected-light-24.png"),
            include_image!("../icons/tray/connected-light-48.png"),
        ],
        (Icon::Transferring, true) => [
            include_image!("../icons/tray/transferring-dark-24.png"),
            include_image!("../icons/tray/transferring-dark-48.png"),
        ],
        (Icon::Transferring, false) => [
            include_image!("../icons/tray/transferring-light-24.png"),
            include_image!("../icons/tray/transferring-light-48.png"),
        ],
        (Icon::Trouble, true) => [
            include_image!("../icons/tray/trouble-dark-24.png"),
            include_image!("../icons/tray/trouble-dark-48.png"),
        ],
        (Icon::Trouble, false) => [
            include_image!("../icons/tray/trouble-light-24.png"),
            include_image!("../icons/tray/trouble-light-48.png"),
        ],
    }
}

/// The item's icons have their alpha first.
fn pixmap(picture: &Image<'_>) -> ksni::Icon {
    let mut data = picture.rgba().to_vec();
    for pixel in data.chunks_exact_mut(4) {
        pixel.rotate_right(1);
    }
    let side = |pixels: u32| i32::try_from(pixels).unwrap_or_default();
    ksni::Icon { width: side(picture.width()), height: side(picture.height()), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_pictures_of_its_own() {
        let mut seen = Vec::new();
        for icon in [Icon::Idle, Icon::Connected, Icon::Transferring, Icon::Trouble] {
            for dark in [true, false] {
                let [small, large] = pictures(icon, dark).map(|picture| pixmap(&picture));
                assert_eq!((small.width, small.height, small.data.len()), (24, 24, 24 * 24 * 4));
                assert_eq!((large.width, large.height, large.data.len()), (48, 48, 48 * 48 * 4));
                // Transparent in the corner, so the alpha is first.
                assert_eq!(small.data[0], 0);
                assert!(!seen.contains(&small.data));
                seen.push(small.data);
            }
        }
    }

    #[test]
    fn names_are_shown_as_they_are() {
        assert_eq!(plain("my_friend"), "my__friend");
    }
}
