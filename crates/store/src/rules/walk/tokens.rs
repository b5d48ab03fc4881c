//! The effect of transfers and of other events on tokens, their holders and their ids.

use domain::{Address, Balance, BlockNumber, TokenKind, TouchedHolder, TransferEvent};

use super::Walk;
use crate::{
    StoreError,
    rules::{
        BalanceChange, BlockSink, MovedTransfer, NftKey, TokenState, TransferIds, count_amount, count_balance,
        fetch_policy, lists_of_nft, lists_of_nft_transfer, lists_of_transfer,
    },
};

impl<S: BlockSink> Walk<S> {
    pub(super) fn add_transfer(
        &mut self,
        tx: u64,
        event: &TransferEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block)?;
        let from = self.address_id(event.from, block)?;
        let to = self.address_id(event.to, block)?;
        let ids = TransferIds { token, from, to };
        let id = self.totals.transfers;
        self.totals.transfers += 1;
        self.append(id, lists_of_transfer(token, from, to))?;
        let mut state = match self.sink.find_token(token)? {
            Some(state) => state,
            None => {
                self.totals.tokens += 1;
                self.sink.new_token(token, event, block)
            }
        };
        let shortfall = self.move_balance(id, event, ids, &mut state)?;
        let nft_shortfall = self.move_nft(id, event, ids, &mut state)?;
        self.sink.put_token(token, state)?;
        if fetch_policy::changes_supply(event) {
            self.sink.mark_token_pending(token, block)?;
        }
        self.end_approval(tx, event, token)?;
        self.sink.put_transfer(id, tx, MovedTransfer { event, shortfall, nft_shortfall }, ids)
    }

    /// Returns the part of the value that the sender did not have. The zero address holds nothing.
    fn move_balance(
        &mut self,
        transfer: u64,
        event: &TransferEvent,
        TransferIds { token, from, to }: TransferIds,
        state: &mut S::Token,
    ) -> Result<Option<Balance>, StoreError> {
        let value = Balance::from(event.value);
        let mut shortfall = None;
        if event.from != Address::ZERO {
            let before = self.sink.balance(token, from)?;
            if from == to {
                // The balance does not change, but the address is now known as a possible holder.
                self.sink.put_balance(token, from, before, transfer)?;
            } else {
                let change = BalanceChange::send(before, value);
                self.sink.put_balance(token, from, change.now, transfer)?;
                if change.shortfall.is_some() {
                    state.note_overdraft();
                }
                count_balance(state, change.before, change.now)?;
                shortfall = change.shortfall;
            }
        }
        if event.to != Address::ZERO && from != to {
            let change = BalanceChange::receive(self.sink.balance(token, to)?, value);
            self.sink.put_balance(token, to, change.now, transfer)?;
            count_balance(state, change.before, change.now)?;
        }
        Ok(shortfall)
    }

    /// Moves an id of a token, and counts what its holders have. An event of another kind than the token's does not. Returns the
    /// part of the value that the sender did not have of the id of a multi-token.
    fn move_nft(
        &mut self,
        transfer: u64,
        event: &TransferEvent,
        TransferIds { token, from, to }: TransferIds,
        state: &mut S::Token,
    ) -> Result<Option<Balance>, StoreError> {
        let kind = state.kind();
        let Some(id) = event.token_id.filter(|_| event.kind == kind) else { return Ok(None) };
        let nft = self.nft_id(NftKey { token, kind, id })?;
        self.append(transfer, lists_of_nft_transfer(nft))?;
        if kind == TokenKind::Bep721 {
            // The last receiver is the owner, even if an earlier event is missing.
            let owner = (event.to != Address::ZERO).then_some(to);
            let exists = |owner: Option<u64>| if owner.is_some() { Balance::ONE } else { Balance::ZERO };
            let before = self.sink.nft_owner(nft)?;
            self.sink.put_nft_owner(nft, owner)?;
            count_amount(state, exists(before), exists(owner))?;
            return Ok(None);
        }
        if from == to {
            return Ok(None);
        }
        let value = Balance::from(event.value);
        let mut shortfall = None;
        if event.from != Address::ZERO {
            let change = BalanceChange::send(self.sink.nft_amount(nft, from)?, value);
            self.sink.put_nft_amount(nft, from, change.now)?;
            count_amount(state, change.before, change.now)?;
            shortfall = change.shortfall;
        }
        if event.to != Address::ZERO {
            let change = BalanceChange::receive(self.sink.nft_amount(nft, to)?, value);
            self.sink.put_nft_amount(nft, to, change.now)?;
            count_amount(state, change.before, change.now)?;
        }
        Ok(shortfall)
    }

    fn nft_id(&mut self, nft: NftKey) -> Result<u64, StoreError> {
        let next = self.totals.nfts;
        let id = self.sink.nft_id(nft, &mut self.totals.nfts)?;
        if id == next {
            self.append(id, lists_of_nft(nft.token))?;
        }
        Ok(id)
    }

    /// Records a balance that an event other than a transfer changed.
    pub(super) fn add_touched_holder(&mut self, touched: &TouchedHolder, block: BlockNumber) -> Result<(), StoreError> {
        if touched.holder == Address::ZERO {
            return Ok(());
        }
        let token = self.address_id(touched.token, block)?;
        let holder = self.address_id(touched.holder, block)?;
        // A deposit to or withdrawal from a wrapper changes its supply like a mint or a burn.
        self.sink.mark_token_pending(token, block)?;
        self.sink.touch_holder(token, holder, block)
    }
}
