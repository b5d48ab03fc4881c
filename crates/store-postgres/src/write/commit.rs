use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{BalanceSource, BlockChanges, BlockNumber};
use store::{
    StoreError, Undo, check_order,
    fetch_policy::{self, AuditCandidate},
    rules::Walk,
};

use super::{
    codes, copy,
    holders::{self, Marks},
    pairs::split,
    prefetch::Prefetched,
    state::WriteState,
    step::{Moved, Step},
};
use crate::{
    chain::Chain,
    database::execute,
    lists::AddressId,
    ranks::RankMoves,
    rows::int8,
    tables::{copy_blocks, copy_credits, copy_pools, copy_trades, copy_transactions, copy_transfers},
    tokens::{self, TokenRow},
};

impl WriteState {
    /// Appends blocks.
    pub(crate) async fn commit(
        &mut self,
        tx: &Transaction<'_>,
        blocks: &[BlockChanges],
        undo: Undo,
    ) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let mut chain = Chain::read(tx).await?;
        check_order(chain.tip, chain.start_block, blocks)?;
        let day = self.take_day(tx, &chain).await?;
        let known = Prefetched::read(tx, self, blocks).await?;
        let tokens_before = known.tokens.clone();
        let mut walk = Walk::new(Step::new(self, known, undo), chain.totals, day);
        for block in blocks {
            walk.add_block(block)?;
        }
        let (step, totals, day) = walk.finish();
        let Step { mut known, rows, appended, new_addresses, moved, codes, .. } = step;

        copy::addresses(tx, &rows.addresses).await?;
        copy_blocks(tx, &rows.blocks).await?;
        copy_transactions(tx, &rows.transactions).await?;
        copy::log_topics(tx, &rows.log_topics).await?;
        copy::log_sources(tx, &rows.log_sources).await?;
        copy::log_packs(tx, &rows.log_packs).await?;
        copy_transfers(tx, &rows.transfers).await?;
        copy_trades(tx, &rows.trades).await?;
        copy_pools(tx, &rows.pools).await?;
        copy_credits(tx, &rows.credits).await?;
        self.append(tx, &appended, &chain.totals).await?;
        std::mem::take(&mut known.nfts).write(tx).await?;
        std::mem::take(&mut known.approvals).write(tx).await?;
        add_creations(tx, &rows.creations).await?;
        codes::mark_pending(tx, &codes).await?;

        let mut marks = Marks::default();
        let number = last.block.number;
        write_balances(tx, &moved, &known, undo).await?;
        let mut drifting = BTreeSet::new();
        for pair in moved.pairs.keys() {
            marks.unranked.insert(*pair);
            let source = known.tokens.get(&pair.token).map(TokenRow::balance_source);
            if source == Some(BalanceSource::Calls) {
                marks.pending.insert(*pair, number);
                drifting.insert(pair.token);
            }
        }
        for token in drifting {
            let token = known.tokens.get_mut(&token).ok_or(StoreError::Corrupt("a token that was just moved"))?;
            holders::mark_drifting(tx, &mut marks, token, number).await?;
        }
        for id in &moved.tokens {
            let token = known.tokens.get_mut(id).ok_or(StoreError::Corrupt("a token that was just moved"))?;
            if token.is_fetched && fetch_policy::is_metadata_old(token.requested_at, number) {
                token.mark_pending(number);
            }
            let candidate = AuditCandidate {
                token: *id,
                kind: token.kind,
                balance_source: token.balance_source(),
                transfers: token.transfers,
                audited_transfers: token.audit.map(|audit| audit.transfers),
            };
            token.is_audit_due |= fetch_policy::is_audit_due(&candidate, number);
        }
        let mut moves = RankMoves::default();
        for (id, token) in &mut known.tokens {
            let before = tokens_before.get(id);
            if fetch_policy::needs_sweep(before.map(TokenRow::source_by_events), Some(token.source_by_events())) {
                token.begin_sweep();
            }
            moves.move_token(token.address, before.map(TokenRow::holder_count), Some(token.holder_count()));
        }
        let changed = known.tokens.iter().filter(|(id, token)| tokens_before.get(*id) != Some(*token));
        tokens::save(tx, changed.map(|(_, token)| token).collect::<Vec<_>>()).await?;
        marks.write(tx).await?;
        moves.write(tx).await?;

        let old_tip = chain.tip.map(|tip| tip.number);
        chain.first_block = chain.first_block.or(Some(first.block.number));
        chain.tip = Some(last.block.id());
        chain.totals = totals;
        chain.undo_first = undo_first(chain.undo_first, old_tip, first.block.number, undo);
        chain.write(tx).await?;
        prune(tx, chain.undo_first).await?;
        for (address, id) in new_addresses {
            self.addresses.insert(address, id);
        }
        for (id, topic) in rows.log_topics {
            self.topics.insert(topic, id);
        }
        for (id, source) in rows.log_sources {
            self.log_sources.insert(source, id);
        }
        self.day = day;
        Ok(())
    }
}

/// The lowest block that can be reverted after a commit.
fn undo_first(
    before: Option<BlockNumber>,
    old_tip: Option<BlockNumber>,
    first: BlockNumber,
    undo: Undo,
) -> Option<BlockNumber> {
    match undo {
        Undo::Discard => None,
        Undo::Keep { down_to } => {
            let kept = before.map(|before| before.max(down_to.saturating_add(1)));
            Some(kept.filter(|kept| old_tip.is_some_and(|tip| *kept <= tip)).unwrap_or(first))
        }
    }
}

/// Deletes what is needed only while a block can be reverted.
async fn prune(tx: &Transaction<'_>, undo_first: Option<BlockNumber>) -> Result<(), StoreError> {
    let first = undo_first.map_or(i64::MAX, int8);
    execute(tx, "delete from touched_balance where block < $1", &[&first]).await?;
    execute(tx, "delete from approval_undo where block < $1", &[&first]).await?;
    Ok(())
}

/// A contract, the transaction that created it, and the contract that did, if there is one.
type CreationRow = (AddressId, u64, Option<AddressId>);

async fn add_creations(
    tx: &Transaction<'_>,
    creations: &BTreeMap<(AddressId, u64), Option<AddressId>>,
) -> Result<(), StoreError> {
    if creations.is_empty() {
        return Ok(());
    }
    let rows = creations.iter().map(|((created, tx), creator)| (*created, *tx, *creator));
    let rows: Vec<CreationRow> = rows.collect();
    let created: Vec<i64> = rows.iter().map(|row| int8(row.0)).collect();
    let transactions: Vec<i64> = rows.iter().map(|row| int8(row.1)).collect();
    let creators: Vec<Option<i64>> = rows.iter().map(|row| row.2.map(int8)).collect();
    let sql = "insert into creation select * from unnest($1::int8[], $2::int8[], $3::int8[])";
    execute(tx, sql, &[&created, &transactions, &creators]).await?;
    Ok(())
}

async fn write_balances(tx: &Transaction<'_>, moved: &Moved, known: &Prefetched, undo: Undo) -> Result<(), StoreError> {
    if moved.pairs.is_empty() {
        return Ok(());
    }
    let (mut tokens, mut holders, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first_transfers, mut first_touches) = (Vec::new(), Vec::new());
    for (pair, touch) in &moved.pairs {
        tokens.push(int8(pair.token));
        holders.push(int8(pair.holder));
        amounts.push(crate::numeric::Numeric(known.balances.get(pair).copied().unwrap_or_default()));
        first_transfers.push(touch.first_transfer.map(int8));
        first_touches.push(touch.first_block.map(int8));
    }
    let sql = "insert into balance as b (token, holder, amount, first_transfer, first_touch)
        select * from unnest($1::int8[], $2::int8[], $3::numeric[], $4::int8[], $5::int8[])
        on conflict (token, holder) do update set
            amount = case when excluded.first_transfer is null then b.amount else excluded.amount end,
            first_transfer = coalesce(b.first_transfer, excluded.first_transfer),
            first_touch = coalesce(b.first_touch, excluded.first_touch)";
    execute(tx, sql, &[&tokens, &holders, &amounts, &first_transfers, &first_touches]).await?;
    if undo == Undo::Discard || moved.touched.is_empty() {
        return Ok(());
    }
    let blocks: Vec<i64> = moved.touched.iter().map(|(block, _)| int8(*block)).collect();
    let (tokens, holders) = split(moved.touched.iter().map(|(_, pair)| pair));
    let sql = "insert into touched_balance select * from unnest($1::int8[], $2::int8[], $3::int8[])";
    execute(tx, sql, &[&blocks, &tokens, &holders]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_commit_can_all_be_reverted_and_older_ones_down_to_a_block() {
        let keep = |down_to| Undo::Keep { down_to };
        assert_eq!(undo_first(None, None, 0, keep(0)), Some(0));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(0)), Some(1));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(3)), Some(4));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(4)), Some(5));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(9)), Some(5), "all of this commit");
        assert_eq!(undo_first(None, Some(4), 5, keep(0)), Some(5), "those before cannot be reverted");
        assert_eq!(undo_first(Some(3), Some(4), 5, Undo::Discard), None);
    }
}
