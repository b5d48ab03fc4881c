//! API keys. Every change reads, checks and writes under one lock, and is durable before the call returns.

pub(crate) mod check;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
pub(crate) mod raw;
mod row;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey};
use store::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, StoreError, UserRecords};
use subtle::ConstantTimeEq;

use crate::{
    blocking::run_blocking,
    codec::{RowReader, RowWriter},
    engine::{Batch, Engine, View},
    keys::{Key, Table, fits_into_key, number_after_hash, number_in_key},
};

/// The user records of an embedded store. Clones share one lock; the chain writer does not use it.
#[derive(Debug, Clone)]
pub struct EmbeddedUserRecords {
    engine: Engine,
    write_lock: Arc<Mutex<()>>,
}

impl EmbeddedUserRecords {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, write_lock: Arc::default() }
    }

    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = self.engine.clone();
        run_blocking(move || query(&engine.view())).await
    }

    /// Runs one change under the lock, and makes it durable if it succeeds.
    async fn change<T, E>(
        &self,
        change: impl FnOnce(&View, &mut Batch) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let Self { engine, write_lock } = self.clone();
        run_blocking(move || {
            let _guard = write_lock.lock().unwrap_or_else(PoisonError::into_inner);
            let mut batch = engine.batch();
            let outcome = change(&engine.view(), &mut batch)?;
            batch.commit_durably()?;
            Ok(outcome)
        })
        .await
    }
}

#[async_trait]
impl UserRecords for EmbeddedUserRecords {
    async fn add_key(&self, new: NewApiKey) -> Result<ApiKey, AddKeyError> {
        self.change(move |view, batch| {
            if let Some(signed_at) = new.proof {
                let proof = Key::api_key_proof(&new.owner, signed_at);
                if view.get(Table::ApiKeyProof, &proof)?.is_some() {
                    return Err(AddKeyError::ProofUsed);
                }
                batch.put(Table::ApiKeyProof, &proof, []);
            }
            let mut active = active_keys(view, &new.owner)?;
            if active.len() >= ACTIVE_KEYS_PER_OWNER {
                return Err(AddKeyError::QuotaReached);
            }
            let key = new.stored_as(last_id(view)? + 1);
            active.push(key.id);
            put_active_keys(batch, &key.owner, &active);
            put_key(batch, &key);
            batch.put(Table::ApiKeyByDigest, &Key::api_key_by_digest(&key.digest, key.id), []);
            batch.put(Table::ApiKeyByOwner, &Key::api_key_by_owner(&key.owner, key.id), []);
            Ok(key)
        })
        .await
    }

    async fn find_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        self.read(move |view| find_key(view, id)).await
    }

    async fn find_key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>, StoreError> {
        self.read(move |view| {
            for row in view.prefix(Table::ApiKeyByDigest, &Key::digest_prefix(&digest)) {
                let key = get_key(view, number_after_hash(&row?.0)?)?;
                if key.digest.as_bytes().ct_eq(digest.as_bytes()).into() {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        })
        .await
    }

    async fn list_keys(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError> {
        self.read(move |view| {
            let mut ids = active_keys(view, &owner)?;
            for row in view.prefix(Table::ApiKeyByOwner, &Key::address(&owner)).rev().take(LISTED_KEYS) {
                ids.push(number_in_key(&row?.0, owner.len())?);
            }
            ids.sort_unstable_by(|one, other| other.cmp(one));
            ids.dedup();
            ids.into_iter().map(|id| get_key(view, id)).collect()
        })
        .await
    }

    async fn list_newest_keys(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError> {
        self.read(move |view| {
            let newest = view.prefix(Table::ApiKey, &Key::EMPTY).rev().take(limit as usize);
            newest.map(|row| row.and_then(|(key, row)| row::read(number_in_key(&key, 0)?, &row))).collect()
        })
        .await
    }

    async fn revoke_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        self.change(move |view, batch| {
            let Some(mut key) = find_key(view, id)? else { return Ok(None) };
            if key.active {
                key.active = false;
                let mut active = active_keys(view, &key.owner)?;
                active.retain(|other| *other != id);
                put_active_keys(batch, &key.owner, &active);
                put_key(batch, &key);
            }
            Ok(Some(key))
        })
        .await
    }

    async fn set_requests_per_minute(&self, id: ApiKeyId, limit: u32) -> Result<Option<ApiKey>, StoreError> {
        self.change(move |view, batch| {
            let Some(mut key) = find_key(view, id)? else { return Ok(None) };
            key.requests_per_minute = limit;
            put_key(batch, &key);
            Ok(Some(key))
        })
        .await
    }

    async fn record_key_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError> {
        self.change(move |view, batch| {
            // A batch cannot be read back, so each key is read and written once.
            let mut used: BTreeMap<ApiKeyId, ApiKey> = BTreeMap::new();
            for KeyUse { id, requests, last_used_at } in uses {
                let key = match used.remove(&id) {
                    Some(key) => Some(key),
                    None => find_key(view, id)?,
                };
                let Some(mut key) = key else { continue };
                key.total_requests = key.total_requests.saturating_add(requests);
                key.last_used_at = key.last_used_at.max(last_used_at);
                used.insert(id, key);
            }
            used.values().for_each(|key| put_key(batch, key));
            Ok(())
        })
        .await
    }
}

fn find_key(view: &View, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
    if !fits_into_key(id) {
        return Ok(None);
    }
    view.get(Table::ApiKey, &Key::id(id))?.map(|row| row::read(id, &row)).transpose()
}

fn get_key(view: &View, id: ApiKeyId) -> Result<ApiKey, StoreError> {
    find_key(view, id)?.ok_or(StoreError::Corrupt("a listed API key is missing"))
}

fn put_key(batch: &mut Batch, key: &ApiKey) {
    batch.put(Table::ApiKey, &Key::id(key.id), row::write(key));
}

fn last_id(view: &View) -> Result<ApiKeyId, StoreError> {
    let newest = view.prefix(Table::ApiKey, &Key::EMPTY).next_back().transpose()?;
    newest.map_or(Ok(0), |(key, _)| number_in_key(&key, 0))
}

fn active_keys(view: &View, owner: &Address) -> Result<Vec<ApiKeyId>, StoreError> {
    let row = view.get(Table::ActiveApiKeys, &Key::address(owner))?;
    row.map_or_else(|| Ok(Vec::new()), |row| read_ids(&row))
}

fn read_ids(row: &[u8]) -> Result<Vec<ApiKeyId>, StoreError> {
    let mut row = RowReader::new(row);
    let mut ids = Vec::new();
    while !row.is_empty() {
        ids.push(row.varint()?);
    }
    Ok(ids)
}

fn put_active_keys(batch: &mut Batch, owner: &Address, ids: &[ApiKeyId]) {
    let mut row = RowWriter::default();
    ids.iter().for_each(|id| row.varint(*id));
    batch.put(Table::ActiveApiKeys, &Key::address(owner), row.finish());
}
