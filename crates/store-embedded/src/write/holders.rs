//! Balances that events do not give: detected by audits, then fetched from the contract.

use std::collections::BTreeSet;

use domain::{Address, AuditResult, AuditSample, Balance, BalanceKey, BalanceSource, BlockNumber, Holder, U256};
use store::{
    StoreError,
    fetch_policy::{self, AuditCandidate, Refetch},
};

use super::{
    addresses::stored_address,
    blocks::find_block,
    overwrite::Overwrites,
    ranks::rerank_tokens,
    state::WriteState,
    sweeps::{advance_sweep, begin_sweep, mark_balance_pending},
};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, ListKind, Pair, Table, number_in_key},
    lists::{List, Role},
    meta,
    ranked::{RankedSet, SortKey, members_from},
    rows::{AuditRow, CallHolders, TransferRow, balance_from_row, balance_to_row},
    token_status::find_token_status,
};

impl WriteState {
    pub(crate) fn list_audits(engine: &Engine, limit: usize) -> Result<Vec<AuditSample>, StoreError> {
        let view = engine.view();
        view.prefix(Table::Unaudited, &Key::EMPTY)
            .take(limit)
            .map(|row| {
                let token = number_in_key(&row?.0, 0)?;
                Ok(AuditSample { token: stored_address(&view, token)?, holders: sample_holders(&view, token)? })
            })
            .collect()
    }

    pub(crate) fn save_audits(
        engine: &Engine,
        verdicts: &[(Address, AuditResult)],
        at: BlockNumber,
    ) -> Result<(), StoreError> {
        let view = engine.view();
        let (mut batch, mut overwrites, mut changed) =
            (engine.batch(), Overwrites::without_undo(&view), BTreeSet::new());
        for (address, verdict) in verdicts {
            let Some(token) = find_id(&view, address)? else { continue };
            let Some(status) = find_token_status(&mut &view, token)? else { continue };
            let list = List::open(&view, ListKind::TokenTransfers.of(token))?;
            let transfers = match find_block(&view, at + 1)? {
                Some(next) => list.rank_of(Role::Any, next.totals.transfers)?,
                None => list.total(Role::Any),
            };
            let verdict = fetch_policy::merge_audits(status.audit.map(|audit| audit.verdict), *verdict);
            let audit = AuditRow { verdict, block: at, transfers };
            overwrites.put(Table::Audit, &Key::id(token), Some(audit.to_row()))?;
            // One that moved meanwhile is still due.
            if transfers == list.total(Role::Any) || verdict == AuditResult::DoesNotAddUp {
                batch.delete(Table::Unaudited, &Key::id(token));
            }
            let source = fetch_policy::balance_source(status.row.balance_source, Some(verdict));
            if fetch_policy::needs_sweep(Some(status.balance_source), Some(source)) {
                begin_sweep(&mut batch, token);
                changed.insert(token);
            }
        }
        rerank_tokens(changed.iter().copied(), &mut overwrites, &view, &mut batch, |id| stored_address(&view, id))?;
        overwrites.write(&mut batch);
        batch.commit()
    }

    pub(crate) fn list_pending_balances(engine: &Engine, limit: usize) -> Result<Vec<BalanceKey>, StoreError> {
        advance_sweep(engine, limit)?;
        let view = engine.view();
        let (mut batch, mut pending) = (engine.batch(), Vec::new());
        let mut rows = view.prefix(Table::PendingBalance, &Key::EMPTY);
        while pending.len() < limit
            && let Some(row) = rows.next()
        {
            let (key, _) = row?;
            let pair = Pair::from_key(&key)?;
            match find_token_status(&mut &view, pair.token)? {
                Some(status) if status.balance_source == BalanceSource::Calls => pending.push(BalanceKey {
                    token: stored_address(&view, pair.token)?,
                    holder: stored_address(&view, pair.holder)?,
                }),
                // Its events give its balances after all: the block that showed otherwise was reverted.
                _ => batch.delete(Table::PendingBalance, &Key::balance(pair)),
            }
        }
        batch.commit()?;
        Ok(pending)
    }

    pub(crate) fn save_balances(
        engine: &Engine,
        balances: &[(BalanceKey, U256)],
        at: BlockNumber,
    ) -> Result<(), StoreError> {
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        let (mut batch, mut overwrites, mut changed) =
            (engine.batch(), Overwrites::without_undo(&view), BTreeSet::new());
        for (key, balance) in balances {
            let (Some(token), Some(holder)) = (find_id(&view, &key.token)?, find_id(&view, &key.holder)?) else {
                continue;
            };
            let pair = Pair { token, holder };
            // No longer pending: the block that made it pending was reverted.
            let Some(since) = view.get(Table::PendingBalance, &Key::balance(pair))? else { continue };
            if fetch_policy::is_up_to_date(at, number_in_key(&since, 0)?, tip.block.number) {
                batch.delete(Table::PendingBalance, &Key::balance(pair));
            }
            batch.put(Table::Unranked, &Key::balance(pair), []);
            change_call_balance(&mut overwrites, pair, Some(Balance::from(*balance)))?;
            changed.insert(token);
        }
        rerank_tokens(changed.iter().copied(), &mut overwrites, &view, &mut batch, |id| stored_address(&view, id))?;
        overwrites.write(&mut batch);
        batch.commit()
    }
}

/// Stores or deletes a balance fetched from a contract, and updates the count of holders.
pub(super) fn change_call_balance(
    overwrites: &mut Overwrites<'_>,
    pair: Pair,
    balance: Option<Balance>,
) -> Result<(), StoreError> {
    let (key, token) = (Key::balance(pair), Key::id(pair.token));
    let old = overwrites.get(Table::CallBalance, &key)?.map(balance_from_row).transpose()?;
    let mut holders =
        overwrites.get(Table::CallHolders, &token)?.map_or(Ok(CallHolders::default()), CallHolders::from_row)?;
    holders.replace(old, balance)?;
    overwrites.put(Table::CallBalance, &key, balance.map(|balance| balance_to_row(&balance)))?;
    overwrites.put(Table::CallHolders, &token, holders.to_row())
}

/// The parties of the newest and the oldest transfers, with their derived balances.
fn sample_holders(view: &View, token: AddressId) -> Result<Vec<Holder>, StoreError> {
    let list = List::open(view, ListKind::TokenTransfers.of(token))?;
    let ranks = fetch_policy::audit_sample(list.total(Role::Any));
    let mut parties = BTreeSet::new();
    for id in list.at_ranks(Role::Any, ranks.into_iter())? {
        let row = view.get(Table::Transfer, &Key::id(id))?.ok_or(StoreError::Corrupt("a transfer is missing"))?;
        let row = TransferRow::from_row(&row)?;
        parties.extend([row.from, row.to]);
    }
    let mut holders = Vec::new();
    for holder in parties {
        let address = stored_address(view, holder)?;
        if address != Address::ZERO {
            let row = view.get(Table::Balance, &Key::balance(Pair { token, holder }))?;
            let balance = row.map_or(Ok(Balance::ZERO), |row| balance_from_row(&row))?;
            holders.push(Holder { address, balance });
        }
    }
    Ok(holders)
}

/// Schedules an audit of a token that moved, if it is due.
pub(super) fn schedule_audit(
    overwrites: &mut Overwrites<'_>,
    batch: &mut Batch,
    token: AddressId,
    transfers: u64,
    block: BlockNumber,
) -> Result<(), StoreError> {
    let Some(status) = find_token_status(overwrites, token)? else { return Ok(()) };
    let candidate = AuditCandidate {
        token,
        kind: status.row.kind,
        balance_source: status.balance_source,
        transfers,
        audited_transfers: status.audit.map(|audit| audit.transfers),
    };
    if fetch_policy::is_audit_due(&candidate, block) {
        batch.put(Table::Unaudited, &Key::id(token), []);
    }
    Ok(())
}

/// Marks balances as pending that may have changed without an event: those of a token that moved and whose events do not
/// give its balances.
pub(super) fn mark_drifting_balances(
    overwrites: &mut Overwrites<'_>,
    view: &View,
    batch: &mut Batch,
    token: AddressId,
    since: BlockNumber,
) -> Result<(), StoreError> {
    let holders = overwrites.get(Table::CallHolders, &Key::id(token))?.map(CallHolders::from_row).transpose()?;
    let largest = match fetch_policy::refetch_after_move(holders.map_or(0, |holders| holders.fetched)) {
        Refetch::AllHolders => {
            begin_sweep(batch, token);
            return Ok(());
        }
        Refetch::Largest(largest) => largest,
    };
    for sort_key in members_from(view, RankedSet::Holders { token }, 0, largest)? {
        let (_, holder) =
            SortKey::parts(&sort_key).ok_or(StoreError::Corrupt("a ranked set with an invalid sort key"))?;
        let key = Key::balance(Pair { token, holder: number_in_key(holder, 0)? });
        // The ranking lags behind: it may still contain a holder that no remaining event touched.
        if overwrites.get(Table::Balance, &key)?.is_none() && overwrites.get(Table::TouchedHolder, &key)?.is_none() {
            continue;
        }
        batch.put(Table::Unranked, &key, []);
        mark_balance_pending(batch, &key, since);
    }
    Ok(())
}

fn find_id(view: &View, address: &Address) -> Result<Option<AddressId>, StoreError> {
    view.get(Table::AddressId, &Key::address(address))?.map(|row| number_in_key(&row, 0)).transpose()
}
