//! One life of the explorer: opened on a data folder, and run until it crashes or all is said and done.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use domain::{Address, EventKind, EventKinds, SyncPhase, SyncStatus, TokenPrefix};
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
use webhooks::{
    Dispatcher, Egress, EgressConfig, EncryptionKey, Insecure, MAX_PARKED, Matcher, Registration, Registry, Vault, Wake,
};

use crate::{
    disk,
    gate::{Gate, GatedRecords, GatedWriter},
    look::look,
    plan::{Action, Crash, DEEPEST_REORG},
    receivers::{SimulatedNetwork, url},
    scripted_node::ScriptedNode,
    world::{Promise, World, lock},
};

/// Once nothing fails any more, the explorer must be where the chain is within this time, and all messages delivered: a
/// shorter chain is judged for ten minutes, and a message that was refused three times waits for ten.
const LAST_PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);
/// For what is asked of contracts behind the tip.
const SETTLED_AFTER: Duration = Duration::from_secs(60);
const STACK_BYTES: usize = 64 << 20;
const LAST_BLOCKS: usize = 4;

pub(crate) enum End {
    Crashed,
    Finished,
}

/// The clock stands still while anything is to be done, and one thread does all that may block.
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
    }
}

/// Runs on a folder. If the life crashes, the folder at `image` is what it leaves behind.
pub(crate) fn live(world: &Arc<World>, data: &Path, image: &Path, crash: Option<Crash>, life: usize) -> End {
    let runtime = runtime();
    let (end, now, synced) = runtime.block_on(async {
        world.begin_life().await;
        let store = EmbeddedStore::open(data, store_options(world.plan.write_buffer_bytes))
            .unwrap_or_else(|error| panic!("life {life}: the store does not open: {error:?}"));
        let gate = Gate::new(world, data.to_owned(), image.to_owned(), crash);
        gate.note_synced();
        let end = tokio::select! {
            biased;
            () = gate.gone.notified() => End::Crashed,
            () = Explorer::start(world, store, &gate, life) => End::Finished,
        };
        (end, world.now(), gate.synced())
    });
    // As the process ends: whatever is under way is dropped.
    drop(runtime);
    world.end_life(now, crash.map_or(Duration::ZERO, |crash| crash.downtime));
    if let (End::Crashed, Some(crash)) = (&end, crash) {
        let mut rng = world.plan.chance.of("crash").nth(life as u64).rng();
        let how = disk::spoil(image, crash.disk, synced.as_ref(), &mut rng);
        world.note(format!("{:?}: {how}", crash.disk));
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
    /// Wires the parts as the binary does, and goes through the plan.
    async fn start(world: &Arc<World>, store: EmbeddedStore, gate: &Arc<Gate>, life: usize) {
        let endpoints = world.plan.endpoints.len();
        let nodes: Vec<Arc<dyn Exchange>> =
            (0..endpoints).map(|index| Arc::new(ScriptedNode::new(world, index)) as Arc<dyn Exchange>).collect();
        let node = node_client(world, &nodes, life as u64);
        let records: Arc<dyn WebhookRecords> = Arc::new(GatedRecords(store.webhook_records(), Arc::clone(gate)));
        let config = EgressConfig { insecure: Insecure::Allowed, ..EgressConfig::default() };
        let network = Arc::new(SimulatedNetwork(Arc::clone(world)));
        let egress = Arc::new(Egress::new(&config).unwrap().on(network));
        let vault = vault();
        let wake = Wake::default();
        let (status, sync) = watch::channel(SyncStatus::starting());
        let reader = Arc::new(store.reader());
        let registry = Registry::new(Arc::clone(&records), Arc::clone(&egress), vault.clone(), wake.clone());
        let seed = world.plan.chance.of("dispatcher").nth(life as u64).number();
        let cancel = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let matcher =
            Matcher::new(reader.clone(), Arc::clone(&records), sync.clone(), wake.clone(), TokenPrefix::default());
        tasks.spawn(matcher.run(cancel.clone()));
        let dispatcher = Dispatcher::new(Arc::clone(&records), egress, vault, wake, MAX_PARKED).with_seed(seed);
        tasks.spawn(dispatcher.run(cancel.clone()));
        tasks.spawn(webhooks::run_housekeeping(Arc::clone(&records), cancel.clone()));
        let (gate, follower_cancel, follower_reader) = (Arc::clone(gate), cancel.clone(), reader.clone());
        tasks.spawn(async move {
            let start_block = bind(&node, &store).await;
            gate.note_synced();
            let writer = Box::new(GatedWriter(store.writer(), gate));
            let config = ingest_config(start_block);
            let progress = Arc::new(Progress::default());
            let follower = Follower::new(node, writer, follower_reader, config, status, progress);
            follower.run(follower_cancel).await.unwrap();
        });
        let explorer = Self { world: Arc::clone(world), reader, records, registry, sync };
        tokio::select! {
            biased;
            ended = tasks.join_next() => panic!("life {life}: a task ended: {ended:?}"),
            () = explorer.go_through_plan() => {}
        }
        explorer.check_end().await;
    }

    async fn go_through_plan(&self) {
        self.check_promises().await;
        while let Some((at, action)) = self.world.plan.actions.get(self.world.next_action()).copied() {
            tokio::time::sleep(at.saturating_sub(self.world.now())).await;
            self.act(action).await;
            self.world.actions_done.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(self.world.plan.faults_end.saturating_sub(self.world.now())).await;
        // Longer than whatever any endpoint has shown.
        if self.world.next_action() == self.world.plan.actions.len() {
            let head = self.world.chain.head().number + DEEPEST_REORG;
            while self.world.chain.head().number < head {
                self.world.mine(LAST_BLOCKS);
            }
            self.world.actions_done.fetch_add(1, Ordering::Relaxed);
        }
        self.until_done().await;
        tokio::time::sleep(SETTLED_AFTER).await;
    }

    async fn act(&self, action: Action) {
        match action {
            Action::Mine { transactions } => self.world.mine(transactions),
            Action::Reorg { depth, blocks, replay } => self.world.reorg(depth, blocks, replay),
            Action::Look => look(&self.world, self.reader.as_ref()).await,
            Action::Register { receiver } => self.register(receiver).await,
        }
    }

    /// An owner who got no answer looks whether the webhook is there before asking again.
    async fn register(&self, receiver: usize) {
        let owner = Address::repeat_byte(u8::try_from(receiver + 1).unwrap());
        let mut rng = self.world.plan.chance.of("watched").nth(receiver as u64).rng();
        let accounts = self.world.chain.accounts();
        let watched = accounts[rng.random_range(0..accounts.len())].address();
        let events = EventKinds::default().with(EventKind::Tx).with(EventKind::TokenTransfer).with(EventKind::Removed);
        let there = self.registry.list(owner).await.unwrap().pop();
        let webhook = match there {
            Some(listed) => listed.webhook,
            None => {
                let registration = Registration { owner, url: url(receiver), watched, events };
                self.registry.register(registration).await.unwrap().webhook
            }
        };
        self.world.note(format!("registered {} after {:?}", webhook.id, webhook.after));
        let promise = Promise { webhook: webhook.id, receiver, watched, after: webhook.after };
        lock(&self.world.promises).push(promise);
    }

    /// What was acknowledged before the crash is there.
    async fn check_promises(&self) {
        let promises = lock(&self.world.promises).clone();
        for promise in promises {
            let webhook = self.records.find_webhook(promise.webhook).await.unwrap();
            let webhook = webhook.unwrap_or_else(|| panic!("an acknowledged webhook is lost: {promise:?}"));
            assert_eq!((webhook.watched, webhook.active), (promise.watched, true), "{promise:?}");
        }
    }

    async fn until_done(&self) {
        let begun = self.world.now();
        loop {
            let missing = self.missing().await;
            let Some(missing) = missing else { return };
            let waited = self.world.now() - begun;
            assert!(waited < LAST_PATIENCE, "nothing fails for {waited:?}, and {missing}: {:?}", *self.sync.borrow());
            tokio::time::sleep(Duration::from_secs(1).max(waited / 20)).await;
        }
    }

    /// What keeps the explorer from being where the chain is.
    async fn missing(&self) -> Option<String> {
        let head = self.world.chain.head();
        let tip = self.reader.find_tip().await.unwrap();
        if tip.is_none_or(|tip| (tip.number, tip.hash) != (head.number, head.hash)) {
            return Some(format!("the index is at {tip:?} of {head:?}"));
        }
        if self.sync.borrow().phase != SyncPhase::Following {
            return Some("it does not say that it follows".to_owned());
        }
        let progress = self.records.progress().await.unwrap();
        if progress.cursor != tip || progress.retracting {
            return Some(format!("webhooks are at {progress:?}"));
        }
        let pending = self.records.totals().pending;
        (pending > 0).then(|| format!("{pending} messages are not delivered"))
    }

    async fn check_end(&self) {
        self.check_promises().await;
        look(&self.world, self.reader.as_ref()).await;
    }
}

pub(crate) fn node_client(world: &World, nodes: &[Arc<dyn Exchange>], life: u64) -> NodeClient {
    let endpoints = (0..nodes.len()).map(|index| format!("http://node-{index}.test").parse::<Endpoint>().unwrap());
    let jitter_seed = Some(world.plan.chance.of("jitter").nth(life).number());
    // By default, the roots of blocks far below the head and older than an hour are checked for some blocks only.
    let verify_blocks = BlockChecks::Full;
    let config = NodeConfig { jitter_seed, verify_blocks, ..NodeConfig::new(endpoints.collect()) };
    NodeClient::in_process(config, nodes).unwrap()
}

pub(crate) fn ingest_config(start_block: u64) -> IngestConfig {
    IngestConfig { undo_depth: DEEPEST_REORG, window: 8, ..IngestConfig::from_block(start_block) }
}

pub(crate) fn vault() -> Vault {
    let key: EncryptionKey = "11".repeat(32).parse().unwrap();
    Vault::new(&key).unwrap()
}

/// Waits until the node tells its chain, and ties the data to it.
pub(crate) async fn bind(node: &NodeClient, store: &EmbeddedStore) -> u64 {
    loop {
        match node.identity().await {
            Ok(identity) => return store.bind(identity, Some(0)).unwrap(),
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}
