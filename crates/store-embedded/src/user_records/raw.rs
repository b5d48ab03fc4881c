//! Reads and writes API keys for files of records.

use std::collections::{BTreeMap, btree_map::Entry};

use domain::{Address, ApiKey, ApiKeyId};
use store::{Record, RecordPosition, StoreError, UsedProof};

use super::{active_keys, put_active_keys, put_key, row};
use crate::{
    engine::{Batch, View},
    keys::{Key, Table, number_in_key, split_key},
};

pub(crate) fn read_keys(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::ApiKey(id)) => Key::id(id + 1),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::ApiKey, &from, &Key::EMPTY).take(limit);
    rows.map(|row| {
        let (key, row) = row?;
        Ok(Record::ApiKey(row::read(number_in_key(&key, 0)?, &row)?))
    })
    .collect()
}

pub(crate) fn read_proofs(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::UsedProof(owner, signed_at)) => Key::api_key_proof(&owner, signed_at).then(&[0]),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::ApiKeyProof, &from, &Key::EMPTY).take(limit);
    rows.map(|row| {
        let (key, _) = row?;
        let (owner, signed_at) = split_key(&key, Address::len_bytes())?;
        let owner = Address::try_from(owner).map_err(|_| StoreError::Corrupt("a proof without its owner"))?;
        Ok(Record::UsedProof(UsedProof { owner, signed_at: number_in_key(signed_at, 0)? }))
    })
    .collect()
}

pub(crate) fn write<'a>(
    view: &View,
    batch: &mut Batch,
    keys: impl Iterator<Item = &'a ApiKey>,
) -> Result<(), StoreError> {
    // A batch cannot be read back, so the list of each owner is written once.
    let mut active: BTreeMap<Address, Vec<ApiKeyId>> = BTreeMap::new();
    for key in keys {
        put_key(batch, key);
        batch.put(Table::ApiKeyByDigest, &Key::api_key_by_digest(&key.digest, key.id), []);
        batch.put(Table::ApiKeyByOwner, &Key::api_key_by_owner(&key.owner, key.id), []);
        if key.active {
            let ids = match active.entry(key.owner) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(active_keys(view, &key.owner)?),
            };
            if !ids.contains(&key.id) {
                ids.push(key.id);
            }
        }
    }
    active.iter().for_each(|(owner, ids)| put_active_keys(batch, owner, ids));
    Ok(())
}

pub(crate) fn write_proof(batch: &mut Batch, proof: &UsedProof) {
    batch.put(Table::ApiKeyProof, &Key::api_key_proof(&proof.owner, proof.signed_at), []);
}
