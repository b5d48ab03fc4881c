use std::{fmt, num::NonZeroU32};

use crate::view::counted;

/// How many requests the API answers in any 60 seconds, as shown on pages. None means without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiLimits {
    /// Of a client without a key.
    pub anonymous: Option<NonZeroU32>,
    /// With a new key.
    pub with_key: u32,
}

impl fmt::Display for ApiLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_key = self.with_key;
        match self.anonymous {
            None => write!(
                f,
                "Without a key, the number of requests is not limited; a new key allows {with_key} in any 60 seconds."
            ),
            Some(anonymous) => {
                let without = counted(u64::from(anonymous.get()), "request");
                write!(f, "Without a key, a client may send {without} in any 60 seconds; with a new key {with_key}.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_as_they_are() {
        let shown = |anonymous| ApiLimits { anonymous: NonZeroU32::new(anonymous), with_key: 100 }.to_string();
        assert_eq!(
            shown(1_500),
            "Without a key, a client may send 1,500 requests in any 60 seconds; with a new key 100."
        );
        assert!(shown(1).contains("1 request in") && shown(0).contains("not limited"));
    }
}
