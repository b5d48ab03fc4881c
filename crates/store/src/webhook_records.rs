use async_trait::async_trait;
use domain::{
    Address, AttemptReport, BlockNumber, BlockRef, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber, EventKinds,
    NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis, Webhook, WebhookChange, WebhookId,
};

use crate::StoreError;

/// Webhooks that an owner may have.
pub const WEBHOOKS_PER_OWNER: usize = 20;
/// Attempts of one delivery that are kept: all of a schedule, and some that were asked for.
pub const KEPT_ATTEMPTS: usize = 16;
/// No message waits longer to be sent again. What is due later was written down by a clock that went wrong, and is due.
pub const LONGEST_WAIT: UnixMillis = 30 * 60 * 60 * 1_000;
/// Matched blocks that are remembered, so that it is seen when they leave the chain. No reorganisation goes deeper.
pub const REMEMBERED_BLOCKS: BlockNumber = 16_384;

/// Webhooks, what is to be sent to them, and how far the chain has been looked through for it.
///
/// A change takes effect wholly or not at all, however many are under way, and outlasts the end of the process. What an
/// owner asks for and what is queued outlasts a loss of power too; how an attempt went may be lost with it.
#[async_trait]
pub trait WebhookRecords: Send + Sync {
    /// Keeps a new webhook, which hears of blocks after the one that is the newest at this moment.
    async fn add_webhook(&self, webhook: NewWebhook) -> Result<Webhook, AddWebhookError>;

    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError>;

    /// An owner's webhooks, newest first.
    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError>;

    /// Gives the webhook as it then is; None where there is no such webhook.
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<Option<Webhook>, StoreError>;

    /// Puts a new secret in the place of the old one, which signs too until a time.
    async fn rotate_secret(
        &self,
        id: WebhookId,
        secret: SealedSecret,
        old_until: UnixMillis,
    ) -> Result<Option<Webhook>, StoreError>;

    /// Takes a webhook away with all that is queued; false where there is none.
    async fn delete_webhook(&self, id: WebhookId) -> Result<bool, StoreError>;

    /// Who watches what. Its version changes whenever one of the watchers does.
    async fn watch_list(&self) -> Result<WatchList, StoreError>;

    /// The newest block that was looked through.
    async fn find_cursor(&self) -> Result<Option<BlockRef>, StoreError>;

    /// Blocks that were looked through, the newest first, beginning below a number.
    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError>;

    /// How often this very block has left the chain.
    async fn count_orphanings(&self, block: BlockRef) -> Result<u32, StoreError>;

    /// Queues what blocks gave, and moves the cursor behind them, in one step. Refused where the watchers or the cursor
    /// are no longer those that were looked at.
    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError>;

    /// What was queued for blocks above a number, with its body, in the order of queueing.
    async fn list_deliveries_above(&self, number: BlockNumber) -> Result<Vec<(Delivery, domain::Bytes)>, StoreError>;

    /// Takes the cursor back to a block, in one step with all that follows from it: what was queued above it and was
    /// neither delivered nor is being sent is cancelled; for the rest, its removal is queued where there is one.
    async fn retract_matches(&self, retraction: Retraction, now: UnixMillis) -> Result<(), StoreError>;

    /// Queues one message. None where there is no such webhook.
    async fn enqueue(&self, delivery: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError>;

    /// Queues a message again, with its id and its body, whatever became of it. None where it is not known.
    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError>;

    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError>;

    /// Every active webhook with something to send, and when.
    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError>;

    /// When something of an active webhook is to be sent next: nought for at once; None where nothing waits.
    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError>;

    /// Takes on messages that are due, the oldest first: of those sent before, the ones that are due longest. Nobody else gets them before the lease ends, unless they are
    /// reported on or released. A lease ends with the process that took it, if no other process can work on the store.
    async fn claim(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Result<Vec<ClaimedDelivery>, StoreError>;

    /// Gives up claims that nothing was done about.
    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError>;

    /// Writes down how attempts went. Gives the webhooks they were for as they then are; those deleted are left out.
    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError>;

    /// A webhook's messages.
    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError>;

    /// Drops messages made before a time, and those of webhooks that are gone: at most so many, and gives how many.
    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// Who watches what, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchList {
    pub version: u64,
    /// Active webhooks.
    pub watchers: Vec<Watcher>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watcher {
    pub webhook: WebhookId,
    pub watched: Address,
    pub events: EventKinds,
    /// Blocks up to this one are none of its business.
    pub after: Option<BlockRef>,
}

/// What some blocks gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The version of the watch list that was gone by.
    pub version: u64,
    /// The cursor that was gone on from.
    pub from: Option<BlockRef>,
    /// The blocks that were looked through, ascending; the last one is the new cursor.
    pub blocks: Vec<BlockRef>,
    pub deliveries: Vec<NewDelivery>,
}

/// What is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retraction {
    /// The newest block that was looked through and still stands; None: not one of those remembered does.
    pub to: Option<BlockRef>,
    /// What to queue if a message turns out to be sent.
    pub removals: Vec<Removal>,
    /// Webhooks whose newest block at their making has left the chain too.
    pub rebased: Vec<WebhookId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The number of the message, of the same webhook.
    pub of: DeliveryNumber,
    pub delivery: NewDelivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueHead {
    pub webhook: WebhookId,
    pub due: UnixMillis,
}

/// A webhook after attempts were recorded, and when something of it is due next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    pub webhook: Webhook,
    pub due: Option<UnixMillis>,
}

/// Why a new webhook was not kept.
#[derive(Debug, thiserror::Error)]
pub enum AddWebhookError {
    #[error("the owner has {WEBHOOKS_PER_OWNER} webhooks already")]
    QuotaReached,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why matches were not queued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    #[error("the watchers or the cursor have changed in the meantime")]
    Stale,
    #[error(transparent)]
    Store(#[from] StoreError),
}
