use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, B256, BlockNumber, InternalBlock, InternalEvent, InternalFrontier};
use store::{ChainTotals, InternalProgress, ListKind, StoreError, rules::lists_of_parties};

use super::{
    copy::{self, InternalCopy},
    state::WriteState,
};
use crate::{
    chain::Chain,
    database::{execute, query},
    internal::{count_up_to, current_progress, find_progress, write_progress},
    lists::{Appended, Entry},
    rows::{RowExt, int8},
};

/// A block of the index.
struct Indexed {
    hash: B256,
    first_tx: u64,
    tx_count: u32,
}

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
        let indexed = indexed(tx, blocks).await?;
        let mut step = Step {
            parties: parties(tx, blocks).await?,
            progress,
            first_block,
            rows: Vec::new(),
            first_ids: Vec::new(),
            appended: Appended::default(),
        };
        let mut saved = 0;
        for block in blocks {
            if !step.add_block(block, indexed.get(&block.block.number))? {
                break;
            }
            saved += 1;
        }
        if saved > 0 {
            let Step { progress, rows, first_ids, appended, .. } = step;
            copy::internal_transactions(tx, &rows).await?;
            let (numbers, ids): (Vec<i64>, Vec<i64>) = first_ids.into_iter().unzip();
            let sql = "insert into internal_block select * from unnest($1::int8[], $2::int8[])";
            execute(tx, sql, &[&numbers, &ids]).await?;
            self.append(tx, &appended, &ChainTotals::default()).await?;
            write_progress(tx, &progress).await?;
        }
        Ok(saved)
    }
}

async fn indexed(tx: &Transaction<'_>, blocks: &[InternalBlock]) -> Result<BTreeMap<BlockNumber, Indexed>, StoreError> {
    let numbers: Vec<i64> = blocks.iter().map(|block| int8(block.block.number)).collect();
    let sql = "select number, hash, transactions, tx_count from block where number = any($1)";
    let block = |row: &tokio_postgres::Row| {
        Ok((row.u64(0)?, Indexed { hash: row.hash(1)?, first_tx: row.u64(2)?, tx_count: row.u32(3)? }))
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
    parties: BTreeMap<Address, u64>,
    progress: InternalProgress,
    first_block: BlockNumber,
    rows: Vec<InternalCopy>,
    /// By block.
    first_ids: Vec<(i64, i64)>,
    appended: Appended,
}

impl Step {
    /// False if the block is not next, or not indexed.
    fn add_block(&mut self, block: &InternalBlock, indexed: Option<&Indexed>) -> Result<bool, StoreError> {
        let number = block.block.number;
        let Some(indexed) = indexed.filter(|indexed| indexed.hash == block.block.hash) else { return Ok(false) };
        if block.events.iter().any(|event| event.tx_index >= indexed.tx_count) {
            return Err(StoreError::Corrupt("an internal transaction outside its block"));
        }
        if number == self.progress.above {
            let floor = self.progress.above_count;
            self.first_ids.push((int8(number), int8(floor)));
            for event in &block.events {
                let entry = self.progress.above_count;
                self.progress.above_count += 1;
                self.add_event(event, indexed, int8(entry), ListKind::InternalAbove, entry, floor)?;
            }
            self.progress.above += 1;
        } else if Some(number) == self.progress.below {
            // From the last one on, so that ids follow the chain.
            for event in block.events.iter().rev() {
                let entry = self.progress.below_count;
                self.progress.below_count += 1;
                self.add_event(event, indexed, -1 - int8(entry), ListKind::InternalBelow, entry, 0)?;
            }
            self.first_ids.push((int8(number), -int8(self.progress.below_count)));
            self.progress.step_down(self.first_block);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn add_event(
        &mut self,
        event: &InternalEvent,
        indexed: &Indexed,
        id: i64,
        kind: ListKind,
        entry: u64,
        floor: u64,
    ) -> Result<(), StoreError> {
        const UNKNOWN: StoreError = StoreError::Corrupt("an address without an id");
        let party = |address: &Address| self.parties.get(address).copied().ok_or(UNKNOWN);
        let from = party(&event.from)?;
        let to = event.to.as_ref().map(party).transpose()?;
        let tx = indexed.first_tx + u64::from(event.tx_index);
        self.rows.push(InternalCopy { id, tx, from, to, event: event.clone() });
        for (list, party) in lists_of_parties(kind, from, to) {
            self.appended.push(list, Entry::new(entry, party), floor);
        }
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
