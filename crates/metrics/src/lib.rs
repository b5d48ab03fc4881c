//! Counters and histograms, and the text format in which Prometheus reads them.
//!
//! A measurement is one or a few atomic additions, without a lock. What a crate measures is a struct of counters that it owns;
//! names and labels are given only where the text is written.

mod counter;
mod histogram;
mod text;

pub use counter::Counter;
pub use histogram::{Histogram, SECOND, Timer};
pub use text::{Family, Labels, Measured, Text, Value};
