//! Verified contracts. What lists tell and what makes up megabytes stand in rows of their own.

mod row;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::{Address, B256, Page, PageRequest, VerifiedContract, VerifiedSummary};
use row::Numbered;
use store::{Kept, StateVersion, StoreError, VerifiedContracts};

use crate::aside::{ReadingPlaces, aside};
use crate::engine::{Engine, View};
use crate::keys::{Key, Table, number_in_key};

/// The verified contracts of an embedded store. Clones share one lock; the chain's writer has no part in it.
#[derive(Debug, Clone)]
pub struct EmbeddedVerifiedContracts {
    engine: Engine,
    changing: Arc<Mutex<()>>,
    places: Arc<ReadingPlaces>,
}

impl EmbeddedVerifiedContracts {
    pub(crate) fn new(engine: Engine, places: Arc<ReadingPlaces>) -> Self {
        Self { engine, changing: Arc::default(), places }
    }

    /// Reads here while there is a place, aside where there is none.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(_place) = self.places.take() {
            return read(self);
        }
        self.work(read).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let own = self.clone();
        aside(move || work(&own)).await
    }

    fn keep(&self, contract: &VerifiedContract) -> Result<Kept, StoreError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let (view, mut batch) = (self.engine.view(), self.engine.batch());
        let summary = &contract.summary;
        let before = find(&view, summary.address)?;
        let same_code = before.as_ref().filter(|before| before.summary.code_hash == summary.code_hash);
        let kept = match same_code {
            Some(before) if !summary.proves_more_than(&before.summary) => return Ok(Kept::Unchanged),
            Some(_) => Kept::Upgraded,
            None => Kept::New,
        };
        let number = match &before {
            Some(before) => before.number,
            None => last_number(&view)? + 1,
        };
        if let Some(before) = before.as_ref().filter(|_| kept == Kept::New) {
            let code = Key::hash(&before.summary.code_hash);
            if find_twin(&view, &before.summary.code_hash)? == Some(summary.address) {
                batch.delete(Table::VerifiedByCode, &code);
            }
        }
        let twin = find_twin(&view, &summary.code_hash)?.map(|twin| find(&view, twin)).transpose()?.flatten();
        if twin.is_none_or(|twin| summary.proves_more_than(&twin.summary)) {
            batch.put(Table::VerifiedByCode, &Key::hash(&summary.code_hash), summary.address.to_vec());
        }
        let key = Key::address(&summary.address);
        batch.put(Table::Verified, &key, row::write_summary(number, summary));
        batch.put(Table::VerifiedDetail, &key, row::write_detail(contract));
        batch.put(Table::VerifiedByNumber, &Key::id(number), summary.address.to_vec());
        batch.commit_durably()?;
        Ok(kept)
    }

    fn list(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError> {
        let view = self.engine.view();
        let total = last_number(&view)?;
        let mut items = Vec::new();
        for rank in page.ranks(total) {
            let address = view.get(Table::VerifiedByNumber, &Key::id(rank + 1))?.ok_or(HOLE)?;
            let address = Address::try_from(address.as_ref()).map_err(|_| HOLE)?;
            items.push(find(&view, address)?.ok_or(HOLE)?.summary);
        }
        Ok(Page { items, total })
    }
}

const HOLE: StoreError = StoreError::Corrupt("a verified contract that is listed but not there");

fn find(view: &View, address: Address) -> Result<Option<Numbered>, StoreError> {
    let row = view.get(Table::Verified, &Key::address(&address))?;
    row.map(|row| row::read_summary(address, &row)).transpose()
}

fn find_twin(view: &View, code_hash: &B256) -> Result<Option<Address>, StoreError> {
    let row = view.get(Table::VerifiedByCode, &Key::hash(code_hash))?;
    row.map(|row| Address::try_from(row.as_ref()).map_err(|_| HOLE)).transpose()
}

/// Numbers run without a gap: the last one is how many there are.
fn last_number(view: &View) -> Result<u64, StoreError> {
    let newest = view.prefix(Table::VerifiedByNumber, &Key::EMPTY).next_back().transpose()?;
    Ok(newest.map_or(0, |(key, _)| number_in_key(&key, 0)))
}

#[async_trait]
impl VerifiedContracts for EmbeddedVerifiedContracts {
    fn state(&self) -> Option<StateVersion> {
        self.engine.state()
    }

    async fn find_verified(&self, address: Address) -> Result<Option<VerifiedContract>, StoreError> {
        self.read(move |own| {
            let view = own.engine.view();
            let Some(found) = find(&view, address)? else { return Ok(None) };
            let detail = view.get(Table::VerifiedDetail, &Key::address(&address))?.ok_or(HOLE)?;
            row::read_detail(found.summary, &detail).map(Some)
        })
        .await
    }

    async fn find_verified_summary(&self, address: Address) -> Result<Option<VerifiedSummary>, StoreError> {
        self.read(move |own| Ok(find(&own.engine.view(), address)?.map(|found| found.summary))).await
    }

    async fn find_verified_twin(&self, code_hash: B256) -> Result<Option<Address>, StoreError> {
        self.read(move |own| find_twin(&own.engine.view(), &code_hash)).await
    }

    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError> {
        self.read(move |own| own.list(page)).await
    }

    async fn keep_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError> {
        self.work(move |own| own.keep(&contract)).await
    }
}
