use std::fmt;

use domain::UtcTime;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// UTC time with milliseconds (ISO 8601). Years beyond 9999 have a sign and six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-15T00:00:00.000Z")]
pub struct Timestamp(UtcTime);

impl Timestamp {
    #[must_use]
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self(UtcTime::from_unix_seconds(seconds))
    }

    #[must_use]
    pub fn from_unix_millis(millis: u64) -> Self {
        Self(UtcTime::from_unix_millis(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
