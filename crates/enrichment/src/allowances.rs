use std::time::Duration;

use domain::{Address, Approval, ApprovalScope, BlockNumber, BlockRef, Bytes, Selector, U256};
use futures::future::BoxFuture;
use node::{CallBlock, CallResult, ContractCall, NodeClient, NodeError};
use tokio::time::timeout;

/// A user waits, and what the events say is ready.
const NODE_TIMEOUT: Duration = Duration::from_secs(3);

/// `allowance(address,address)`
const ALLOWANCE: Selector = [0xdd, 0x62, 0xed, 0x3e];
/// `getApproved(uint256)`
const GET_APPROVED: Selector = [0x08, 0x18, 0x12, 0xfc];
/// `isApprovedForAll(address,address)`
const IS_APPROVED_FOR_ALL: Selector = [0xe9, 0x85, 0xe9, 0xc5];

/// What contracts say about approvals: events do not tell how much of an amount was spent.
#[derive(Debug)]
pub struct Allowances {
    node: NodeClient,
}

/// What contracts said, in the order of the approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedAllowances {
    /// The block at which they were called.
    pub block: BlockNumber,
    /// The amount that is left; for ids, 1 if approved and 0 if not. None if the contract gave no valid answer.
    pub values: Vec<Option<U256>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AllowancesUnavailable {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("the node did not respond in time")]
    Timeout,
}

impl Allowances {
    #[must_use]
    pub fn new(node: NodeClient) -> Self {
        Self { node }
    }

    /// Asks the contracts of approvals that an owner gave, at a block: one call for each.
    pub fn check<'a>(
        &'a self,
        owner: Address,
        approvals: &'a [Approval],
        at: BlockRef,
    ) -> BoxFuture<'a, Result<CheckedAllowances, AllowancesUnavailable>> {
        Box::pin(async move {
            let calls: Vec<ContractCall> = approvals.iter().map(|approval| call(owner, approval)).collect();
            if calls.is_empty() {
                return Ok(CheckedAllowances { block: at.number, values: Vec::new() });
            }
            let called = timeout(NODE_TIMEOUT, self.node.calls(calls, CallBlock::At(at))).await;
            let called = called.map_err(|_| AllowancesUnavailable::Timeout)??;
            let values =
                approvals.iter().zip(&called.results).map(|(approval, result)| value(approval, result)).collect();
            Ok(CheckedAllowances { block: called.block.unwrap_or(at.number), values })
        })
    }
}

fn call(owner: Address, approval: &Approval) -> ContractCall {
    let (owner, spender) = (owner.into_word(), approval.spender.into_word());
    let data = match approval.scope {
        ApprovalScope::Amount => [&ALLOWANCE[..], owner.as_slice(), spender.as_slice()].concat(),
        ApprovalScope::Id(id) => [&GET_APPROVED[..], &id.to_be_bytes::<32>()].concat(),
        ApprovalScope::All => [&IS_APPROVED_FOR_ALL[..], owner.as_slice(), spender.as_slice()].concat(),
    };
    ContractCall { to: approval.token, data: Bytes::from(data) }
}

fn value(approval: &Approval, result: &CallResult) -> Option<U256> {
    let word = match result {
        CallResult::Returned(bytes) => U256::from_be_bytes(<[u8; 32]>::try_from(bytes.as_ref()).ok()?),
        CallResult::Reverted => match approval.scope {
            // The id was burned, so nobody is approved for it.
            ApprovalScope::Id(_) => return Some(U256::ZERO),
            ApprovalScope::Amount | ApprovalScope::All => return None,
        },
    };
    match approval.scope {
        ApprovalScope::Amount => Some(word),
        ApprovalScope::Id(_) => {
            let is_spender = word == U256::from_be_bytes(approval.spender.into_word().0);
            Some(U256::from(u8::from(is_spender)))
        }
        ApprovalScope::All => Some(word).filter(|word| *word <= U256::ONE),
    }
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;

    fn approval(scope: ApprovalScope) -> Approval {
        Approval {
            token: Address::repeat_byte(3),
            token_kind: None,
            token_name: None,
            token_symbol: None,
            token_decimals: None,
            spender: Address::repeat_byte(2),
            scope,
            value: U256::ONE,
            tx_hash: B256::ZERO,
            block_number: 1,
            timestamp: 0,
        }
    }

    #[test]
    fn each_scope_has_its_function_and_its_answer() {
        let returned = |word: U256| CallResult::Returned(word.to_be_bytes::<32>().to_vec().into());
        let spender = U256::from_be_bytes(Address::repeat_byte(2).into_word().0);
        let (amount, id, all) = (ApprovalScope::Amount, ApprovalScope::Id(U256::from(7)), ApprovalScope::All);
        for (scope, length) in [(amount, 68), (id, 36), (all, 68)] {
            assert_eq!(call(Address::repeat_byte(1), &approval(scope)).data.len(), length);
        }
        assert_eq!(value(&approval(amount), &returned(U256::MAX)), Some(U256::MAX));
        assert_eq!(value(&approval(amount), &CallResult::Reverted), None);
        assert_eq!(value(&approval(amount), &CallResult::Returned(Bytes::new())), None, "no contract");
        assert_eq!(value(&approval(id), &returned(spender)), Some(U256::ONE));
        assert_eq!(value(&approval(id), &returned(U256::ZERO)), Some(U256::ZERO));
        assert_eq!(value(&approval(id), &CallResult::Reverted), Some(U256::ZERO));
        assert_eq!(value(&approval(all), &returned(U256::ONE)), Some(U256::ONE));
        assert_eq!(value(&approval(all), &returned(U256::from(2))), None);
    }
}
