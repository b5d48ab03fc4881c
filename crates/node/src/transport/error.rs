use std::time::Duration;

use alloy_primitives::bytes::Bytes;

use crate::error::BoxError;

/// Why there is no response.
#[derive(Debug)]
pub enum TransportError {
    /// Connecting failed.
    Unreachable(BoxError),
    /// The connection ended before the response.
    Dropped(BoxError),
    /// The response is longer than allowed.
    TooLong,
    /// An HTTP status other than success.
    Status { status: u16, retry_after: Option<Duration>, body: Bytes },
}
