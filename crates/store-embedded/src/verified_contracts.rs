//! Verified contracts. Summaries and large details are separate rows.

pub(crate) mod check;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod jobs;
mod listing;
pub(crate) mod raw;
mod records;
mod row;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Address, B256, Deployment, JobId, Page, PageRequest, U256, VerificationJob, VerifiedContract, VerifiedSummary,
};
use store::{Kept, StateVersion, StoreError, VerifiedContracts};

pub(crate) use self::listing::{LISTED, Listing, code_hash_at, list_all, relist};
use self::records::{Record, Scope};
use crate::{
    blocking::{ReadSlots, run_blocking},
    engine::{Batch, Engine, View},
    keys::{Key, Table, id_bytes, number_in_key},
    ranked::RankMoves,
};

/// The verified contracts of an embedded store. Clones share one lock, which the chain writer also takes when the code
/// at an address changes.
#[derive(Debug, Clone)]
pub struct EmbeddedVerifiedContracts {
    engine: Engine,
    listing: Arc<Listing>,
    read_slots: Arc<ReadSlots>,
}

impl EmbeddedVerifiedContracts {
    pub(crate) fn new(engine: Engine, read_slots: Arc<ReadSlots>) -> Self {
        Self { engine, listing: Arc::default(), read_slots }
    }

    pub(crate) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing)
    }

    /// Runs here while a read slot is free, otherwise on the blocking pool.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(_slot) = self.read_slots.take() {
            return read(self);
        }
        self.work(read).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = self.clone();
        run_blocking(move || work(&this)).await
    }

    fn keep(&self, contract: &VerifiedContract) -> Result<Kept, StoreError> {
        let _guard = self.listing.lock();
        let (view, mut batch) = (self.engine.view(), self.engine.batch());
        let (address, code) = (contract.address, &contract.code);
        let hash = code.code_hash;
        let before = records::find(&view, &address, &hash)?;
        // A copy of code that contains its own address no longer matches its sources.
        let everywhere = if code.names_own_address { Scope::ThisAddress } else { Scope::Everywhere };
        let (kept, scope) = match &before {
            None => (Kept::New, Some(everywhere)),
            Some(before) if code.runtime_match > before.row.runtime_match => (Kept::Upgraded, Some(everywhere)),
            Some(before) if code.runtime_match == before.row.runtime_match => {
                let proven = before.deployment(&view, &address, &hash)?.is_some_and(|known| known.proof.is_some());
                // At other addresses, the other sources may be the proven ones.
                if contract.creation_match().is_some() && !proven {
                    (Kept::Upgraded, Some(Scope::ThisAddress))
                } else {
                    (Kept::Unchanged, None)
                }
            }
            Some(_) => (Kept::Unchanged, None),
        };
        if let Some(scope) = scope {
            records::put(&mut batch, scope, address, code);
            if let Some(deployment) = &contract.deployment {
                records::put_deployment(&mut batch, &address, &hash, deployment);
            }
        }
        if listing::find_number(&view, &address, &hash)?.is_none() {
            let number = last_number(&view)? + 1;
            batch.put(Table::VerifiedNumber, &Key::contract(&address, &hash), id_bytes(number).as_slice());
            batch.put(Table::VerifiedByNumber, &Key::id(number), Key::contract(&address, &hash).as_slice());
            listing::list(&view, &mut batch, number, &address, hash)?;
        } else if scope.is_none() {
            return Ok(kept);
        }
        batch.commit_durably()?;
        Ok(kept)
    }

    /// Numbers stay taken: that of a removed contract names an address without such code.
    fn remove(&self, hash: B256) -> Result<u64, StoreError> {
        let _guard = self.listing.lock();
        let (view, mut batch, mut moves) = (self.engine.view(), self.engine.batch(), RankMoves::default());
        let mut removed = 0;
        for row in view.prefix(Table::VerifiedByNumber, &Key::EMPTY) {
            let (key, row) = row?;
            let (address, found) = records::contract_in(&row)?;
            if found == hash {
                let number = number_in_key(&key, 0)?;
                listing::remove(&view, &mut batch, &mut moves, number, &address, hash)?;
                batch.delete(Table::VerifiedNumber, &Key::contract(&address, &hash));
                batch.delete(Table::VerifiedDeployment, &Key::contract(&address, &hash));
                put_removed(&mut batch, number);
                removed += 1;
            }
        }
        for row in view.prefix(Table::VerifiedCode, &Key::hash(&hash)) {
            let key = Key::from_slice(&row?.0).ok_or(records::INVALID_KEY)?;
            batch.delete(Table::VerifiedCode, &key);
            batch.delete(Table::VerifiedCodeDetail, &key);
        }
        if removed > 0 {
            put_removed(&mut batch, last_number(&view)? + 1);
            moves.write(&view, &mut batch)?;
            batch.commit_durably()?;
        }
        Ok(removed)
    }

    fn find_summary(&self, view: &View, address: Address, hash: B256) -> Result<Option<VerifiedSummary>, StoreError> {
        let Some(record) = records::find(view, &address, &hash)? else { return Ok(None) };
        let twin_of = twin_of(view, &record, &address, &hash)?;
        let deployment = record.deployment(view, &address, &hash)?;
        Ok(Some(record.summary(address, hash, deployment.as_ref(), twin_of)))
    }

    fn list(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError> {
        const MISSING: StoreError = StoreError::Corrupt("a listed verified contract is missing");
        let view = self.engine.view();
        let (total, numbers) = listing::page(&view, page)?;
        let items = numbers.into_iter().map(|number| {
            let row = view.get(Table::VerifiedByNumber, &Key::id(number))?.ok_or(MISSING)?;
            let (address, hash) = row.split_at_checked(Address::len_bytes()).ok_or(MISSING)?;
            let address = Address::try_from(address).map_err(|_| MISSING)?;
            let hash = B256::try_from(hash).map_err(|_| MISSING)?;
            self.find_summary(&view, address, hash)?.ok_or(MISSING)
        });
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }
}

/// Where the same code was verified, if not at the address itself.
fn twin_of(view: &View, record: &Record, address: &Address, hash: &B256) -> Result<Option<Address>, StoreError> {
    let here = listing::find_number(view, address, hash)?.is_some();
    Ok((!here).then_some(record.row.origin))
}

/// The number of a contract that was removed, or of a removal.
fn put_removed(batch: &mut Batch, number: u64) {
    let nothing = Key::contract(&Address::ZERO, &B256::from(U256::from(number)));
    batch.put(Table::VerifiedByNumber, &Key::id(number), nothing.as_slice());
}

/// Ids have no gaps: the last one is the total.
fn last_number(view: &View) -> Result<u64, StoreError> {
    let newest = view.prefix(Table::VerifiedByNumber, &Key::EMPTY).next_back().transpose()?;
    newest.map_or(Ok(0), |(key, _)| number_in_key(&key, 0))
}

#[async_trait]
impl VerifiedContracts for EmbeddedVerifiedContracts {
    fn state(&self) -> Option<StateVersion> {
        self.engine.state()
    }

    async fn find_verified(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError> {
        self.read(move |this| {
            let view = this.engine.view();
            let Some(record) = records::find(&view, &address, &code_hash)? else { return Ok(None) };
            let twin_of = twin_of(&view, &record, &address, &code_hash)?;
            let deployment = record.deployment(&view, &address, &code_hash)?;
            Ok(Some(VerifiedContract { address, twin_of, code: record.detail(&view, code_hash)?, deployment }))
        })
        .await
    }

    async fn find_verified_summary(
        &self,
        address: Address,
        code_hash: B256,
    ) -> Result<Option<VerifiedSummary>, StoreError> {
        self.read(move |this| this.find_summary(&this.engine.view(), address, code_hash)).await
    }

    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError> {
        self.read(move |this| this.list(page)).await
    }

    async fn count_verifications(&self) -> Result<u64, StoreError> {
        self.read(move |this| last_number(&this.engine.view())).await
    }

    async fn save_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError> {
        self.work(move |this| this.keep(&contract)).await
    }

    async fn save_deployment(
        &self,
        address: Address,
        code_hash: B256,
        deployment: Deployment,
    ) -> Result<(), StoreError> {
        self.work(move |this| {
            let _guard = this.listing.lock();
            let mut batch = this.engine.batch();
            records::put_deployment(&mut batch, &address, &code_hash, &deployment);
            batch.commit()
        })
        .await
    }

    async fn remove_verified(&self, code_hash: B256) -> Result<u64, StoreError> {
        self.work(move |this| this.remove(code_hash)).await
    }

    async fn save_job(&self, job: VerificationJob) -> Result<(), StoreError> {
        self.work(move |this| {
            let _guard = this.listing.lock();
            let (view, mut batch) = (this.engine.view(), this.engine.batch());
            jobs::put(&view, &mut batch, &job)?;
            batch.commit_durably()
        })
        .await
    }

    async fn find_job(&self, id: JobId) -> Result<Option<VerificationJob>, StoreError> {
        self.read(move |this| jobs::find(&this.engine.view(), id)).await
    }
}
