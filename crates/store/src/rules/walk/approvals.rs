//! The effect of events on approvals.

use domain::{ApprovalEvent, BlockNumber, TokenKind, TransferEvent, U256};

use super::Walk;
use crate::{
    StoreError,
    rules::{ApprovalKey, ApprovalState, BlockSink},
};

impl<S: BlockSink> Walk<S> {
    pub(super) fn add_approval(
        &mut self,
        tx: u64,
        event: &ApprovalEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block)?;
        let owner = self.address_id(event.owner, block)?;
        let ApprovalEvent { spender, scope, value, .. } = *event;
        let key = ApprovalKey::new(token, owner, spender, scope);
        let state = ApprovalState { owner, spender, value, tx };
        match self.sink.find_approval(&key)? {
            Some((id, _)) => self.sink.change_approval(id, &key, state),
            // Nothing to revoke.
            None if value.is_zero() => Ok(()),
            None => {
                let id = self.totals.approvals;
                self.totals.approvals += 1;
                self.sink.add_approval(id, &key, state)
            }
        }
    }

    /// A BEP721 id that moves is no longer approved; the standard asks for no event.
    pub(super) fn end_approval(&mut self, tx: u64, event: &TransferEvent, token: u64) -> Result<(), StoreError> {
        let Some(id) = event.token_id.filter(|_| event.kind == TokenKind::Bep721) else { return Ok(()) };
        let key = ApprovalKey::Id { token, id };
        match self.sink.find_approval(&key)? {
            Some((id, state)) if state.is_given() => {
                self.sink.change_approval(id, &key, ApprovalState { value: U256::ZERO, tx, ..state })
            }
            _ => Ok(()),
        }
    }
}
