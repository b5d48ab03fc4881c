//! Empties the index for a chain that is in the place of the one before.
//!
//! An index may be larger than the memory, so its rows are deleted in many commits. The first one deletes the tip, without which
//! queries find nothing, and leaves a mark. The last one deletes the mark.

use domain::ChainIdentity;
use store::StoreError;

use super::state::WriteState;
use crate::{
    engine::Engine,
    keys::{Key, Table},
    meta::{self, Binding},
    webhook_records,
};

/// Rows that are deleted in one commit.
const DELETED_AT_ONCE: usize = 20_000;

impl WriteState {
    pub(crate) fn start_over(&mut self, engine: &Engine, chain: ChainIdentity) -> Result<(), StoreError> {
        let listing = std::sync::Arc::clone(&self.listing);
        let _guard = listing.lock();
        begin(engine, chain)?;
        // Whatever happens, nothing that was cached is of the new chain.
        self.clear();
        finish(engine)
    }
}

fn begin(engine: &Engine, chain: ChainIdentity) -> Result<(), StoreError> {
    let view = engine.view();
    let start_block = meta::find_binding(&view)?.map_or(0, |binding| binding.start_block);
    let mut batch = engine.batch();
    meta::set_emptying(&mut batch, true);
    meta::put_binding(&mut batch, &Binding { identity: chain, start_block });
    if let Some(tip) = meta::find_tip(&view)? {
        meta::delete_tip(&mut batch);
        // Ends the epoch.
        batch.delete(Table::Block, &Key::block(tip.block.number));
    }
    webhook_records::match_from_start(&view, &mut batch, start_block)?;
    batch.commit_durably()
}

/// Resumes an interrupted [`WriteState::start_over`].
pub(crate) fn resume(engine: &Engine) -> Result<(), StoreError> {
    if meta::is_emptying(&engine.view())? { finish(engine) } else { Ok(()) }
}

fn finish(engine: &Engine) -> Result<(), StoreError> {
    // Rows that refer to others are deleted before those.
    let emptied = Table::ALL.iter().rev().copied().filter(|table| !table.is_record() && *table != Table::Meta);
    for table in emptied {
        loop {
            let (view, mut batch) = (engine.view(), engine.batch());
            let mut deleted = 0;
            for row in view.prefix(table, &Key::EMPTY).take(DELETED_AT_ONCE) {
                batch.delete(table, &Key::from_slice(&row?.0).ok_or(StoreError::Corrupt("a key that is too long"))?);
                deleted += 1;
            }
            batch.commit()?;
            if deleted < DELETED_AT_ONCE {
                break;
            }
        }
    }
    let mut batch = engine.batch();
    meta::set_emptying(&mut batch, false);
    batch.commit_durably()
}

#[cfg(test)]
mod tests {
    use domain::B256;
    use store::{ChainWriter, Undo};
    use store_conformance::RandomChain;

    use super::*;
    use crate::{EmbeddedStore, StoreOptions};

    const CHAIN: ChainIdentity = ChainIdentity { chain_id: 5, genesis_hash: B256::ZERO };

    #[tokio::test]
    async fn an_index_that_was_not_emptied_to_its_end_is_emptied_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions::default();
        let store = EmbeddedStore::open(folder.path(), options).unwrap();
        let mut chain = RandomChain::new(3);
        let mut blocks = vec![chain.next_block(None)];
        for _ in 0..20 {
            let parent = blocks.last().unwrap().block.clone();
            blocks.push(chain.next_block(Some(&parent)));
        }
        store.writer().commit(blocks, Undo::Keep { down_to: 0 }).await.unwrap();
        drop(store);

        let engine = Engine::open(folder.path(), options.engine()).unwrap();
        begin(&engine, CHAIN).unwrap();
        let has_rows = |engine: &Engine, table| engine.view().prefix(table, &Key::EMPTY).next().is_some();
        assert!(has_rows(&engine, Table::Transaction) && has_rows(&engine, Table::Tail));
        drop(engine);

        let store = EmbeddedStore::open(folder.path(), options).unwrap();
        assert_eq!(store.identity().unwrap(), Some(CHAIN));
        assert_eq!(store.writer().tip().await.unwrap(), None);
        drop(store);
        let engine = Engine::open(folder.path(), options.engine()).unwrap();
        let left: Vec<Table> = Table::ALL.iter().copied().filter(|table| has_rows(&engine, *table)).collect();
        assert_eq!(left, [Table::Meta]);
        assert!(!meta::is_emptying(&engine.view()).unwrap());
    }
}
