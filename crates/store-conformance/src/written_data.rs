//! Data to write before a simulated crash, and to compare with afterwards.

use std::collections::BTreeMap;

use domain::{
    Address, ApiKey, B256, BlockChanges, BlockNumber, ChainIdentity, KeyDigest, NewApiKey, NewWebhook, SealedSecret,
    Webhook,
};

use super::RandomChain;
use store::{Store, StoreError, Undo, WebhookLimits};

const COMMITS: u8 = 60;
const BLOCKS_PER_COMMIT: usize = 3;
const KEEP: Undo = Undo::Keep { down_to: 0 };
const IDENTITY: ChainIdentity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };

/// A hash over all chain data of a store.
pub type Fingerprint<'a> = &'a dyn Fn() -> Result<B256, StoreError>;

/// Blocks, API keys and webhooks that were written to a store, always the same ones.
#[derive(Debug)]
pub struct WrittenData {
    blocks: Vec<BlockChanges>,
    /// The fingerprint of the index after each commit, by tip.
    fingerprints: BTreeMap<Option<BlockNumber>, B256>,
    keys: Vec<ApiKey>,
    webhooks: Vec<Webhook>,
}

/// Something that the store promised to keep even if the power is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// Another API key.
    Key,
    /// Another webhook.
    Webhook,
    /// The index up to this block.
    Tip(BlockNumber),
}

/// The part of the data that must not be lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurableData {
    /// Number of API keys, from the first on.
    pub keys: usize,
    pub webhooks: usize,
    pub tip: Option<BlockNumber>,
}

impl DurableData {
    pub fn add(&mut self, durable: Durable) {
        match durable {
            Durable::Key => self.keys += 1,
            Durable::Webhook => self.webhooks += 1,
            Durable::Tip(tip) => self.tip = Some(tip),
        }
    }
}

impl WrittenData {
    /// Writes to an empty store. Calls `on_durable` at the moment that something has become durable. If `sync_every` is
    /// given, the index is synced after so many commits. Without fingerprints, the result cannot be compared.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn write(
        store: &dyn Store,
        fingerprint: Option<Fingerprint<'_>>,
        sync_every: Option<u8>,
        mut on_durable: impl FnMut(Durable),
    ) -> Result<Self, StoreError> {
        store.bind(IDENTITY, None).await?;
        let (mut writer, mut chain) = (store.writer(), RandomChain::new(11));
        let (keys, webhooks) = (store.user_records(), store.webhook_records(WebhookLimits::default()));
        let mut written =
            Self { blocks: Vec::new(), fingerprints: BTreeMap::new(), keys: Vec::new(), webhooks: Vec::new() };
        written.add_fingerprint(None, fingerprint)?;
        for number in 0..COMMITS {
            let first = written.blocks.len();
            for _ in 0..BLOCKS_PER_COMMIT {
                let parent = written.blocks.last().map(|changes| &changes.block);
                written.blocks.push(chain.next_block(parent));
            }
            let batch = written.blocks[first..].to_vec();
            let tip = batch[batch.len() - 1].block.number;
            writer.commit(batch, KEEP).await?;
            written.add_fingerprint(Some(tip), fingerprint)?;
            if number % 4 == 1 {
                written.keys.push(keys.add_key(new_key(number)).await.expect("a new key"));
                on_durable(Durable::Key);
            }
            if number % 6 == 2 {
                written.webhooks.push(webhooks.add_webhook(new_webhook(number)).await.expect("a new webhook"));
                on_durable(Durable::Webhook);
            }
            if sync_every.is_some_and(|commits| number % commits == commits - 1) {
                store.sync().await?;
                on_durable(Durable::Tip(tip));
            }
        }
        Ok(written)
    }

    fn add_fingerprint(&mut self, tip: Option<BlockNumber>, of: Option<Fingerprint<'_>>) -> Result<(), StoreError> {
        if let Some(fingerprint) = of {
            self.fingerprints.insert(tip, fingerprint()?);
        }
        Ok(())
    }

    /// All records, and an index that is not empty.
    #[must_use]
    pub fn all_records(&self) -> DurableData {
        DurableData { keys: self.keys.len(), webhooks: self.webhooks.len(), ..self.some_blocks() }
    }

    /// An index that is not empty, without records.
    #[must_use]
    pub fn some_blocks(&self) -> DurableData {
        DurableData { tip: self.blocks.first().map(|changes| changes.block.number), ..DurableData::default() }
    }

    #[must_use]
    pub fn last_tip(&self) -> Option<BlockNumber> {
        self.blocks.last().map(|changes| changes.block.number)
    }

    /// Ids of the API keys that a store does not have.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn missing_keys(&self, store: &dyn Store) -> Result<Vec<u64>, StoreError> {
        let (records, mut missing) = (store.user_records(), Vec::new());
        for key in &self.keys {
            if records.find_key(key.id).await?.is_none() {
                missing.push(key.id);
            }
        }
        Ok(missing)
    }

    /// Compares a store after a crash with what was written before, and then commits the remaining blocks. Panics if data
    /// is wrong, or if durable data is missing.
    ///
    /// # Errors
    /// If the store reports a failure.
    pub async fn check(
        &self,
        store: &dyn Store,
        fingerprint: Fingerprint<'_>,
        durable: &DurableData,
    ) -> Result<(), StoreError> {
        let tip = store.reader().find_tip().await?.map(|tip| tip.number);
        assert!(tip >= durable.tip, "the index ends at {tip:?}, before {:?}", durable.tip);
        // A store that was lost before it was bound to a chain has no data.
        if store.identity().await?.is_some() {
            let expected = self.fingerprints.get(&tip).unwrap_or_else(|| panic!("no commit ended at {tip:?}"));
            assert_eq!(fingerprint()?, *expected, "the index is not as it was at block {tip:?}");
        }
        self.check_records(store, durable).await?;
        self.commit_rest(store, tip).await?;
        let complete = &self.fingerprints[&self.last_tip()];
        assert_eq!(fingerprint()?, *complete, "after the remaining blocks");
        Ok(())
    }

    async fn check_records(&self, store: &dyn Store, durable: &DurableData) -> Result<(), StoreError> {
        let (keys, webhooks) = (store.user_records(), store.webhook_records(WebhookLimits::default()));
        for (number, key) in self.keys.iter().enumerate() {
            let found = keys.find_key_by_digest(key.digest).await?;
            assert!(found.is_some() || number >= durable.keys, "key {number} is lost");
            assert!(found.is_none() || found.as_ref() == Some(key), "{found:?}");
        }
        for (number, webhook) in self.webhooks.iter().enumerate() {
            let found = webhooks.find_webhook(webhook.id).await?;
            assert!(found.is_some() || number >= durable.webhooks, "webhook {number} is lost");
            assert!(found.is_none() || found.as_ref() == Some(webhook), "{found:?}");
        }
        Ok(())
    }

    /// Commits the remaining blocks, as after any restart.
    async fn commit_rest(&self, store: &dyn Store, tip: Option<BlockNumber>) -> Result<(), StoreError> {
        store.bind(IDENTITY, None).await?;
        let rest = self.blocks.iter().filter(|changes| tip.is_none_or(|tip| changes.block.number > tip));
        let rest: Vec<_> = rest.cloned().collect();
        if !rest.is_empty() {
            store.writer().commit(rest, KEEP).await?;
        }
        Ok(())
    }
}

fn new_key(number: u8) -> NewApiKey {
    NewApiKey {
        digest: KeyDigest::new([number; 32]),
        owner: Address::repeat_byte(number),
        prefix: format!("expl_{number}"),
        label: "label".to_owned(),
        requests_per_minute: 100,
        created_at: 5,
        proof: Some(number.into()),
    }
}

fn new_webhook(number: u8) -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(number),
        watched: Address::repeat_byte(9),
        secret: SealedSecret::new(vec![1; 60]),
        created_at: 5,
        ..NewWebhook::sample()
    }
}
