use async_trait::async_trait;
use domain::{
    Address, AttemptReport, BlockNumber, BlockRef, Bytes, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber,
    EventKind, EventKinds, EventPlace, NewDelivery, NewWebhook, Page, PageRequest, SealedSecret, UnixMillis, Webhook,
    WebhookChange, WebhookId,
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

/// How much webhooks may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookLimits {
    /// Webhooks of all owners.
    pub webhooks: usize,
    /// Webhooks that watch the same address.
    pub per_address: usize,
    /// Pending messages of one webhook. Beyond this bound and the next two the oldest are dropped.
    pub pending_per_webhook: u64,
    pub pending_per_owner: u64,
    pub pending: u64,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            webhooks: 10_000,
            per_address: 1_000,
            pending_per_webhook: 50_000,
            pending_per_owner: 100_000,
            pending: 500_000,
        }
    }
}

impl WebhookLimits {
    /// Messages of one webhook that are kept, pending or not, before the oldest are forgotten.
    #[must_use]
    pub fn kept_per_webhook(&self) -> u64 {
        self.pending_per_webhook.saturating_mul(2)
    }
}

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

    /// How far the chain has been looked through.
    async fn progress(&self) -> Result<Progress, StoreError>;

    /// The newest block that was looked through.
    async fn find_cursor(&self) -> Result<Option<BlockRef>, StoreError> {
        Ok(self.progress().await?.cursor)
    }

    /// Blocks that were looked through, the newest first, beginning below a number.
    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError>;

    /// What is known of a block that was looked through and then left the chain; None where it never did.
    async fn find_orphaning(&self, block: BlockRef) -> Result<Option<Orphaning>, StoreError>;

    /// Queues what blocks gave, and moves the cursor behind them where nothing more follows, in one step. Refused where the
    /// watchers or the cursor are no longer those that were looked at. An event that a webhook was told of, and that was
    /// never taken back, is not queued for it again.
    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError>;

    /// Takes the cursor back to a block. What was queued above it is untrue from then on, until
    /// [`WebhookRecords::end_retraction`] says that all of it has been seen to.
    async fn begin_retraction(&self, retraction: Retraction) -> Result<(), StoreError>;

    /// Untrue messages that have not been seen to, in the order of blocks: at most so many.
    async fn list_retracted(&self, limit: usize) -> Result<RetractedPiece, StoreError>;

    /// Sees to the untrue messages up to a place, in one step: those that were neither delivered nor are being sent are
    /// cancelled; for the rest, the removal is queued where there is one.
    async fn retract(&self, removals: Vec<Removal>, upto: RetractedPlace, now: UnixMillis) -> Result<(), StoreError>;

    async fn end_retraction(&self) -> Result<(), StoreError>;

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

    /// Ends every lease: for the only one who claims, when it begins.
    async fn end_leases(&self) -> Result<(), StoreError>;

    /// Writes down how attempts went. Gives the webhooks they were for as they then are; those deleted are left out.
    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError>;

    /// A webhook's messages.
    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError>;

    /// How full a webhook's queue is.
    async fn queue_counts(&self, webhook: WebhookId) -> Result<QueueCounts, StoreError>;

    /// How much there is of everything. Answers at once, whatever the disk does.
    fn totals(&self) -> WebhookTotals;

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

/// How far the chain has been looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The newest block that was looked through to its end.
    pub cursor: Option<BlockRef>,
    /// The newest block above the cursor of which something was queued.
    pub begun: Option<BlockRef>,
    /// Whether there are untrue messages that have not been seen to.
    pub retracting: bool,
}

/// What some blocks gave, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The version of the watch list that was gone by.
    pub version: u64,
    /// The cursor that was gone on from.
    pub from: Option<BlockRef>,
    /// The blocks that were looked through, ascending.
    pub blocks: Vec<MatchedBlock>,
    pub events: Vec<NewEvent>,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// More follows of these blocks: the cursor stays.
    More,
    /// The last of them is the new cursor.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedBlock {
    pub block: BlockRef,
    /// The newest webhook that the block is news to. To those made later it is not, also where it comes again.
    pub known_to: WebhookId,
}

/// A block that left the chain after it was looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orphaning {
    pub times: u32,
    /// As it was when the block was looked through for the first time.
    pub known_to: WebhookId,
}

/// Something that happened, and who is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub kind: EventKind,
    /// Where it happened; None for what is not of a block.
    pub place: Option<EventPlace>,
    /// What is sent to each: made once, kept once.
    pub body: Bytes,
    pub recipients: Vec<Recipient>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    pub webhook: WebhookId,
    /// The event's id for this webhook.
    pub id: DeliveryId,
}

/// Where the chain left the branch that was looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retraction {
    /// The newest block that was looked through and still stands; None: not one of those remembered does.
    pub to: Option<BlockRef>,
    /// Webhooks whose newest block at their making has left the chain too ...
    pub rebased: Vec<WebhookId>,
    /// ... and the block after which they are told from now on.
    pub rebase_to: Option<BlockRef>,
}

/// Some untrue messages with their bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetractedPiece {
    pub deliveries: Vec<(Delivery, Bytes)>,
    /// The last of them; None where none is left.
    pub upto: Option<RetractedPlace>,
}

/// A place in the order of untrue messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetractedPlace {
    pub block: BlockNumber,
    pub webhook: WebhookId,
    pub number: DeliveryNumber,
}

/// What to queue if a message turns out to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The number of the message, of the same webhook.
    pub of: DeliveryNumber,
    pub delivery: NewDelivery,
}

/// How full a webhook's queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounts {
    pub pending: u64,
    /// Dropped because too many were pending, since the webhook was made.
    pub dropped: u64,
}

/// How much there is of everything.
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
    #[error("the address is watched by as many webhooks as may watch one")]
    AddressFull,
    #[error("there are as many webhooks as there may be")]
    Full,
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
