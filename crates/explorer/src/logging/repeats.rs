//! Rate limit for repeated log lines: per callsite, a few per second are written and the others are counted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::{Event, Level, Metadata, Subscriber, callsite::Identifier};
use tracing_subscriber::layer::{Context, Filter};

/// Lines of one callsite written in a burst, and per second after that.
const BURST: f64 = 20.0;
const PER_SECOND: f64 = 5.0;
/// How often the number of suppressed lines is logged.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Token buckets by callsite. Debug and trace lines are not limited.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<HashMap<Identifier, Callsite>>>);

#[derive(Debug)]
struct Callsite {
    location: String,
    tokens: f64,
    counted_at: Instant,
    suppressed: u64,
}

impl Repeats {
    fn allows(&self, metadata: &Metadata<'_>, now: Instant) -> bool {
        if *metadata.level() > Level::INFO {
            return true;
        }
        let mut callsites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let callsite = callsites.entry(metadata.callsite()).or_insert_with(|| Callsite {
            location: format!("{}:{}", metadata.target(), metadata.line().unwrap_or_default()),
            tokens: BURST,
            counted_at: now,
            suppressed: 0,
        });
        let passed = now.saturating_duration_since(callsite.counted_at).as_secs_f64();
        callsite.tokens = (callsite.tokens + passed * PER_SECOND).min(BURST);
        callsite.counted_at = now;
        if callsite.tokens < 1.0 {
            callsite.suppressed += 1;
            return false;
        }
        callsite.tokens -= 1.0;
        true
    }

    /// Callsites with suppressed lines since the last call, with their counts.
    fn take_suppressed(&self) -> Vec<(String, u64)> {
        let mut callsites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let suppressed = callsites.values_mut().filter(|callsite| callsite.suppressed > 0);
        suppressed.map(|callsite| (callsite.location.clone(), std::mem::take(&mut callsite.suppressed))).collect()
    }

    /// Starts a thread that regularly logs how many lines were suppressed.
    pub(super) fn report(self) {
        let reporting = move || {
            loop {
                std::thread::sleep(REPORT_EVERY);
                for (location, lines) in self.take_suppressed() {
                    tracing::warn!(location, lines, "suppressed repeated log lines");
                }
            }
        };
        // Without the report, lines are still limited.
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
    fn a_repeated_line_is_written_a_few_times_and_then_counted() {
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
        let suppressed = repeats.take_suppressed();
        assert_eq!(suppressed.iter().map(|(_, lines)| *lines).sum::<u64>() + same as u64, 1_000);
        assert_eq!(suppressed.len(), 1);
        assert!(repeats.take_suppressed().is_empty());
    }
}
