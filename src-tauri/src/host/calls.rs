//! Calls of an engine that the host makes of its own accord.

use std::time::Duration;

use farhold_control::ControlClient;
use farhold_engine::PinStatus;
use farhold_engine::commands::Share;
use futures_util::Stream;
use futures_util::stream;
use tokio::time::MissedTickBehavior;

use super::Order;
use crate::dto::Failure;

/// How often shares and pins are looked at; they are not told by themselves.
const LIST_EVERY: Duration = Duration::from_secs(1);

/// Shares and pins, at first and whenever they changed.
pub(super) fn lists(client: ControlClient) -> impl Stream<Item = (Vec<Share>, Vec<PinStatus>)> {
    let mut ticks = tokio::time::interval(LIST_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    stream::unfold((client, ticks, None), |(mut client, mut ticks, mut last)| async move {
        loop {
            ticks.tick().await;
            // An engine that ends is noticed elsewhere.
            let (Ok(shares), Ok(pins)) = (client.shares().await, client.pins().await) else { continue };
            let lists = (shares, pins);
            if last.as_ref() != Some(&lists) {
                last = Some(lists.clone());
                return Some((lists, (client, ticks, last)));
            }
        }
    })
}

/// Carries out an order that only concerns the engine.
pub(super) async fn carry_out(order: Order, mut client: ControlClient) -> Result<(), Failure> {
    match order {
        Order::Connect { contact } => client.connect(contact, None).await.map(drop)?,
        Order::Disconnect { contact } => client.disconnect(contact).await?,
        Order::Pause(ids) => {
            for id in ids {
                client.pause_transfer(id).await?;
            }
        }
        Order::Resume(ids) => {
            for id in ids {
                client.resume_transfer(id).await?;
            }
        }
        Order::Restart | Order::StartDemo | Order::StopDemo | Order::Quit { .. } => {}
    }
    Ok(())
}
