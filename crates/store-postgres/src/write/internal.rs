use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, BlockNumber, InternalBlock, InternalEvent, InternalFrontier};
use store::{
    ChainTotals, ListKey, ListKind, Party, StoreError,
    rules::{IndexedBlock, InternalIds, InternalSide, InternalSink, InternalWalk},
};

use super::state::WriteState;
use crate::{
    chain::Chain,
    database::{execute, query},
    internal::{count_up_to, current_progress, find_progress, write_progress},
    lists::{Appended, Entry},
    rows::{RowExt, int8},
    tables::{InternalCopy, copy_internal_transactions},
};

pub(crate) async fn internal_frontier(tx: &Transaction<'_>) -> Result<Option<InternalFrontier>, StoreError> {
    let chain = Chain::read(tx).await?;
    Ok(current_progress(tx, &chain).await?.map(|progress| progress.frontier()))
}

pub(crate) async fn skip_internal(tx: &Transaction<'_>, last: BlockNumber) -> Result<bool, StoreError> {
    let chain = Chain::read(tx).await?;
    let (Some(tip), Some(mut progress)) = (chain.tip, current_progress(tx, &chain).await?) else { return Ok(false) };
    let last = last.min(tip.number);
    if last < progress.above {
        return Ok(false);
    }
    let sql = "insert into internal_block select number, $3 from generate_series($1::int8, $2::int8) number";
    execute(tx, sql, &[&int8(progress.above), &int8(last), &int8(progress.above_count)]).await?;
    progress.skip(last);
    write_progress(tx, &progress).await?;
    Ok(true)
}

impl WriteState {
    /// Returns how many blocks were stored.
    pub(crate) async fn save_internal(
        &mut self,
        tx: &Transaction<'_>,
        blocks: &[InternalBlock],
    ) -> Result<usize, StoreError> {
        let chain = Chain::read(tx).await?;
        let (Some(progress), Some(first_block)) = (current_progress(tx, &chain).await?, chain.first_block) else {
            return Ok(0);
        };
        let sink = Step {
            indexed: indexed(tx, blocks).await?,
            parties: parties(tx, blocks).await?,
            run_floor: 0,
            rows: Vec::new(),
            first_ids: Vec::new(),
            appended: Appended::default(),
        };
        let mut walk = InternalWalk::new(sink, progress, first_block);
        let mut saved = 0;
        for block in blocks {
            if !walk.add_block(block)? {
                break;
            }
            saved += 1;
        }
        if saved > 0 {
            let (Step { rows, first_ids, appended, .. }, progress) = walk.finish();
            copy_internal_transactions(tx, &rows).await?;
            let (numbers, ids): (Vec<i64>, Vec<i64>) = first_ids.into_iter().unzip();
            let sql = "insert into internal_block select * from unnest($1::int8[], $2::int8[])";
            execute(tx, sql, &[&numbers, &ids]).await?;
            self.append(tx, &appended, &ChainTotals::default()).await?;
            write_progress(tx, &progress).await?;
        }
        Ok(saved)
    }
}

async fn indexed(
    tx: &Transaction<'_>,
    blocks: &[InternalBlock],
) -> Result<BTreeMap<BlockNumber, IndexedBlock>, StoreError> {
    let numbers: Vec<i64> = blocks.iter().map(|block| int8(block.block.number)).collect();
    let sql = "select number, hash, transactions, tx_count from block where number = any($1)";
    let block = |row: &tokio_postgres::Row| {
        Ok((row.u64(0)?, IndexedBlock { hash: row.hash(1)?, first_tx: row.u64(2)?, tx_count: row.u32(3)? }))
    };
    query(tx, sql, &[&numbers]).await?.iter().map(block).collect()
}

/// The ids of all addresses in the blocks. New ones get the next ids.
async fn parties(tx: &Transaction<'_>, blocks: &[InternalBlock]) -> Result<BTreeMap<Address, u64>, StoreError> {
    let events = blocks.iter().flat_map(|block| &block.events);
    let addresses: BTreeSet<Address> = events.flat_map(|event| [Some(event.from), event.to]).flatten().collect();
    let wanted: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
    let sql = "select address, id from internal_party where address = any($1)";
    let known = query(tx, sql, &[&wanted]).await?;
    let mut parties: BTreeMap<Address, u64> =
        known.iter().map(|row| Ok((row.address(0)?, row.u64(1)?))).collect::<Result<_, StoreError>>()?;
    let new: Vec<Address> = addresses.into_iter().filter(|address| !parties.contains_key(address)).collect();
    if new.is_empty() {
        return Ok(parties);
    }
    let added: Vec<&[u8]> = new.iter().map(|address| address.as_slice()).collect();
    let sql = "with counted as (update internal_progress set parties = parties + $2 returning parties - $2 as first)
        insert into internal_party
        select counted.first + n - 1, address from counted, unnest($1::bytea[]) with ordinality a(address, n)
        returning address, id";
    for row in query(tx, sql, &[&added, &int8(new.len() as u64)]).await? {
        parties.insert(row.address(0)?, row.u64(1)?);
    }
    Ok(parties)
}

struct Step {
    indexed: BTreeMap<BlockNumber, IndexedBlock>,
    parties: BTreeMap<Address, u64>,
    /// Where the current block of the upper side begins: it can be reverted, so its entries have their own runs.
    run_floor: u64,
    rows: Vec<InternalCopy>,
    /// By block.
    first_ids: Vec<(i64, i64)>,
    appended: Appended,
}

impl InternalSink for Step {
    fn find_block(&mut self, number: BlockNumber) -> Result<Option<IndexedBlock>, StoreError> {
        Ok(self.indexed.get(&number).copied())
    }

    fn party_id(&mut self, address: Address) -> Result<u64, StoreError> {
        self.parties.get(&address).copied().ok_or(StoreError::Corrupt("an address without an id"))
    }

    fn put_start(&mut self, block: BlockNumber, side: InternalSide, count: u64) {
        let id = match side {
            InternalSide::Above => {
                self.run_floor = count;
                int8(count)
            }
            InternalSide::Below => -int8(count),
        };
        self.first_ids.push((int8(block), id));
    }

    fn put_event(&mut self, side: InternalSide, entry: u64, event: &InternalEvent, ids: InternalIds) {
        let id = match side {
            InternalSide::Above => int8(entry),
            InternalSide::Below => -1 - int8(entry),
        };
        let InternalIds { tx, from, to } = ids;
        self.rows.push(InternalCopy { id, tx, from, to, event: event.clone() });
    }

    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<(), StoreError> {
        let floor = if list.kind == ListKind::InternalAbove { self.run_floor } else { 0 };
        self.appended.push(list, Entry::new(entry, party), floor);
        Ok(())
    }
}

/// Removes the internal transactions of all blocks above `number`. Their parties keep their ids.
pub(super) async fn revert(tx: &Transaction<'_>, number: BlockNumber) -> Result<(), StoreError> {
    let Some(progress) = find_progress(tx).await? else { return Ok(()) };
    if number + 1 < progress.anchor {
        return Err(StoreError::BeyondUndo { target: number, oldest: progress.anchor - 1 });
    }
    let Some(kept) = count_up_to(tx, number).await? else { return Ok(()) };
    for (sql, first) in [
        ("delete from internal_above_run where first >= $1::int8 << 2", kept),
        ("delete from internal_transaction where id >= $1", kept),
        ("delete from internal_block where number >= $1", number + 1),
    ] {
        execute(tx, sql, &[&int8(first)]).await?;
    }
    write_progress(tx, &progress.reverted(number, kept)).await
}
