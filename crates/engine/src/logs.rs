//! The latest log messages, for whoever looks for a fault.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Messages that are kept.
const LINES: usize = 500;
/// Longest that is kept of one, in bytes.
const LINE_BYTES: usize = 1000;

/// The latest messages of INFO and above. Clones are the same. Whoever hosts an engine installs the [`layer`] and gives
/// this to [`EngineConfig::logs`].
///
/// [`layer`]: Self::layer
/// [`EngineConfig::logs`]: crate::EngineConfig::logs
#[derive(Debug, Clone, Default)]
pub struct RecentLogs {
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl RecentLogs {
    /// Keeps what is logged, whatever other layers show.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        Keeping(self.clone()).with_filter(filter_fn(is_kept))
    }

    /// The messages, the oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn keep(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// `notify` names watched paths in its warnings.
fn is_kept(of: &Metadata<'_>) -> bool {
    *of.level() <= Level::INFO && !of.target().starts_with("notify")
}

struct Keeping(RecentLogs);

impl<S: Subscriber> Layer<S> for Keeping {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = String::new();
        // A clock before 1970 leaves the time out.
        let _ = SystemTime.format_time(&mut Writer::new(&mut line));
        let of = event.metadata();
        let _ = write!(line, " {} {}:", of.level(), of.target());
        event.record(&mut Fields(&mut line));
        line.truncate(line.floor_char_boundary(LINE_BYTES));
        self.0.keep(line);
    }
}

/// Writes fields behind each other, the message by itself.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A string takes it all.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_latest_are_kept_in_bounds_and_without_details() {
        let logs = RecentLogs::default();
        let subscriber = tracing_subscriber::registry().with(logs.layer());
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..LINES + 3 {
                tracing::info!(number, "said");
            }
            tracing::debug!("a name");
            tracing::warn!(target: "notify::inotify", "a path");
            tracing::error!("{}", "ü".repeat(LINE_BYTES));
        });
        let lines = logs.lines();
        assert_eq!(lines.len(), LINES);
        assert!(lines[0].ends_with(" INFO farhold_engine::logs::tests: said number=4"), "{}", lines[0]);
        let last = &lines[LINES - 1];
        assert!(last.contains(" ERROR ") && last.len() <= LINE_BYTES && last.ends_with('ü'), "{last}");
        assert!(!lines.iter().any(|line| line.contains("a name") || line.contains("a path")));
    }
}
