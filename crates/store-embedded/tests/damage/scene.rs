use std::collections::BTreeMap;

use domain::{
    Address, ApiKey, B256, BlockChanges, BlockNumber, ChainIdentity, EventKind, EventKinds, KeyDigest, NewApiKey,
    NewWebhook, SealedSecret, Webhook,
};
use store::{ChainReader, ChainWriter, StoreError, Undo, UserRecords, WebhookRecords, conformance::RandomChain};
use store_embedded::{EmbeddedStore, StoreOptions};
use tokio::runtime::Runtime;

use crate::image::Image;

const COMMITS: u8 = 60;
const KEEP: Undo = Undo::Keep { down_to: 0 };

/// Small buffers, so that tables are flushed.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 100 << 10, cache_bytes: 4 << 20, ..StoreOptions::default() }
}

/// What was written and acknowledged.
pub(crate) struct Scene {
    blocks: Vec<BlockChanges>,
    fingerprints: BTreeMap<BlockNumber, B256>,
    keys: Vec<ApiKey>,
    webhooks: Vec<Webhook>,
}

impl Scene {
    /// Writes a folder and returns its files while the store is still open.
    pub(crate) fn play() -> (Self, Image) {
        Self::play_with(options())
    }

    /// The same, with everything in the journal only.
    pub(crate) fn play_without_tables() -> (Self, Image) {
        Self::play_with(StoreOptions::default())
    }

    fn play_with(options: StoreOptions) -> (Self, Image) {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), options).unwrap();
        let scene = runtime().block_on(Self::write(&store));
        let image = Image::of(folder.path());
        (scene, image)
    }

    async fn write(store: &EmbeddedStore) -> Self {
        let identity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };
        store.bind(identity, None).unwrap();
        let (mut writer, mut chain) = (store.writer(), RandomChain::new(11));
        let (keys, hooks) = (store.user_records(), store.webhook_records());
        let mut scene =
            Self { blocks: Vec::new(), fingerprints: BTreeMap::new(), keys: Vec::new(), webhooks: Vec::new() };
        for number in 0..COMMITS {
            let mut batch = Vec::new();
            for _ in 0..3 {
                let parent = batch.last().or(scene.blocks.last()).map(|changes: &BlockChanges| &changes.block);
                let block = chain.next_block(parent);
                batch.push(block);
            }
            scene.blocks.extend(batch.iter().cloned());
            writer.commit(batch, KEEP).await.unwrap();
            let tip = writer.tip().await.unwrap().unwrap();
            scene.fingerprints.insert(tip.number, store.reader().fingerprint().unwrap());
            if number % 4 == 1 {
                scene.keys.push(keys.add_key(new_key(number)).await.unwrap());
            }
            if number % 6 == 2 {
                scene.webhooks.push(hooks.add_webhook(new_webhook(number)).await.unwrap());
            }
        }
        scene
    }

    pub(crate) fn last_tip(&self) -> Option<BlockNumber> {
        self.fingerprints.keys().next_back().copied()
    }

    pub(crate) fn tip_of(&self, store: &EmbeddedStore) -> Option<BlockNumber> {
        runtime().block_on(store.reader().find_tip()).unwrap().map(|tip| tip.number)
    }

    /// Ids of keys that the store does not have.
    pub(crate) fn missing_keys(&self, store: &EmbeddedStore) -> Vec<u64> {
        let records = store.user_records();
        let is_missing = |key: &&ApiKey| runtime().block_on(records.find_key(key.id)).unwrap().is_none();
        self.keys.iter().filter(is_missing).map(|key| key.id).collect()
    }

    pub(crate) fn check_chain_continues(&self, store: &EmbeddedStore) -> Result<(), StoreError> {
        runtime().block_on(async {
            self.check_chain(store, "repaired").await?;
            self.commit_rest(store, "repaired").await
        })
    }

    /// Panics on wrong data; returns an error that the store reported.
    pub(crate) fn check(&self, store: &EmbeddedStore, what: &str) -> Result<(), StoreError> {
        runtime().block_on(async {
            self.check_chain(store, what).await?;
            let (keys, hooks) = (store.user_records(), store.webhook_records());
            for key in &self.keys {
                assert_eq!(keys.find_key_by_digest(key.digest).await?.as_ref(), Some(key), "{what}");
            }
            for webhook in &self.webhooks {
                assert_eq!(hooks.find_webhook(webhook.id).await?.as_ref(), Some(webhook), "{what}");
            }
            self.commit_rest(store, what).await
        })
    }

    async fn check_chain(&self, store: &EmbeddedStore, what: &str) -> Result<(), StoreError> {
        let Some(tip) = store.reader().find_tip().await? else { panic!("{what}: the index is empty") };
        let tip = tip.number;
        let expected = self.fingerprints.get(&tip).unwrap_or_else(|| panic!("{what}: no commit ended at {tip}"));
        assert_eq!(store.reader().fingerprint()?, *expected, "{what}: the index is not as it was at block {tip}");
        Ok(())
    }

    /// Commits the remaining blocks, as after any restart.
    async fn commit_rest(&self, store: &EmbeddedStore, what: &str) -> Result<(), StoreError> {
        let mut writer = store.writer();
        let tip = writer.tip().await?.map(|tip| tip.number);
        let rest = self.blocks.iter().filter(|changes| tip.is_none_or(|tip| changes.block.number > tip));
        writer.commit(rest.cloned().collect(), KEEP).await?;
        assert_eq!(
            store.reader().fingerprint()?,
            self.fingerprints[&self.last_tip().unwrap()],
            "{what}: after the remaining blocks"
        );
        Ok(())
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn new_key(number: u8) -> NewApiKey {
    NewApiKey {
        digest: KeyDigest::new([number; 32]),
        owner: Address::repeat_byte(number),
        prefix: format!("expl_{number}"),
        label: "kept".to_owned(),
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
