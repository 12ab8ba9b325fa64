//! What the session bus says of trays and panels.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use zbus::fdo::DBusProxy;
use zbus::proxy::CacheProperties;
use zbus::zvariant::OwnedValue;
use zbus::{Connection, Proxy};

use crate::controller::Event;

/// Who keeps the list of items and of the trays that show them.
const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// How long the bus may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Tells whether a tray is there, now and whenever that changes, as long as there is a bus.
pub(super) async fn follow(bus: &Connection, events: &mpsc::Sender<Event>) {
    let changes = async {
        let watcher = watcher(bus).await?;
        let owner = DBusProxy::new(bus).await?.receive_name_owner_changed_with_args(&[(0, WATCHER)]).await?;
        let came = watcher.receive_signal("StatusNotifierHostRegistered").await?;
        let went = watcher.receive_signal("StatusNotifierHostUnregistered").await?;
        let all = [owner.map(drop).boxed(), came.map(drop).boxed(), went.map(drop).boxed()];
        zbus::Result::Ok((watcher, futures_util::stream::select_all(all)))
    };
    let (watcher, mut changes) = match changes.await {
        Ok(changes) => changes,
        Err(error) => {
            tracing::warn!("whether there is a tray cannot be found out: {error}");
            return std::future::pending().await;
        }
    };
    let mut told = false;
    loop {
        let there = is_there(&watcher).await;
        if there != told {
            told = there;
            if events.send(Event::TrayHost(there)).await.is_err() {
                return;
            }
        }
        if changes.next().await.is_none() {
            return;
        }
    }
}

async fn watcher(bus: &Connection) -> zbus::Result<Proxy<'static>> {
    zbus::proxy::Builder::new(bus)
        .destination(WATCHER)?
        .path("/StatusNotifierWatcher")?
        .interface(WATCHER)?
        .cache_properties(CacheProperties::No)
        .build()
        .await
}

async fn is_there(watcher: &Proxy<'_>) -> bool {
    let asked = watcher.get_property::<bool>("IsStatusNotifierHostRegistered");
    matches!(tokio::time::timeout(ANSWER, asked).await, Ok(Ok(true)))
}

/// Whether panels are dark, as far as that is told. GNOME's is in every colour scheme; most small ones are.
pub(super) async fn has_dark_panel(bus: &Connection) -> bool {
    let desktop = std::env::var("XDG_CURRENT_DESKTOP").unwrap_or_default();
    if desktop.split(':').any(|name| name == "GNOME") {
        return true;
    }
    // 1 is a preference for dark, 2 for light (org.freedesktop.portal.Settings).
    let asked = async {
        let settings = "org.freedesktop.portal.Settings";
        let portal =
            Proxy::new(bus, "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", settings);
        let value: OwnedValue =
            portal.await?.call("ReadOne", &("org.freedesktop.appearance", "color-scheme")).await?;
        zbus::Result::Ok(u32::try_from(value)?)
    };
    !matches!(tokio::time::timeout(ANSWER, asked).await, Ok(Ok(2)))
}
