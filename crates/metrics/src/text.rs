//! The text format of Prometheus, version 0.0.4.

use std::fmt::{self, Write};

use crate::Histogram;

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'static str, &'a str)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A value of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Whole(u64),
    Fraction(f64),
}

/// What can be the value of a sample. None is an unknown value, which is not written.
pub trait Measured {
    fn measured(self) -> Option<Value>;
}

macro_rules! measured {
    ($($type:ty => $value:expr),+ $(,)?) => {
        $(impl Measured for $type {
            fn measured(self) -> Option<Value> {
                Some($value(self))
            }
        })+
    };
}

measured! {
    u64 => Value::Whole,
    u32 => |value| Value::Whole(u64::from(value)),
    usize => |value| Value::Whole(value as u64),
    bool => |value| Value::Whole(u64::from(value)),
    f64 => Value::Fraction,
}

impl<T: Measured> Measured for Option<T> {
    fn measured(self) -> Option<Value> {
        self.and_then(T::measured)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Fraction(value) => value.fmt(f),
        }
    }
}

/// Metrics as text. A metric is announced even if it has no samples, so that its name can be looked up. Writing to a string
/// cannot fail, so results of `write!` are ignored.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// The content type of the text.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {}\n# TYPE {name} {kind}", Escaped(help, Escape::Help));
        Family { text: &mut self.0, name }
    }

    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, Kind::Counter, help)
    }

    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, Kind::Gauge, help)
    }

    pub fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, Kind::Histogram, help)
    }

    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// One metric, to which samples are added.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Family<'_> {
    /// A sample without labels.
    pub fn value(&mut self, value: impl Measured) -> &mut Self {
        self.sample(&[], value)
    }

    pub fn sample(&mut self, labels: Labels<'_>, value: impl Measured) -> &mut Self {
        if let Some(value) = value.measured() {
            self.write("", labels, None, value);
        }
        self
    }

    /// The buckets, the sum and the count of a histogram.
    pub fn buckets(&mut self, labels: Labels<'_>, histogram: &Histogram) -> &mut Self {
        for (bound, values) in histogram.cumulated() {
            self.write("_bucket", labels, Some(&bound.to_string()), Value::Whole(values));
        }
        // Read last: no bucket may have more than the count.
        let count = histogram.count();
        self.write("_bucket", labels, Some("+Inf"), Value::Whole(count));
        self.write("_sum", labels, None, Value::Fraction(histogram.sum()));
        self.write("_count", labels, None, Value::Whole(count));
        self
    }

    fn write(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: Value) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut separator = '{';
        for (name, value) in labels {
            let _ = write!(self.text, "{separator}{name}=\"{}\"", Escaped(value, Escape::Label));
            separator = ',';
        }
        let end = if separator == ',' { "}" } else { "" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    Help,
    Label,
}

/// Text in which characters with a meaning in the format are escaped.
struct Escaped<'a>(&'a str, Escape);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.1 == Escape::Label => f.write_str("\\\"")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_description_of_their_metric() {
        let mut text = Text::default();
        text.gauge("tip", "The \"newest\" block.\nIts number.").value(7_u64);
        text.counter("requests_total", "Requests.")
            .sample(&[("route", "/a\"b\\c\n{id}"), ("status", "200")], 3_u64)
            .sample(&[("route", "none")], None::<u64>);
        text.gauge("unknown", "No value.").value(None::<f64>);
        text.gauge("lag_seconds", "Lag.").value(0.25);
        assert_eq!(
            text.into_string(),
            "# HELP tip The \"newest\" block.\\nIts number.\n# TYPE tip gauge\ntip 7\n\
             # HELP requests_total Requests.\n# TYPE requests_total counter\n\
             requests_total{route=\"/a\\\"b\\\\c\\n{id}\",status=\"200\"} 3\n\
             # HELP unknown No value.\n# TYPE unknown gauge\n\
             # HELP lag_seconds Lag.\n# TYPE lag_seconds gauge\nlag_seconds 0.25\n"
        );
    }

    #[test]
    fn a_histogram_has_buckets_a_sum_and_a_count() {
        let depths = Histogram::new(&[1, 10]);
        [1, 5, 50].into_iter().for_each(|depth| depths.record(depth));
        let mut text = Text::default();
        text.histogram("depth_blocks", "Depths.").buckets(&[("chain", "a")], &depths);
        assert_eq!(
            text.into_string(),
            "# HELP depth_blocks Depths.\n# TYPE depth_blocks histogram\n\
             depth_blocks_bucket{chain=\"a\",le=\"1\"} 1\ndepth_blocks_bucket{chain=\"a\",le=\"10\"} 2\n\
             depth_blocks_bucket{chain=\"a\",le=\"+Inf\"} 3\ndepth_blocks_sum{chain=\"a\"} 56\n\
             depth_blocks_count{chain=\"a\"} 3\n"
        );
    }
}
