//! Crash injection: all writes to the store pass a gate, and one of them crashes the process.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use domain::{
    Address, AttemptReport, AuditResult, AuditSample, B256, BalanceKey, BlockChanges, BlockNumber, BlockRef, Bytes,
    ChainIdentity, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber, InternalBlock, InternalFrontier, NewDelivery,
    NewWebhook, Page, PageRequest, PendingToken, SealedSecret, TokenMetadata, U256, UnixMillis, Webhook, WebhookChange,
    WebhookId,
};
use store::{
    AddWebhookError, ChainWriter, ContractDataWriter, EnqueueError, InternalMatches, InternalWriter, Matches,
    Orphaning, Progress, QueueCounts, QueueHead, QueueState, Removal, RetractedBatch, Retraction, RetractionCursor,
    StoreError, Undo, WatchList, WebhookRecords, WebhookTotals,
};
use store_embedded::{EmbeddedWebhookRecords, EmbeddedWriter};
use tokio::sync::{Notify, RwLock};

use crate::{
    disk::{self, Synced},
    plan::{Crash, Moment},
    world::{World, lock},
};

pub(crate) struct Gate {
    world: Arc<World>,
    data: PathBuf,
    /// Where the data folder is copied to at the crash.
    image: PathBuf,
    crash: Option<Crash>,
    state: Mutex<State>,
    /// Held by durable writes until it is recorded that they are synced: a crash in between would lose what the disk has.
    durable_writes: RwLock<()>,
    pub(crate) crashed: Notify,
}

#[derive(Default)]
struct State {
    writes: u64,
    synced: Option<Synced>,
}

/// What a completed write survives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Survives {
    ProcessCrash,
    PowerLoss,
}

impl Gate {
    pub(crate) fn new(world: &Arc<World>, data: PathBuf, image: PathBuf, crash: Option<Crash>) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            data,
            image,
            crash,
            state: Mutex::default(),
            durable_writes: RwLock::default(),
            crashed: Notify::new(),
        })
    }

    pub(crate) fn synced(&self) -> Option<Synced> {
        lock(&self.state).synced.clone()
    }

    /// Records that all current data is synced.
    pub(crate) fn record_synced(&self) {
        lock(&self.state).synced = disk::measure(&self.data);
    }

    async fn pass<T>(&self, name: &'static str, survives: Survives, write: impl Future<Output = T>) -> T {
        let number = {
            let mut state = lock(&self.state);
            state.writes += 1;
            state.writes
        };
        let ends = |moment| self.crash.is_some_and(|crash| (crash.at_write, crash.moment) == (number, moment));
        if ends(Moment::Before) {
            self.end(name, number).await;
        }
        let outcome = if survives == Survives::PowerLoss && self.crash.is_some() {
            let _durable_write = self.durable_writes.read().await;
            let outcome = write.await;
            let data = self.data.clone();
            // There is one blocking thread, so no write is in progress while this runs.
            let synced = tokio::task::spawn_blocking(move || disk::measure(&data)).await.unwrap();
            let state = &mut lock(&self.state).synced;
            // Another write may have been recorded meanwhile.
            if synced.as_ref().map(Synced::end) >= state.as_ref().map(Synced::end) {
                *state = synced;
            }
            outcome
        } else {
            write.await
        };
        if ends(Moment::After) {
            self.end(name, number).await;
        }
        outcome
    }

    async fn end(&self, name: &str, number: u64) {
        let _no_durable_write = self.durable_writes.write().await;
        let (data, image) = (self.data.clone(), self.image.clone());
        tokio::task::spawn_blocking(move || disk::copy(&data, &image)).await.unwrap();
        self.world.record(format!("crashed at write {number}, {name}"));
        self.crashed.notify_one();
        std::future::pending().await
    }
}

pub(crate) struct GatedWriter(pub(crate) EmbeddedWriter, pub(crate) Arc<Gate>);

#[async_trait]
impl ChainWriter for GatedWriter {
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError> {
        self.0.tip().await
    }
    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError> {
        self.0.find_block_hash(number).await
    }
    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError> {
        self.0.oldest_revertible().await
    }
    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError> {
        self.1.pass("commit", Survives::ProcessCrash, self.0.commit(blocks, undo)).await
    }
    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        self.1.pass("revert", Survives::ProcessCrash, self.0.revert_to(number)).await
    }
    async fn start_over(&mut self, chain: ChainIdentity) -> Result<(), StoreError> {
        self.1.pass("start over", Survives::PowerLoss, self.0.start_over(chain)).await
    }
}

#[async_trait]
impl ContractDataWriter for GatedWriter {
    async fn list_pending_tokens(&self, limit: usize) -> Result<Vec<PendingToken>, StoreError> {
        self.0.list_pending_tokens(limit).await
    }
    async fn save_token_metadata(&mut self, metadata: Vec<(Address, TokenMetadata)>) -> Result<(), StoreError> {
        self.1.pass("metadata", Survives::ProcessCrash, self.0.save_token_metadata(metadata)).await
    }
    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError> {
        self.0.list_audits(limit).await
    }
    async fn save_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError> {
        self.1.pass("audits", Survives::ProcessCrash, self.0.save_audits(verdicts, at)).await
    }
    async fn list_pending_balances(&mut self, limit: usize) -> Result<Vec<BalanceKey>, StoreError> {
        self.0.list_pending_balances(limit).await
    }
    async fn save_balances(&mut self, balances: Vec<(BalanceKey, U256)>, at: BlockNumber) -> Result<(), StoreError> {
        self.1.pass("balances", Survives::ProcessCrash, self.0.save_balances(balances, at)).await
    }
    async fn list_pending_codes(&self, limit: usize) -> Result<Vec<Address>, StoreError> {
        self.0.list_pending_codes(limit).await
    }
    async fn save_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError> {
        self.1.pass("codes", Survives::ProcessCrash, self.0.save_codes(codes, at)).await
    }
    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError> {
        self.0.rank_holders(limit).await
    }
}

pub(crate) struct GatedRecords(pub(crate) EmbeddedWebhookRecords, pub(crate) Arc<Gate>);

#[async_trait]
impl WebhookRecords for GatedRecords {
    async fn add_webhook(&self, webhook: NewWebhook) -> Result<Webhook, AddWebhookError> {
        self.1.pass("add webhook", Survives::PowerLoss, self.0.add_webhook(webhook)).await
    }
    async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        self.0.find_webhook(id).await
    }
    async fn list_webhooks(&self, owner: Address) -> Result<Vec<Webhook>, StoreError> {
        self.0.list_webhooks(owner).await
    }
    async fn change_webhook(&self, id: WebhookId, change: WebhookChange) -> Result<Option<Webhook>, StoreError> {
        self.1.pass("change webhook", Survives::PowerLoss, self.0.change_webhook(id, change)).await
    }
    async fn rotate_secret(
        &self,
        id: WebhookId,
        secret: SealedSecret,
        old_until: UnixMillis,
    ) -> Result<Option<Webhook>, StoreError> {
        self.1.pass("rotate secret", Survives::PowerLoss, self.0.rotate_secret(id, secret, old_until)).await
    }
    async fn delete_webhook(&self, id: WebhookId) -> Result<bool, StoreError> {
        self.1.pass("delete webhook", Survives::PowerLoss, self.0.delete_webhook(id)).await
    }
    async fn list_newest_webhooks(&self, limit: u32) -> Result<Vec<Webhook>, StoreError> {
        self.0.list_newest_webhooks(limit).await
    }
    async fn drop_pending(&self, id: WebhookId) -> Result<Option<u64>, StoreError> {
        self.1.pass("drop pending", Survives::PowerLoss, self.0.drop_pending(id)).await
    }
    async fn watch_list(&self) -> Result<WatchList, StoreError> {
        self.0.watch_list().await
    }
    async fn progress(&self) -> Result<Progress, StoreError> {
        self.0.progress().await
    }
    async fn list_matched_blocks(&self, below: BlockNumber, limit: usize) -> Result<Vec<BlockRef>, StoreError> {
        self.0.list_matched_blocks(below, limit).await
    }
    async fn find_orphaning(&self, block: BlockRef) -> Result<Option<Orphaning>, StoreError> {
        self.0.find_orphaning(block).await
    }
    async fn enqueue_matches(&self, matches: Matches, now: UnixMillis) -> Result<(), EnqueueError> {
        let survives = if matches.events.is_empty() { Survives::ProcessCrash } else { Survives::PowerLoss };
        self.1.pass("matches", survives, self.0.enqueue_matches(matches, now)).await
    }
    async fn enqueue_internal(&self, matches: InternalMatches, now: UnixMillis) -> Result<(), EnqueueError> {
        let survives = if matches.events.is_empty() { Survives::ProcessCrash } else { Survives::PowerLoss };
        self.1.pass("internal matches", survives, self.0.enqueue_internal(matches, now)).await
    }
    async fn begin_retraction(&self, retraction: Retraction) -> Result<(), StoreError> {
        self.1.pass("begin retraction", Survives::PowerLoss, self.0.begin_retraction(retraction)).await
    }
    async fn list_retracted(&self, limit: usize) -> Result<RetractedBatch, StoreError> {
        self.0.list_retracted(limit).await
    }
    async fn retract(&self, removals: Vec<Removal>, upto: RetractionCursor, now: UnixMillis) -> Result<(), StoreError> {
        self.1.pass("retract", Survives::PowerLoss, self.0.retract(removals, upto, now)).await
    }
    async fn end_retraction(&self) -> Result<(), StoreError> {
        self.1.pass("end retraction", Survives::ProcessCrash, self.0.end_retraction()).await
    }
    async fn enqueue(&self, delivery: NewDelivery, now: UnixMillis) -> Result<Option<Delivery>, StoreError> {
        self.1.pass("enqueue", Survives::PowerLoss, self.0.enqueue(delivery, now)).await
    }
    async fn requeue(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
        now: UnixMillis,
    ) -> Result<Option<Delivery>, StoreError> {
        self.1.pass("requeue", Survives::PowerLoss, self.0.requeue(webhook, id, now)).await
    }
    async fn find_delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.0.find_delivery(webhook, id).await
    }
    async fn list_queues(&self) -> Result<Vec<QueueHead>, StoreError> {
        self.0.list_queues().await
    }
    async fn find_oldest_untried(&self) -> Result<Option<UnixMillis>, StoreError> {
        self.0.find_oldest_untried().await
    }
    async fn find_due(&self, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
        self.0.find_due(webhook).await
    }
    async fn claim(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        self.1.pass("claim", Survives::ProcessCrash, self.0.claim(webhook, limit, now, lease_until)).await
    }
    async fn release(&self, claims: Vec<(WebhookId, DeliveryNumber)>) -> Result<(), StoreError> {
        self.1.pass("release", Survives::ProcessCrash, self.0.release(claims)).await
    }
    async fn end_leases(&self) -> Result<(), StoreError> {
        self.1.pass("end leases", Survives::ProcessCrash, self.0.end_leases()).await
    }
    async fn record_attempts(&self, reports: Vec<AttemptReport>) -> Result<Vec<QueueState>, StoreError> {
        self.1.pass("attempts", Survives::ProcessCrash, self.0.record_attempts(reports)).await
    }
    async fn list_deliveries(&self, webhook: WebhookId, page: PageRequest) -> Result<Page<Delivery>, StoreError> {
        self.0.list_deliveries(webhook, page).await
    }
    async fn queue_counts(&self, webhook: WebhookId) -> Result<QueueCounts, StoreError> {
        self.0.queue_counts(webhook).await
    }
    fn totals(&self) -> WebhookTotals {
        self.0.totals()
    }
    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.0.forget_deliveries(before, limit).await
    }
}

#[async_trait]
impl InternalWriter for GatedWriter {
    async fn internal_frontier(&self) -> Result<Option<InternalFrontier>, StoreError> {
        self.0.internal_frontier().await
    }
    async fn save_internal(&mut self, blocks: Vec<InternalBlock>) -> Result<usize, StoreError> {
        self.1.pass("internal transactions", Survives::ProcessCrash, self.0.save_internal(blocks)).await
    }
    async fn skip_internal(&mut self, last: BlockNumber) -> Result<(), StoreError> {
        self.1.pass("skipped traces", Survives::ProcessCrash, self.0.skip_internal(last)).await
    }
}
