//! The recorded workload, and the data that must exist afterwards.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use domain::{
    Address, ApiKey, B256, BlockChanges, BlockNumber, ChainIdentity, EventKind, EventKinds, KeyDigest, NewApiKey,
    NewWebhook, SealedSecret, Webhook,
};
use store::{ChainReader, ChainWriter, Undo, UserRecords, WebhookRecords, conformance::RandomChain};
use store_embedded::{EmbeddedStore, StoreOptions};
use tokio::runtime::Runtime;

const COMMITS: u8 = 60;
const KEEP: Undo = Undo::Keep { down_to: 0 };

/// Small buffers, so that tables are written and merged.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 100 << 10, cache_bytes: 4 << 20, ..StoreOptions::default() }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

pub(crate) struct Workload {
    blocks: Vec<BlockChanges>,
    fingerprints: BTreeMap<Option<BlockNumber>, B256>,
    keys: Vec<ApiKey>,
    webhooks: Vec<Webhook>,
}

/// Data that was acknowledged as durable.
#[derive(Debug, Default, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) keys: usize,
    pub(crate) webhooks: usize,
    /// The index was synced with this tip.
    pub(crate) tip: Option<BlockNumber>,
}

impl Workload {
    /// Writes a data folder, and logs each acknowledgement to a file at once.
    pub(crate) async fn run(data: &Path, acknowledged: Option<&Path>) -> Self {
        let log = acknowledged.map(|path| OpenOptions::new().create(true).append(true).open(path).unwrap());
        let store = EmbeddedStore::open(data, options()).unwrap();
        let identity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };
        store.bind(identity, None).unwrap();
        let (mut writer, mut chain) = (store.writer(), RandomChain::new(11));
        let mut workload =
            Self { blocks: Vec::new(), fingerprints: BTreeMap::new(), keys: Vec::new(), webhooks: Vec::new() };
        if log.is_none() {
            workload.fingerprints.insert(None, store.reader().fingerprint().unwrap());
        }
        for number in 0..COMMITS {
            let mut batch = Vec::new();
            for _ in 0..3 {
                let parent = batch.last().or(workload.blocks.last()).map(|changes: &BlockChanges| &changes.block);
                let block = chain.next_block(parent);
                batch.push(block);
            }
            workload.blocks.extend(batch.iter().cloned());
            writer.commit(batch, KEEP).await.unwrap();
            let tip = writer.tip().await.unwrap().unwrap().number;
            if log.is_none() {
                workload.fingerprints.insert(Some(tip), store.reader().fingerprint().unwrap());
            }
            if number % 4 == 1 {
                workload.keys.push(store.user_records().add_key(new_key(number)).await.unwrap());
                acknowledge(log.as_ref(), "key");
            }
            if number % 6 == 2 {
                workload.webhooks.push(store.webhook_records().add_webhook(new_webhook(number)).await.unwrap());
                acknowledge(log.as_ref(), "webhook");
            }
            if number % 10 == 9 {
                store.sync().unwrap();
                acknowledge(log.as_ref(), &format!("tip {tip}"));
            }
        }
        workload
    }

    /// Panics if data is wrong, or if acknowledged data is missing.
    pub(crate) fn check(&self, store: &EmbeddedStore, acknowledged: &Acknowledged) {
        runtime().block_on(async {
            let tip = store.reader().find_tip().await.unwrap().map(|tip| tip.number);
            let bound = store.identity().unwrap().is_some();
            assert!(tip >= acknowledged.tip, "the acknowledged tip is lost, the tip is {tip:?}");
            if bound {
                let expected = self.fingerprints.get(&tip).unwrap_or_else(|| panic!("no commit had the tip {tip:?}"));
                assert_eq!(store.reader().fingerprint().unwrap(), *expected, "wrong rows at tip {tip:?}");
            }
            for (number, key) in self.keys.iter().enumerate() {
                let found = store.user_records().find_key_by_digest(key.digest).await.unwrap();
                assert!(found.is_none() || found.as_ref() == Some(key), "{found:?}");
                assert!(found.is_some() || number >= acknowledged.keys, "key {number} is lost");
            }
            for (number, webhook) in self.webhooks.iter().enumerate() {
                let found = store.webhook_records().find_webhook(webhook.id).await.unwrap();
                assert!(found.is_none() || found.as_ref() == Some(webhook), "{found:?}");
                assert!(found.is_some() || number >= acknowledged.webhooks, "webhook {number} is lost");
            }
            self.index_rest(store, tip).await;
        });
    }

    /// Indexes the remaining blocks, as after any restart.
    async fn index_rest(&self, store: &EmbeddedStore, tip: Option<BlockNumber>) {
        store.bind(ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) }, None).unwrap();
        let rest = self.blocks.iter().filter(|changes| tip.is_none_or(|tip| changes.block.number > tip));
        let rest: Vec<_> = rest.cloned().collect();
        if !rest.is_empty() {
            store.writer().commit(rest, KEEP).await.unwrap();
        }
        let last = self.fingerprints.values().next_back().unwrap();
        assert_eq!(store.reader().fingerprint().unwrap(), *last, "wrong rows after indexing the remaining blocks");
    }
}

fn acknowledge(log: Option<&File>, what: &str) {
    if let Some(mut log) = log {
        log.write_all(format!("{what}\n").as_bytes()).unwrap();
    }
}

fn new_key(number: u8) -> NewApiKey {
    NewApiKey {
        digest: KeyDigest::new([number; 32]),
        owner: Address::repeat_byte(number),
        prefix: format!("expl_{number}"),
        label: "test key".to_owned(),
        requests_per_minute: 100,
        created_at: 5,
        proof: Some(number.into()),
    }
}

fn new_webhook(number: u8) -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(number),
        url: "https://receiver.example/".to_owned(),
        watched: Address::repeat_byte(9),
        events: EventKinds::default().with(EventKind::Tx),
        secret: SealedSecret::new(vec![1; 60]),
        created_at: 5,
    }
}
