//! Shows notifications through the session bus (org.freedesktop.Notifications).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use zbus::zvariant::Value;
use zbus::{Connection, Proxy};

use super::Notification;
use crate::controller::Event;
use crate::texts::Texts;

/// How long the desktop may take to show one.
const ANSWER: Duration = Duration::from_secs(10);
/// Most notifications whose clicks are still heard.
const REMEMBERED: usize = 64;
/// The action of a click on the notification itself.
const CLICK: &str = "default";

/// Shows what comes, and tells what was clicked, until `wanted` ends.
pub(crate) async fn run(
    mut wanted: mpsc::Receiver<Notification>,
    events: mpsc::Sender<Event>,
    texts: watch::Receiver<&'static Texts>,
) {
    let service = async {
        let bus = Connection::session().await?;
        let name = "org.freedesktop.Notifications";
        let service = Proxy::new(&bus, name, "/org/freedesktop/Notifications", name).await?;
        let clicks = service.receive_signal("ActionInvoked").await?;
        let tokens = service.receive_signal("ActivationToken").await?;
        zbus::Result::Ok((service, clicks, tokens))
    };
    let (service, mut clicks, mut tokens) = match service.await {
        Ok(service) => service,
        Err(error) => {
            tracing::info!("there are no notifications: {error}");
            // Whoever has something to show must not wait for room.
            while wanted.recv().await.is_some() {}
            return;
        }
    };
    let mut views: VecDeque<(u32, &'static str)> = VecDeque::new();
    let mut token = None;
    loop {
        tokio::select! {
            notification = wanted.recv() => {
                let Some(notification) = notification else { return };
                let texts = *texts.borrow();
                match tokio::time::timeout(ANSWER, show(&service, &notification, texts)).await {
                    Ok(Ok(id)) => {
                        views.push_back((id, notification.view));
                        if views.len() > REMEMBERED {
                            views.pop_front();
                        }
                    }
                    Ok(Err(error)) => tracing::info!("a notification is not shown: {error}"),
                    Err(_) => tracing::info!("a notification is not shown: the desktop does not answer"),
                }
            }
            // Comes right before the click that it is for.
            Some(signal) = tokens.next() => {
                token = signal.body().deserialize::<(u32, String)>().ok();
            }
            Some(signal) = clicks.next() => {
                let Ok((id, _)) = signal.body().deserialize::<(u32, String)>() else { continue };
                let Some((_, view)) = views.iter().find(|(shown, _)| *shown == id) else { continue };
                let activation = token.take().filter(|(of, _)| *of == id).map(|(_, token)| token);
                if events.send(Event::View { view, activation }).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn show(service: &Proxy<'_>, notification: &Notification, texts: &Texts) -> zbus::Result<u32> {
    let hints = HashMap::from([("desktop-entry", Value::from("org.farhold.Farhold"))]);
    let (title, body) = (plain(&notification.title), escaped(&plain(&notification.body)));
    let actions = [CLICK, texts.open];
    // No notification is replaced, and each stays as long as the desktop likes.
    service
        .call("Notify", &("Farhold", 0_u32, "farhold-app", title, body, actions.as_slice(), hints, -1))
        .await
}

/// File names may hold control characters, and marks that turn the direction of what follows.
fn plain(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown =
        |c: char| if (c.is_control() && c != '\n') || turns(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

/// Bodies may hold markup, and names are not to be read as such.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_markup_nor_control_characters() {
        assert_eq!(plain("a\u{1b}b\nc\u{202e}"), "a\u{fffd}b\nc\u{fffd}");
        assert_eq!(escaped("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
    }
}
