use serde::Serialize;
use utoipa::ToSchema;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// The watched address sent or received a transaction.
    Tx,
    /// The watched address sent or received a token, or is the token.
    TokenTransfer,
    /// A block of an earlier event was reverted.
    Removed,
    /// A test message, sent on request.
    Ping,
    /// The watched address sent or received native coins inside a transaction. Sent once the block is traced.
    Internal,
}

impl From<domain::EventKind> for EventType {
    fn from(kind: domain::EventKind) -> Self {
        match kind {
            domain::EventKind::Tx => Self::Tx,
            domain::EventKind::TokenTransfer => Self::TokenTransfer,
            domain::EventKind::Removed => Self::Removed,
            domain::EventKind::Ping => Self::Ping,
            domain::EventKind::Internal => Self::Internal,
        }
    }
}
