//! Log lines of one kind: a few a second are written, the others are counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// Lines of one kind that are written at once, and a second after that.
const BURST: f64 = 20.0;
const PER_SECOND: f64 = 5.0;
/// How often it is told how many were left out.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Lets few enough lines of each kind pass. A kind is a place in the code. Who asks for debug lines wants them all.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<HashMap<Identifier, Kind>>>);

#[derive(Debug)]
struct Kind {
    place: String,
    tokens: f64,
    counted_at: Instant,
    left_out: u64,
}

impl Repeats {
    fn allows(&self, metadata: &Metadata<'_>, now: Instant) -> bool {
        if *metadata.level() > Level::INFO {
            return true;
        }
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kinds.entry(metadata.callsite()).or_insert_with(|| Kind {
            place: format!("{}:{}", metadata.target(), metadata.line().unwrap_or_default()),
            tokens: BURST,
            counted_at: now,
            left_out: 0,
        });
        let passed = now.saturating_duration_since(kind.counted_at).as_secs_f64();
        kind.tokens = (kind.tokens + passed * PER_SECOND).min(BURST);
        kind.counted_at = now;
        if kind.tokens < 1.0 {
            kind.left_out += 1;
            return false;
        }
        kind.tokens -= 1.0;
        true
    }

    /// The kinds of which lines were left out since the last time, with how many.
    fn take_left_out(&self) -> Vec<(String, u64)> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = kinds.values_mut().filter(|kind| kind.left_out > 0);
        left_out.map(|kind| (kind.place.clone(), std::mem::take(&mut kind.left_out))).collect()
    }

    /// Tells now and then how many lines were left out, as long as the process runs.
    pub(super) fn report(self) {
        let reporting = move || {
            loop {
                std::thread::sleep(REPORT_EVERY);
                for (place, lines) in self.take_left_out() {
                    tracing::warn!(place, lines, "repeated log lines left out");
                }
            }
        };
        // Without the report lines are still bounded.
        let _ = std::thread::Builder::new().name("log-repeats".to_owned()).spawn(reporting);
    }
}

impl<S: Subscriber> Filter<S> for Repeats {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.allows(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tracing_subscriber::layer::{Layer, SubscriberExt};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_repeats_is_written_a_few_times_and_then_counted() {
        let (lines, repeats) = (Lines::default(), Repeats::default());
        let written = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || written.clone()).with_filter(repeats.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for number in 0..1_000 {
                tracing::warn!(number, "the same again");
            }
            tracing::warn!("another one");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let same = text.matches("the same again").count();
        assert!((20..100).contains(&same), "{same}");
        assert_eq!(text.matches("another one").count(), 1);
        let left_out = repeats.take_left_out();
        assert_eq!(left_out.iter().map(|(_, lines)| *lines).sum::<u64>() + same as u64, 1_000);
        assert_eq!(left_out.len(), 1);
        assert!(repeats.take_left_out().is_empty());
    }
}
