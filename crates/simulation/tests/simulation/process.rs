//! One process of the explorer: opens a data folder and runs until it crashes or the plan is complete.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use domain::{Address, EventKind, EventKinds, SyncPhase, SyncStatus, TokenPrefix};
use egress::{Egress, EgressConfig, Insecure};
use ingest::{Follower, IngestConfig, Progress};
use node::{BlockChecks, Endpoint, Exchange, NodeClient, NodeConfig};
use rand::Rng;
use store::{ChainReader, WebhookRecords};
use store_embedded::{EmbeddedReader, EmbeddedStore, StoreOptions};
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use webhooks::{Dispatcher, EncryptionKey, MAX_PARKED, Matcher, Registration, Registry, Vault, Wake};

use crate::{
    disk,
    gate::{Gate, GatedRecords, GatedWriter},
    plan::{Action, Crash, MAX_REORG_DEPTH},
    receivers::{SimulatedNetwork, url},
    scripted_node::ScriptedNode,
    spot_check::spot_check,
    world::{AcknowledgedWebhook, World, lock},
};

/// Time to index the head and deliver all messages once the faults are over. Long, since a shorter chain is followed only
/// after ten minutes, and a message that was refused three times is retried after ten.
const MAX_CATCH_UP: Duration = Duration::from_secs(2 * 60 * 60);
/// Time for reads from contracts, which follow the commit.
const SETTLE_TIME: Duration = Duration::from_secs(60);
const STACK_BYTES: usize = 64 << 20;
const LAST_BLOCKS: usize = 4;

pub(crate) enum End {
    Crashed,
    Finished,
}

/// The clock advances only while all tasks wait. There is one blocking thread.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .thread_stack_size(STACK_BYTES)
        .build()
        .unwrap()
}

pub(crate) fn store_options(write_buffer_bytes: u64) -> StoreOptions {
    StoreOptions {
        write_buffer_bytes,
        cache_bytes: 8 << 20,
        row_cache_bytes: 1 << 20,
        writer_cache_entries: 10_000,
        descriptors: 256,
        ..StoreOptions::default()
    }
}

/// Runs a process on a data folder. If it crashes, `image` is the data folder after the crash.
pub(crate) fn run_process(world: &Arc<World>, data: &Path, image: &Path, crash: Option<Crash>, process: usize) -> End {
    let runtime = runtime();
    let (end, now, synced) = runtime.block_on(async {
        world.begin_process().await;
        let store = EmbeddedStore::open(data, store_options(world.plan.write_buffer_bytes))
            .unwrap_or_else(|error| panic!("process {process}: the store does not open: {error:?}"));
        let gate = Gate::new(world, data.to_owned(), image.to_owned(), crash);
        gate.record_synced();
        let end = tokio::select! {
            biased;
            () = gate.crashed.notified() => End::Crashed,
            () = Explorer::start(world, store, &gate, process) => End::Finished,
        };
        (end, world.now(), gate.synced())
    });
    // Like the end of a process: all tasks are dropped.
    drop(runtime);
    world.end_process(now, crash.map_or(Duration::ZERO, |crash| crash.downtime));
    if let (End::Crashed, Some(crash)) = (&end, crash) {
        let mut rng = world.plan.chance.of("crash").nth(process as u64).rng();
        let how = disk::apply_crash(image, crash.disk, synced.as_ref(), &mut rng);
        world.record(format!("{:?}: {how}", crash.disk));
    }
    end
}

struct Explorer {
    world: Arc<World>,
    reader: Arc<EmbeddedReader>,
    records: Arc<dyn WebhookRecords>,
    registry: Registry,
    sync: watch::Receiver<SyncStatus>,
}

impl Explorer {
    /// Wires the parts as the binary does, and runs the plan.
    async fn start(world: &Arc<World>, store: EmbeddedStore, gate: &Arc<Gate>, process: usize) {
        let endpoints = world.plan.endpoints.len();
        let nodes: Vec<Arc<dyn Exchange>> =
            (0..endpoints).map(|index| Arc::new(ScriptedNode::new(world, index)) as Arc<dyn Exchange>).collect();
        let node = node_client(world, &nodes, process as u64);
        let records: Arc<dyn WebhookRecords> = Arc::new(GatedRecords(store.webhook_records(), Arc::clone(gate)));
        let config = EgressConfig { insecure: Insecure::Allowed, ..EgressConfig::default() };
        let network = Arc::new(SimulatedNetwork(Arc::clone(world)));
        let egress = Arc::new(Egress::new(&config).unwrap().on(network));
        let vault = vault();
        let wake = Wake::default();
        let (status, sync) = watch::channel(SyncStatus::starting());
        let reader = Arc::new(store.reader());
        let registry = Registry::new(Arc::clone(&records), Arc::clone(&egress), vault.clone(), wake.clone());
        let seed = world.plan.chance.of("dispatcher").nth(process as u64).number();
        let cancel = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let matcher = Matcher::new(reader.clone(), Arc::clone(&records), sync.clone(), wake.clone(), TokenPrefix::Bep);
        tasks.spawn(matcher.run(cancel.clone()));
        let dispatcher = Dispatcher::new(Arc::clone(&records), egress, vault, wake, MAX_PARKED).with_seed(seed);
        tasks.spawn(dispatcher.run(cancel.clone()));
        tasks.spawn(webhooks::run_housekeeping(Arc::clone(&records), cancel.clone()));
        let (gate, follower_cancel, follower_reader) = (Arc::clone(gate), cancel.clone(), reader.clone());
        tasks.spawn(async move {
            let start_block = bind(&node, &store).await;
            gate.record_synced();
            let writer = Box::new(GatedWriter(store.writer(), gate));
            let config = ingest_config(start_block);
            let progress = Arc::new(Progress::default());
            let follower = Follower::new(node, writer, follower_reader, config, status, progress);
            follower.run(follower_cancel).await.unwrap();
        });
        let explorer = Self { world: Arc::clone(world), reader, records, registry, sync };
        tokio::select! {
            biased;
            ended = tasks.join_next() => panic!("process {process}: a task ended: {ended:?}"),
            () = explorer.run_plan() => {}
        }
        explorer.check_end().await;
    }

    async fn run_plan(&self) {
        self.check_acknowledged().await;
        while let Some((at, action)) = self.world.plan.actions.get(self.world.next_action()).copied() {
            tokio::time::sleep(at.saturating_sub(self.world.now())).await;
            self.act(action).await;
            self.world.actions_done.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(self.world.plan.faults_end.saturating_sub(self.world.now())).await;
        // Longer than any branch that an endpoint has served.
        if self.world.next_action() == self.world.plan.actions.len() {
            let head = self.world.chain.head().number + MAX_REORG_DEPTH;
            while self.world.chain.head().number < head {
                self.world.mine(LAST_BLOCKS);
            }
            self.world.actions_done.fetch_add(1, Ordering::Relaxed);
        }
        self.wait_until_caught_up().await;
        tokio::time::sleep(SETTLE_TIME).await;
    }

    async fn act(&self, action: Action) {
        match action {
            Action::Mine { transactions } => self.world.mine(transactions),
            Action::Reorg { depth, blocks, replay } => self.world.reorg(depth, blocks, replay),
            Action::SpotCheck => spot_check(&self.world, self.reader.as_ref()).await,
            Action::Register { receiver } => self.register(receiver).await,
        }
    }

    /// Looks for an existing webhook first, since an earlier request may have crashed before its response.
    async fn register(&self, receiver: usize) {
        let owner = Address::repeat_byte(u8::try_from(receiver + 1).unwrap());
        let mut rng = self.world.plan.chance.of("watched").nth(receiver as u64).rng();
        let accounts = self.world.chain.accounts();
        let watched = accounts[rng.random_range(0..accounts.len())].address();
        let events = EventKinds::default().with(EventKind::Tx).with(EventKind::TokenTransfer).with(EventKind::Removed);
        let existing = self.registry.list(owner).await.unwrap().pop();
        let webhook = match existing {
            Some(listed) => listed.webhook,
            None => {
                let registration = Registration { owner, url: url(receiver), watched, events };
                self.registry.register(registration).await.unwrap().webhook
            }
        };
        self.world.record(format!("registered {} after {:?}", webhook.id, webhook.after));
        let registered = AcknowledgedWebhook { webhook: webhook.id, receiver, watched, after: webhook.after };
        lock(&self.world.acknowledged).push(registered);
    }

    /// Checks that acknowledged webhooks have survived the crash.
    async fn check_acknowledged(&self) {
        let acknowledged = lock(&self.world.acknowledged).clone();
        for registered in acknowledged {
            let webhook = self.records.find_webhook(registered.webhook).await.unwrap();
            let webhook = webhook.unwrap_or_else(|| panic!("an acknowledged webhook is lost: {registered:?}"));
            assert_eq!((webhook.watched, webhook.active), (registered.watched, true), "{registered:?}");
        }
    }

    async fn wait_until_caught_up(&self) {
        let begun = self.world.now();
        loop {
            let reason_to_wait = self.reason_to_wait().await;
            let Some(reason_to_wait) = reason_to_wait else { return };
            let waited = self.world.now() - begun;
            assert!(
                waited < MAX_CATCH_UP,
                "{waited:?} after the last fault, {reason_to_wait}: {:?}",
                *self.sync.borrow()
            );
            tokio::time::sleep(Duration::from_secs(1).max(waited / 20)).await;
        }
    }

    /// Why the explorer has not caught up yet; None if it has.
    async fn reason_to_wait(&self) -> Option<String> {
        let head = self.world.chain.head();
        let tip = self.reader.find_tip().await.unwrap();
        if tip.is_none_or(|tip| (tip.number, tip.hash) != (head.number, head.hash)) {
            return Some(format!("the tip is {tip:?}, the head {head:?}"));
        }
        if self.sync.borrow().phase != SyncPhase::Following {
            return Some("the phase is not Following".to_owned());
        }
        let progress = self.records.progress().await.unwrap();
        if progress.cursor != tip || progress.retracting {
            return Some(format!("the webhook matcher is at {progress:?}"));
        }
        let pending = self.records.totals().pending;
        (pending > 0).then(|| format!("{pending} messages are pending"))
    }

    async fn check_end(&self) {
        self.check_acknowledged().await;
        spot_check(&self.world, self.reader.as_ref()).await;
    }
}

pub(crate) fn node_client(world: &World, nodes: &[Arc<dyn Exchange>], process: u64) -> NodeClient {
    let endpoints = (0..nodes.len()).map(|index| format!("http://node-{index}.test").parse::<Endpoint>().unwrap());
    let jitter_seed = Some(world.plan.chance.of("jitter").nth(process).number());
    // The default checks the roots of only some blocks that are far below the head and older than an hour.
    let verify_blocks = BlockChecks::Full;
    let config = NodeConfig { jitter_seed, verify_blocks, ..NodeConfig::new(endpoints.collect()) };
    NodeClient::in_process(config, nodes).unwrap()
}

pub(crate) fn ingest_config(start_block: u64) -> IngestConfig {
    IngestConfig { undo_depth: MAX_REORG_DEPTH, window: 8, ..IngestConfig::from_block(start_block) }
}

pub(crate) fn vault() -> Vault {
    let key: EncryptionKey = "11".repeat(32).parse().unwrap();
    Vault::new(&key).unwrap()
}

/// Waits until the node reports its chain, and binds the data folder to it.
pub(crate) async fn bind(node: &NodeClient, store: &EmbeddedStore) -> u64 {
    loop {
        match node.identity().await {
            Ok(identity) => return store.bind(identity, Some(0)).unwrap(),
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}
