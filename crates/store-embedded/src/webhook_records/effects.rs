//! What a change means for the state in memory.

use domain::{Address, BlockNumber, DeliveryNumber, UnixMillis, WebhookId};

/// Updates of the in-memory state, applied after the commit.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) added: Vec<(WebhookId, Address)>,
    pub(super) deleted: Vec<WebhookId>,
    pub(super) pending: Vec<(WebhookId, u64)>,
    pub(super) dropped: u64,
    /// In their order.
    pub(super) queue_notes: Vec<QueueNote>,
}

/// What is known of a queue from now on, beside what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueNote {
    /// Nobody has it under way any more.
    Released(WebhookId, DeliveryNumber),
    /// One more is to be sent again, at that time.
    Retry(WebhookId, UnixMillis),
    /// What stands below a number is gone.
    SkipTo(WebhookId, DeliveryNumber),
    /// The webhook's log is gone.
    LogGone(WebhookId),
    /// Below this block nothing is left to be forgotten.
    PrunedBelow(BlockNumber),
    /// From this block on there may be something to be forgotten.
    UnprunedFrom(BlockNumber),
}
