//! Calls of an engine that the host makes of its own accord.

use std::time::Duration;

use farhold_control::{ControlClient, ControlError};
use farhold_engine::PinStatus;
use farhold_engine::commands::Share;
use farhold_engine::error::ErrorClass;
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
                unless_over(client.pause_transfer(id).await)?;
            }
        }
        Order::Resume(ids) => {
            for id in ids {
                unless_over(client.resume_transfer(id).await)?;
            }
        }
        Order::Restart | Order::StartDemo | Order::StopDemo | Order::Quit { .. } => {}
    }
    Ok(())
}

/// One of many may have ended meanwhile: that is no reason to leave the others.
fn unless_over(outcome: Result<(), ControlError>) -> Result<(), ControlError> {
    let over = [ErrorClass::NotFound, ErrorClass::Refused, ErrorClass::Conflict];
    outcome.or_else(|error| if over.contains(&error.class()) { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_meanwhile_does_not_keep_the_others_from_being_paused() {
        let failed = |class| ControlError::Failed { class, message: String::new() };
        assert!(unless_over(Err(failed(ErrorClass::Conflict))).is_ok());
        assert!(unless_over(Err(failed(ErrorClass::NotRunning))).is_err());
        assert!(unless_over(Err(ControlError::TimedOut)).is_err());
    }
}
