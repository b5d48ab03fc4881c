//! Reads every row of the index and of the records, and compares counts, lists and rows. Memory does not grow with the rows, but for
//! one number per few thousand of them.

mod blocks;
mod counts;
mod fees;
mod list_sums;
mod lists;
mod row_forms;
mod row_lists;
mod scan;

use std::ops::RangeInclusive;

use domain::BlockNumber;
use store::{ChainTotals, StoreCheck, StoreFault, StorePart};

use self::scan::{Gap, scan};
use crate::{
    engine::View,
    keys::{Key, Table, number_in_key},
    meta::{self, Tip},
    rows::BlockRow,
};

/// Faults of one kind that are listed; the rest is counted.
const LISTED: usize = 5;

/// One of the totals.
type Total = fn(&ChainTotals) -> u64;

/// Tables of rows with ids without gaps, in chain order, and their totals.
const NUMBERED: [(Table, Total); 10] = [
    (Table::Transaction, |totals| totals.transactions),
    (Table::Address, |totals| totals.addresses),
    (Table::Transfer, |totals| totals.transfers),
    (Table::Trade, |totals| totals.trades),
    (Table::Log, |totals| totals.logs),
    (Table::LogTopic, |totals| totals.log_topics),
    (Table::LogSource, |totals| totals.log_sources),
    (Table::Nft, |totals| totals.nfts),
    (Table::Approval, |totals| totals.approvals),
    (Table::Credit, |totals| totals.credits),
];

fn total_of(table: Table) -> Option<Total> {
    NUMBERED.iter().find(|(numbered, _)| *numbered == table).map(|(_, total)| *total)
}

pub(crate) fn check(view: &View) -> StoreCheck {
    let (tip, unreadable) = match scan::contain(|| meta::find_tip(view)) {
        Ok(tip) => (tip, None),
        Err(error) => (None, Some(error)),
    };
    let mut check = Check { view, tip, found: StoreCheck::default() };
    if let Some(error) = unreadable {
        check.add(Table::Meta, format!("the newest block is not known: {error}"), None);
    }
    let mut readable = Vec::new();
    for table in Table::ALL.iter().copied() {
        tracing::info!(?table, "reading");
        if counts::check_table(&mut check, table) {
            readable.push(table);
        }
    }
    if let Some(tip) = tip {
        let has = |tables: &[Table]| tables.iter().all(|table| readable.contains(table));
        if has(&[Table::Block]) {
            blocks::check(&mut check, &tip);
        }
        if has(&[Table::Block, Table::Transaction]) {
            fees::check(&mut check, &tip);
        }
        if has(&[Table::Token, Table::Balance]) {
            counts::check_holders(&mut check);
        }
        if has(&[Table::Tail, Table::Chunk]) {
            tracing::info!("comparing lists with rows");
            lists::check(&mut check, &tip, &readable);
        }
    }
    check.found
}

/// A check in progress.
struct Check<'a> {
    view: &'a View,
    tip: Option<Tip>,
    found: StoreCheck,
}

impl Check<'_> {
    fn add(&mut self, table: Table, found: String, blocks: Option<RangeInclusive<BlockNumber>>) {
        let part = if table.is_record() { StorePart::Records } else { StorePart::Index };
        self.found.faults.push(StoreFault { found, blocks, part });
    }

    /// Lists the first few of the faults of a kind.
    fn add_all(&mut self, table: Table, mut faults: Faults) {
        for (found, blocks) in faults.listed.drain(..) {
            self.add(table, found, blocks);
        }
        if faults.more > 0 {
            self.add(table, format!("{} more faults of this kind in the table {table:?}", faults.more), None);
        }
    }

    fn add_gap(&mut self, table: Table, gap: &Gap) {
        let ids = |key: &Option<Vec<u8>>| key.as_ref().and_then(|key| number_in_key(key, 0).ok());
        let (after, before) = (ids(&gap.after), ids(&gap.before));
        let (which, blocks) = match (table, total_of(table)) {
            (Table::Block | Table::InternalBlock, _) => (None, self.between_blocks(after, before)),
            (_, Some(total)) => {
                let newest = self.tip.map_or(0, |tip| total(&tip.totals)).saturating_sub(1);
                let ids = after.map_or(0, |id| id + 1)..=before.map_or(newest, |id| id.saturating_sub(1));
                (Some(format!("ids {} to {}", ids.start(), ids.end())), self.blocks_of(total, ids))
            }
            _ => (None, None),
        };
        let which = which.map(|which| format!(", {which},")).unwrap_or_default();
        self.add(table, format!("rows of the table {table:?}{which} cannot be read: {}", gap.error), blocks);
    }

    fn between_blocks(&self, after: Option<u64>, before: Option<u64>) -> Option<RangeInclusive<BlockNumber>> {
        let tip = self.tip?;
        Some(
            after.map_or(tip.start_block, |number| number + 1)
                ..=before.map_or(tip.block.number, |number| number.saturating_sub(1)),
        )
    }

    /// The blocks that rows with these ids belong to.
    fn blocks_of(&self, total: Total, ids: RangeInclusive<u64>) -> Option<RangeInclusive<BlockNumber>> {
        Some(self.block_of(total, *ids.start())?..=self.block_of(total, *ids.end())?)
    }

    /// The block that a row belongs to: the last one with a total of at most its id before it.
    fn block_of(&self, total: Total, id: u64) -> Option<BlockNumber> {
        let tip = self.tip?;
        let (mut low, mut high) = (tip.start_block, tip.block.number);
        while low < high {
            let middle = high - (high - low) / 2;
            let row = scan::contain(|| self.view.get(Table::Block, &Key::block(middle))).ok()??;
            if total(&BlockRow::from_row(&row).ok()?.totals) <= id {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some(low)
    }
}

/// Faults of one kind.
#[derive(Debug, Default)]
struct Faults {
    listed: Vec<(String, Option<RangeInclusive<BlockNumber>>)>,
    more: u64,
}

impl Faults {
    fn add(&mut self, blocks: Option<RangeInclusive<BlockNumber>>, found: impl FnOnce() -> String) {
        if self.listed.len() < LISTED {
            self.listed.push((found(), blocks));
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use store::{ChainWriter, Undo};
    use store_conformance::RandomChain;

    use super::*;
    use crate::{
        EmbeddedStore, StoreOptions,
        engine::{Batch, Engine},
        keys::ListKind,
    };

    /// A store with some blocks, some of them reverted before.
    async fn written() -> (tempfile::TempDir, EmbeddedStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let (mut chain, mut writer, mut blocks) = (RandomChain::new(3), store.writer(), Vec::new());
        for round in 0..2 {
            for _ in 0..120 {
                let next = chain.next_block(blocks.last());
                blocks.push(next.block.clone());
                writer.commit(vec![next], Undo::Keep { down_to: 0 }).await.unwrap();
            }
            if round == 0 {
                writer.revert_to(60).await.unwrap();
                blocks.truncate(61);
            }
        }
        (folder, store)
    }

    fn check_after(engine: &Engine, change: impl FnOnce(&View, &mut Batch)) -> Vec<StoreFault> {
        let (view, mut batch) = (engine.view(), engine.batch());
        change(&view, &mut batch);
        batch.commit().unwrap();
        check(&engine.view()).faults
    }

    #[tokio::test]
    async fn an_intact_store_has_no_faults() {
        let (_folder, store) = written().await;
        let found = check(&store.reader().engine().view());
        assert_eq!(found.faults, []);
        assert_eq!(found.blocks, 181);
        assert!(found.transactions > 500);
    }

    #[tokio::test]
    async fn a_missing_row_is_named() {
        let (_folder, store) = written().await;
        let reader = store.reader();
        for table in [Table::Transaction, Table::Transfer, Table::Log, Table::Address, Table::Nft, Table::Credit] {
            let key = Key::id(7);
            let row = reader.engine().view().get(table, &key).unwrap().unwrap();
            let faults = check_after(reader.engine(), |_, batch| batch.delete(table, &key));
            let expected = format!("rows 7 to 7 of the table {table:?} are missing");
            assert!(faults.iter().any(|fault| fault.found == expected), "{faults:?}");
            assert_eq!(check_after(reader.engine(), |_, batch| batch.put(table, &key, row)), []);
        }
        let faults = check_after(reader.engine(), |_, batch| batch.delete(Table::Block, &Key::block(50)));
        assert!(
            faults.iter().any(|fault| fault.blocks == Some(50..=50) && fault.found.contains("missing")),
            "{faults:?}"
        );
    }

    #[tokio::test]
    async fn a_row_of_no_form_of_its_table_is_found_also_among_records() {
        let (_folder, store) = written().await;
        let reader = store.reader();
        let key = Key::id(1 << 30);
        for (table, part) in [
            (Table::TokenMetadata, StorePart::Index),
            (Table::Audit, StorePart::Index),
            (Table::CodeHash, StorePart::Index),
            (Table::Unranked, StorePart::Index),
            (Table::ApiKey, StorePart::Records),
            (Table::VerifiedCode, StorePart::Records),
            (Table::Webhook, StorePart::Records),
            (Table::Delivery, StorePart::Records),
            (Table::Event, StorePart::Records),
        ] {
            let faults = check_after(reader.engine(), |_, batch| batch.put(table, &key, [0xff_u8; 3]));
            assert!(faults.len() == 1 && faults[0].found.contains("is invalid"), "{table:?}: {faults:?}");
            assert_eq!(faults[0].part, part);
            assert_eq!(check_after(reader.engine(), |_, batch| batch.delete(table, &key)), []);
        }
    }

    #[tokio::test]
    async fn a_row_that_does_not_match_its_lists_is_found_with_its_blocks() {
        let (_folder, store) = written().await;
        let reader = store.reader();
        let faults = check_after(reader.engine(), |view, batch| {
            let row = view.get(Table::Block, &Key::block(100)).unwrap().unwrap();
            let mut row = BlockRow::from_row(&row).unwrap();
            row.miner += 1;
            batch.put(Table::Block, &Key::block(100), row.to_row());
        });
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].found.contains("Mined") && faults[0].blocks.as_ref().unwrap().contains(&100), "{faults:?}");
        assert_eq!(faults[0].part, StorePart::Index);
    }

    #[tokio::test]
    async fn a_list_that_is_cut_or_miscounted_is_found() {
        let (_folder, store) = written().await;
        let reader = store.reader();
        let list = Key::list(ListKind::Mined.of(0));
        let faults = check_after(reader.engine(), |_, batch| batch.put(Table::Tail, &list, [1, 2, 3]));
        assert!(
            faults.iter().any(|fault| fault.found.contains("the list of the kind Mined with the owner 0")),
            "{faults:?}"
        );
        let faults = check_after(reader.engine(), |_, batch| batch.delete(Table::Tail, &list));
        assert!(faults.iter().any(|fault| fault.found.contains("lists of the kind Mined")), "{faults:?}");
    }

    #[tokio::test]
    async fn a_miscounted_total_is_found() {
        let (_folder, store) = written().await;
        let faults = check_after(store.reader().engine(), |view, batch| {
            let mut tip = meta::find_tip(view).unwrap().unwrap();
            tip.totals.tokens += 1;
            meta::put_tip(batch, &tip);
        });
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].found.contains("the table Token has"), "{faults:?}");
    }
}
