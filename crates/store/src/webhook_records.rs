use async_trait::async_trait;
use domain::{
    Address, AttemptReport, BlockNumber, BlockRef, Bytes, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber,
    EventKind, EventKinds, EventLocation, NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis,
    Webhook, WebhookChange, WebhookId,
};

use crate::StoreError;

/// Maximum webhooks per owner.
pub const WEBHOOKS_PER_OWNER: usize = 20;
/// Maximum stored attempts of one delivery: a whole retry schedule, and some that were requested by hand.
pub const KEPT_ATTEMPTS: usize = 16;
/// The longest time until a retry. A later due time was recorded under a wrong clock, and counts as due now.
pub const MAX_WAIT: UnixMillis = 30 * 60 * 60 * 1_000;
/// Number of matched blocks that are stored, so that their reorg is noticed. No reorg goes deeper.
pub const MATCHED_BLOCK_HISTORY: BlockNumber = 16_384;

/// Capacity limits of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookLimits {
    /// Webhooks of all owners.
    pub webhooks: usize,
    /// Webhooks that watch the same address.
    pub per_address: usize,
    /// Pending messages of one webhook. Beyond this limit and the next two, the oldest messages are dropped.
    pub pending_per_webhook: u64,
    pub pending_per_owner: u64,
    pub pending: u64,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self::new(10_000, 500_000)
    }
}

impl WebhookLimits {
    /// From the totals: a tenth of the webhooks may watch the same address; a fifth of the pending messages may belong to one
    /// owner, and a tenth to one webhook.
    #[must_use]
    pub fn new(webhooks: usize, pending: u64) -> Self {
        Self {
            webhooks,
            per_address: (webhooks / 10).max(1),
            pending_per_webhook: (pending / 10).max(1),
            pending_per_owner: (pending / 5).max(1),
            pending,
        }
    }

    /// Messages of one webhook that are stored, pending or not, before the oldest are deleted.
    #[must_use]
    pub fn kept_per_webhook(&self) -> u64 {
        self.pending_per_webhook.saturating_mul(2)
    }
}

/// Webhooks, their message queues, and the cursor up to which the chain was matched against them.
///
/// Changes are atomic, also when they run concurrently, and survive the end of the process. Changes that an owner
/// requests and queued messages also survive a loss of power; the result of an attempt may be lost in one.
#[async_trait]
pub trait WebhookRecords: Send + Sync {
    /// Stores a new webhook, which receives events of blocks after the current tip.
    async fn add_webhook(&self, webhook: NewWebhook) -> Result<Webhook, AddWebhookError>;

    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError>;

    /// An owner's webhooks, newest first.
    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError>;

    /// Returns the changed webhook; None if it is unknown.
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<Option<Webhook>, StoreError>;

    /// Replaces the secret. The old one also signs until `old_until`.
    async fn rotate_secret(
        &self,
        id: WebhookId,
        secret: SealedSecret,
        old_until: UnixMillis,
    ) -> Result<Option<Webhook>, StoreError>;

    /// Deletes a webhook and its queue; false if it is unknown.
    async fn delete_webhook(&self, id: WebhookId) -> Result<bool, StoreError>;

    /// The newest webhooks of all owners, newest first, for the operator.
    async fn list_newest_webhooks(&self, limit: u32) -> Result<Vec<Webhook>, StoreError>;

    /// Drops the pending messages of a webhook, also those in flight, and counts them as dropped. Returns how many; None if
    /// the webhook is unknown.
    async fn drop_pending(&self, id: WebhookId) -> Result<Option<u64>, StoreError>;

    /// The active watchers. The version of the list changes whenever one of them does.
    async fn watch_list(&self) -> Result<WatchList, StoreError>;

    /// How far the chain has been matched against the watchers.
    async fn progress(&self) -> Result<Progress, StoreError>;

    /// The newest matched block.
    async fn find_cursor(&self) -> Result<Option<BlockRef>, StoreError> {
        Ok(self.progress().await?.cursor)
    }

    /// Matched blocks below a number, the newest first.
    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError>;

    /// How often a matched block was orphaned; None if it never was.
    async fn find_orphaning(&self, block: BlockRef) -> Result<Option<Orphaning>, StoreError>;

    /// Queues the events of blocks, and after the last part moves the cursor to the last block, atomically. Fails as
    /// stale if the watch list or the cursor has changed since the blocks were matched. An event that was queued for a
    /// webhook, and not retracted, is not queued for it again.
    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError>;

    /// Queues events of internal transactions, and after the last part moves their cursor. Fails as stale if the watch list
    /// or that cursor has changed since. An event that was queued for a webhook, and not retracted, is not queued again.
    async fn enqueue_internal(&self, matches: InternalMatches, now: UnixMillis) -> Result<(), EnqueueError>;

    /// Moves the cursors back to a block. Messages queued for blocks above it are retracted in parts, until
    /// [`WebhookRecords::end_retraction`] marks the end.
    async fn begin_retraction(&self, retraction: Retraction) -> Result<(), StoreError>;

    /// Up to `limit` messages of orphaned blocks that still have to be retracted, in block order.
    async fn list_retracted(&self, limit: usize) -> Result<RetractedBatch, StoreError>;

    /// Retracts messages up to a cursor, atomically: messages that the receiver cannot have are cancelled; for those
    /// that were delivered, are in flight, or were claimed by a process that ended before it reported, the removal is queued
    /// if there is one.
    async fn retract(&self, removals: Vec<Removal>, upto: RetractionCursor, now: UnixMillis) -> Result<(), StoreError>;

    async fn end_retraction(&self) -> Result<(), StoreError>;

    /// Queues one message. None if the webhook is unknown.
    async fn enqueue(&self, delivery: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError>;

    /// Queues a message again with the same id and body, whatever its state. None if the message is unknown.
    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError>;

    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError>;

    /// Every active webhook with messages to send, and when the first is due.
    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError>;

    /// When the oldest message was queued that has not been tried once, over all active webhooks; None if all have been.
    async fn find_oldest_untried(&self) -> Result<Option<UnixMillis>, StoreError>;

    /// Whether this process may send the messages of a webhook now. If several processes share the queues, each webhook is
    /// sent by one of them, which may change.
    fn may_send(&self, _webhook: WebhookId) -> bool {
        true
    }

    /// When the next message of an active webhook is due: 0 for immediately; None if its queue is empty.
    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError>;

    /// Claims due messages: new ones oldest first, retries by due time. No one else can claim them before the lease
    /// ends, unless they are reported or released. If only one process can open the store, a lease also ends with the
    /// process.
    async fn claim(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Result<Vec<ClaimedDelivery>, StoreError>;

    /// Releases claims whose messages were not sent.
    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError>;

    /// Ends every lease. Called at startup by the only process that claims.
    async fn end_leases(&self) -> Result<(), StoreError>;

    /// Records the results of attempts. Returns the state of their webhooks afterwards, without deleted ones.
    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError>;

    /// A webhook's messages.
    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError>;

    /// How full a webhook's queue is.
    async fn queue_counts(&self, webhook: WebhookId) -> Result<QueueCounts, StoreError>;

    /// Totals over all webhooks. Never waits for the disk.
    fn totals(&self) -> WebhookTotals;

    /// Deletes up to `limit` messages that were created before a time or belong to deleted webhooks, and returns how
    /// many.
    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// The watchers at one moment.
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
    /// The watcher ignores blocks up to this one.
    pub after: Option<BlockRef>,
}

/// How far the chain has been matched against the watchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The newest block whose events are all queued.
    pub cursor: Option<BlockRef>,
    /// The newest block above the cursor whose events are queued in part.
    pub begun: Option<BlockRef>,
    /// The newest block whose internal transactions were matched. They are known later than their block, so it is never
    /// above the cursor.
    pub internal: Option<BlockNumber>,
    /// Whether messages of orphaned blocks still have to be retracted.
    pub retracting: bool,
    /// Whether the cursor was copied from another store, and no block was matched since: then the index may not have
    /// reached it yet, and a cursor above the tip does not mean that its block was orphaned.
    pub copied: bool,
}

/// The events that some blocks matched, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The version of the watch list used for matching.
    pub version: u64,
    /// The cursor that matching started from.
    pub from: Option<BlockRef>,
    /// The matched blocks, ascending.
    pub blocks: Vec<MatchedBlock>,
    pub events: Vec<NewEvent>,
    pub part: Part,
    /// Whether the cursor of internal transactions moves along, since no webhook wants them.
    pub skips_internal: bool,
}

/// The events that the internal transactions of some blocks matched, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalMatches {
    /// The version of the watch list used for matching.
    pub version: u64,
    /// The cursor of internal transactions that matching started from.
    pub from: Option<BlockNumber>,
    /// Where it moves.
    pub to: BlockNumber,
    pub events: Vec<NewEvent>,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// More parts of these blocks follow: the cursor stays.
    More,
    /// The last part: the last block becomes the cursor.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedBlock {
    pub block: BlockRef,
    /// The newest webhook that existed when the block was first matched. Later ones do not receive its events, even if
    /// the block is orphaned and becomes canonical again.
    pub known_to: WebhookId,
}

/// A block that was orphaned after it was matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orphaning {
    pub times: u32,
    /// The value from the first time the block was matched.
    pub known_to: WebhookId,
}

/// An event and its recipients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub kind: EventKind,
    /// The event's position in the chain; None for events that belong to no block.
    pub location: Option<EventLocation>,
    /// The message body, shared by all recipients.
    pub body: Bytes,
    pub recipients: Vec<Recipient>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    pub webhook: WebhookId,
    /// The event's id for this webhook.
    pub id: DeliveryId,
}

/// The fork point of a reorg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retraction {
    /// The newest matched block that is still canonical; None if none of the stored ones is.
    pub to: Option<BlockRef>,
    /// Webhooks whose starting block was orphaned too ...
    pub rebased: Vec<WebhookId>,
    /// ... and the block after which they receive events from now on.
    pub rebase_to: Option<BlockRef>,
}

/// Some messages to retract, with their bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetractedBatch {
    pub deliveries: Vec<(Delivery, Bytes)>,
    /// The position of the last one; None if none is left.
    pub upto: Option<RetractionCursor>,
}

/// A position in the list of messages to retract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetractionCursor {
    pub block: BlockNumber,
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
}

/// The removal message to queue if a retracted message was already sent or is in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The number of the retracted message, of the same webhook.
    pub of: DeliveryNumber,
    pub delivery: NewDelivery,
}

/// How full a webhook's queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounts {
    pub pending: u64,
    /// Dropped because of a full queue, since the webhook was created.
    pub dropped: u64,
}

/// Totals over all webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WebhookTotals {
    pub webhooks: u64,
    pub pending: u64,
    /// Dropped since the store was opened.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueHead {
    pub webhook: WebhookId,
    pub due: UnixMillis,
}

/// A webhook after attempts were recorded, and when its next message is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    pub webhook: Webhook,
    pub due: Option<UnixMillis>,
}

/// Why a new webhook was rejected.
#[derive(Debug, thiserror::Error)]
pub enum AddWebhookError {
    #[error("the owner already has {WEBHOOKS_PER_OWNER} webhooks")]
    QuotaReached,
    #[error("the address already has the maximum number of webhooks")]
    AddressFull,
    #[error("the maximum number of webhooks is reached")]
    Full,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why matches were not queued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    #[error("the watch list or the cursor has changed since the blocks were matched")]
    Stale,
    #[error(transparent)]
    Store(#[from] StoreError),
}
