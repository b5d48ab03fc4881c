//! An unfinished batch: takes what the walk over its blocks finds.

use domain::{
    Address, B256, Balance, Block, BlockNumber, CreditEvent, LogEvent, TradeEvent, Transaction, TransferEvent,
};
use store::{
    ChainTotals, Party, StoreError, Undo,
    fetch_policy::KnownCode,
    rules::{
        ApprovalKey, ApprovalState, BlockSink, Creation, Exchange, LogIds, MovedTransfer, NftKey, PoolIds,
        TransactionIds, TransferIds,
    },
};

use super::{approvals, codes, metadata::mark_token_pending, overwrite::Overwrites, state::WriteState};
use crate::{
    cache::FastSet,
    engine::{Batch, Engine, View},
    keys::{
        AddressId, ApprovalId, CreditId, Key, ListKey, LogId, NftId, Pair, Table, TradeId, TransferId, TxId,
        number_in_key,
    },
    lists::Entry,
    rows::{
        ApprovalRow, BlockRow, CreationRow, CreditRow, LogRow, LogSource, NftRow, PoolRow, TokenRow, TradeRow,
        TransactionRow, TransferRow, balance_from_row, balance_to_row,
    },
    undo::UndoRecord,
};

pub(super) struct Step<'state, 'view> {
    state: &'state mut WriteState,
    view: &'view View,
    pub(super) batch: Batch,
    pub(super) overwrites: Overwrites<'view>,
    /// The undo record of the current block, if it can be reverted.
    record: Option<UndoRecord>,
    /// Tokens with transfers.
    pub(super) moved_tokens: FastSet<AddressId>,
    /// Holders whose balance may have changed.
    pub(super) moved_pairs: FastSet<Pair>,
}

impl<'state, 'view> Step<'state, 'view> {
    pub(super) fn new(state: &'state mut WriteState, engine: &Engine, view: &'view View, undo: Undo) -> Self {
        let (overwrites, record) = match undo {
            Undo::Keep { .. } => (Overwrites::with_undo(view), Some(UndoRecord::default())),
            Undo::Discard => (Overwrites::without_undo(view), None),
        };
        let batch = engine.batch();
        let (moved_tokens, moved_pairs) = (FastSet::default(), FastSet::default());
        Self { state, view, batch, overwrites, record, moved_tokens, moved_pairs }
    }

    fn amount(&mut self, table: Table, key: &Key) -> Result<Balance, StoreError> {
        self.overwrites.get(table, key)?.map_or(Ok(Balance::ZERO), balance_from_row)
    }

    fn is_token(&mut self, address: AddressId) -> Result<bool, StoreError> {
        Ok(self.overwrites.get(Table::Token, &Key::id(address))?.is_some())
    }
}

impl BlockSink for Step<'_, '_> {
    type Token = TokenRow;

    fn put_block(&mut self, block: &Block, miner: AddressId, before: &ChainTotals) -> Result<(), StoreError> {
        self.batch.put(Table::Block, &Key::block(block.number), BlockRow::new(block, miner, *before).to_row());
        self.batch.put(Table::BlockByHash, &Key::block_by_hash(&block.hash, block.number), []);
        Ok(())
    }

    fn end_block(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        if let Some(mut record) = self.record.as_mut().map(std::mem::take) {
            record.overwritten = self.overwrites.end_block();
            self.batch.put(Table::Undo, &Key::block(number), record.to_row());
        }
        Ok(())
    }

    fn address_id(
        &mut self,
        address: Address,
        block: BlockNumber,
        next: &mut AddressId,
    ) -> Result<AddressId, StoreError> {
        self.state.addresses.resolve(self.view, &mut self.batch, address, block, next)
    }

    fn topic_id(&mut self, topic: B256, next: &mut u64) -> Result<u64, StoreError> {
        self.state.topics.resolve(self.view, &mut self.batch, topic, next)
    }

    fn log_source_id(&mut self, emitter: AddressId, topic: Option<u64>, next: &mut u64) -> Result<u64, StoreError> {
        self.state.log_sources.resolve(self.view, &mut self.batch, LogSource { emitter, topic }, next)
    }

    fn nft_id(&mut self, nft: NftKey, next: &mut NftId) -> Result<NftId, StoreError> {
        let NftKey { token, kind, id } = nft;
        let key = Key::nft(token, &id);
        if let Some(known) = self.overwrites.get(Table::NftId, &key)? {
            return number_in_key(known, 0);
        }
        let nft = *next;
        *next += 1;
        self.overwrites.put(Table::NftId, &key, Some(Key::id(nft).as_slice().to_vec()))?;
        self.batch.put(Table::Nft, &Key::id(nft), NftRow { token, kind, id }.to_row());
        Ok(nft)
    }

    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<Option<u64>, StoreError> {
        if let Some(record) = &mut self.record {
            record.grown_lists.insert(list);
        }
        self.state.tails.append(self.view, &mut self.batch, list, Entry::new(entry, party))
    }

    fn put_transaction(&mut self, id: TxId, tx: &Transaction, ids: TransactionIds) -> Result<(), StoreError> {
        let TransactionIds { from, to, created } = ids;
        self.batch.put(Table::Transaction, &Key::id(id), TransactionRow::new(tx, from, to, created).to_row());
        self.batch.put(Table::TransactionByHash, &Key::transaction_by_hash(&tx.hash, id), []);
        Ok(())
    }

    fn put_creation(&mut self, created: AddressId, creation: Creation) -> Result<(), StoreError> {
        let Creation { tx, creator } = creation;
        self.overwrites.put(Table::Creation, &Key::id(created), Some(CreationRow { tx, creator }.to_row()))
    }

    fn put_log(&mut self, id: LogId, tx: TxId, event: &LogEvent, ids: LogIds<'_>) -> Result<(), StoreError> {
        let later_topics = ids.topics.get(1..).unwrap_or_default();
        self.batch.put(Table::Log, &Key::id(id), LogRow::new(event, tx, ids.source, later_topics).to_row());
        Ok(())
    }

    fn put_transfer(
        &mut self,
        id: TransferId,
        tx: TxId,
        transfer: MovedTransfer<'_>,
        ids: TransferIds,
    ) -> Result<(), StoreError> {
        self.batch.put(Table::Transfer, &Key::id(id), TransferRow::new(transfer.event, tx, ids).to_row());
        Ok(())
    }

    fn put_trade(&mut self, id: TradeId, tx: TxId, event: &TradeEvent, pool: AddressId) -> Result<(), StoreError> {
        self.batch.put(Table::Trade, &Key::id(id), TradeRow::new(event, tx, pool).to_row());
        Ok(())
    }

    fn put_credit(
        &mut self,
        id: CreditId,
        block: BlockNumber,
        event: &CreditEvent,
        to: AddressId,
    ) -> Result<(), StoreError> {
        self.batch.put(Table::Credit, &Key::id(id), CreditRow::new(event, block, to).to_row());
        Ok(())
    }

    fn find_exchange(&mut self, pool: AddressId) -> Result<Option<Exchange>, StoreError> {
        let row = self.overwrites.get(Table::Pool, &Key::id(pool))?;
        row.map(|row| PoolRow::from_row(row).map(|row| row.exchange())).transpose()
    }

    fn put_pool(&mut self, id: AddressId, pool: PoolIds, _: BlockNumber) -> Result<(), StoreError> {
        let PoolIds { exchange, token0, token1 } = pool;
        let row = PoolRow { style: exchange.style, factory: exchange.factory, token0, token1 };
        self.overwrites.put(Table::Pool, &Key::id(id), Some(row.to_row()))
    }

    fn find_token(&mut self, id: AddressId) -> Result<Option<TokenRow>, StoreError> {
        self.overwrites.get(Table::Token, &Key::id(id))?.map(TokenRow::from_row).transpose()
    }

    fn new_token(&mut self, id: AddressId, event: &TransferEvent, block: BlockNumber) -> TokenRow {
        self.batch.put(Table::NewToken, &Key::id(id), Key::block(block).as_slice());
        TokenRow::new(event.kind)
    }

    fn put_token(&mut self, id: AddressId, token: TokenRow) -> Result<(), StoreError> {
        self.moved_tokens.insert(id);
        self.overwrites.put(Table::Token, &Key::id(id), Some(token.to_row()))
    }

    fn mark_token_pending(&mut self, token: AddressId, since: BlockNumber) -> Result<(), StoreError> {
        if self.is_token(token)? {
            mark_token_pending(&mut self.batch, token, since);
        }
        Ok(())
    }

    fn balance(&mut self, token: AddressId, holder: AddressId) -> Result<Balance, StoreError> {
        self.amount(Table::Balance, &Key::balance(Pair { token, holder }))
    }

    fn put_balance(
        &mut self,
        token: AddressId,
        holder: AddressId,
        balance: Balance,
        _: TransferId,
    ) -> Result<(), StoreError> {
        let pair = Pair { token, holder };
        self.moved_pairs.insert(pair);
        self.overwrites.put(Table::Balance, &Key::balance(pair), Some(balance_to_row(&balance)))
    }

    fn touch_holder(&mut self, token: AddressId, holder: AddressId, block: BlockNumber) -> Result<(), StoreError> {
        let pair = Pair { token, holder };
        self.moved_pairs.insert(pair);
        self.overwrites.put(Table::TouchedHolder, &Key::balance(pair), Some(Key::block(block).as_slice().to_vec()))
    }

    fn nft_owner(&mut self, nft: NftId) -> Result<Option<AddressId>, StoreError> {
        self.overwrites.get(Table::NftOwner, &Key::id(nft))?.map(|row| number_in_key(row, 0)).transpose()
    }

    fn put_nft_owner(&mut self, nft: NftId, owner: Option<AddressId>) -> Result<(), StoreError> {
        let row = owner.map(|owner| Key::id(owner).as_slice().to_vec());
        self.overwrites.put(Table::NftOwner, &Key::id(nft), row)
    }

    fn nft_amount(&mut self, nft: NftId, holder: AddressId) -> Result<Balance, StoreError> {
        self.amount(Table::NftBalance, &Key::nft_balance(nft, holder))
    }

    fn put_nft_amount(&mut self, nft: NftId, holder: AddressId, amount: Balance) -> Result<(), StoreError> {
        let row = (!amount.is_zero()).then(|| balance_to_row(&amount));
        self.overwrites.put(Table::NftBalance, &Key::nft_balance(nft, holder), row)
    }

    fn find_approval(&mut self, key: &ApprovalKey) -> Result<Option<(ApprovalId, ApprovalState)>, StoreError> {
        let Some(id) = self.overwrites.get(Table::ApprovalId, &approvals::table_key(key))? else { return Ok(None) };
        let id = number_in_key(id, 0)?;
        let row = self.overwrites.get(Table::Approval, &Key::id(id))?;
        let row = ApprovalRow::from_row(row.ok_or(StoreError::Corrupt("an approval is missing"))?)?;
        let ApprovalRow { owner, spender, value, tx, .. } = row;
        Ok(Some((id, ApprovalState { owner, spender, value, tx })))
    }

    fn add_approval(&mut self, id: ApprovalId, key: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError> {
        self.overwrites.put(Table::ApprovalId, &approvals::table_key(key), Some(Key::id(id).as_slice().to_vec()))?;
        self.change_approval(id, key, state)
    }

    fn change_approval(&mut self, id: ApprovalId, key: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError> {
        let ApprovalState { owner, spender, value, tx } = state;
        let row = ApprovalRow { token: key.token(), owner, spender, scope: key.scope(), value, tx };
        self.overwrites.put(Table::Approval, &Key::id(id), Some(row.to_row()))
    }

    fn is_code_cached(&mut self, address: AddressId) -> bool {
        self.state.known_codes.get(&address).is_some()
    }

    fn cache_code(&mut self, address: AddressId) {
        self.state.known_codes.insert(address, ());
    }

    fn known_code(&mut self, address: AddressId) -> Result<KnownCode, StoreError> {
        codes::known_code(self.view, address)
    }

    fn mark_code_pending(&mut self, address: AddressId, since: BlockNumber) {
        codes::mark_code_pending(&mut self.batch, address, since);
    }
}

#[cfg(test)]
mod tests {
    use domain::ApprovalEvent;
    use store::ChainWriter;
    use store_conformance::RandomChain;

    use super::*;
    use crate::{EmbeddedStore, StoreOptions};

    #[tokio::test]
    async fn an_approval_whose_row_is_missing_is_not_numbered_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let (mut chain, mut writer, keep) = (RandomChain::new(3), store.writer(), Undo::Keep { down_to: 0 });
        let mut last = chain.next_block(None);
        writer.commit(vec![last.clone()], keep).await.unwrap();
        let given = loop {
            last = chain.next_block(Some(&last.block));
            writer.commit(vec![last.clone()], keep).await.unwrap();
            if let Some(given) = last.approvals.iter().find(|event| !event.value.is_zero()) {
                break *given;
            }
        };
        let reader = store.reader();
        let (view, mut batch) = (reader.engine().view(), reader.engine().batch());
        for row in view.prefix(Table::Approval, &Key::EMPTY) {
            batch.delete(Table::Approval, &Key::from_slice(&row.unwrap().0).unwrap());
        }
        batch.commit().unwrap();

        let mut next = loop {
            let next = chain.next_block(Some(&last.block));
            if !next.transactions.is_empty() {
                break next;
            }
        };
        next.transfers.clear();
        next.approvals = vec![ApprovalEvent { tx_index: 0, log_index: 0, ..given }];
        let committed = writer.commit(vec![next], keep).await;
        assert!(matches!(committed, Err(StoreError::Corrupt(_))), "{committed:?}");
    }
}
