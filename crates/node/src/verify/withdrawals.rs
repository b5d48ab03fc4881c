//! The withdrawals of a block against their root in the header, and as credits.

use alloy_rlp::Encodable;
use alloy_trie::{EMPTY_ROOT_HASH, root::ordered_trie_root_encoded};
use domain::CreditEvent;

use super::{BlockCheck, Contradiction, header, rlp, transaction::is_deposit};
use crate::decode::{RawBlock, RawWithdrawal};

/// A chain that takes deposits from another one has no validators of its own: its root is that of messages to the other chain.
pub(super) fn check(block: &RawBlock) -> Result<(), Contradiction> {
    let Some(root) = header::trie_root(&block.withdrawals_root).filter(|root| !root.is_zero()) else { return Ok(()) };
    let withdrawals = block.withdrawals.as_deref().unwrap_or_default();
    if withdrawals.is_empty() && (root == EMPTY_ROOT_HASH || block.transactions.first().is_some_and(is_deposit)) {
        return Ok(());
    }
    let encoded: Vec<Vec<u8>> = withdrawals.iter().map(encode).collect();
    let found = ordered_trie_root_encoded(&encoded);
    if found == root {
        return Ok(());
    }
    let what = match withdrawals.len() {
        0 => "the block has no withdrawals, but its root is not the empty root".to_owned(),
        _ => format!("the header has {root:#x}, computed {found:#x}"),
    };
    Err(Contradiction { check: BlockCheck::WithdrawalsRoot, what })
}

fn encode(withdrawal: &RawWithdrawal) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    rlp::list(&mut out, |out| {
        withdrawal.index.0.encode(out);
        withdrawal.validator_index.0.encode(out);
        withdrawal.address.0.encode(out);
        withdrawal.amount.0.encode(out);
    });
    out
}

pub(super) fn credits(block: &RawBlock) -> impl Iterator<Item = CreditEvent> {
    block.withdrawals.iter().flatten().map(|withdrawal| {
        let RawWithdrawal { index, validator_index, address, amount } = withdrawal;
        CreditEvent::withdrawal(index.0, validator_index.0, address.0, amount.0)
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, b256};
    use alloy_trie::EMPTY_ROOT_HASH;
    use serde_json::json;

    use super::*;
    use crate::decode::decode;

    /// The block with these withdrawals, and the root that its header has.
    fn block(withdrawals: serde_json::Value, root: alloy_primitives::B256, tx_type: &str) -> RawBlock {
        let mut block: serde_json::Value =
            serde_json::from_str(include_str!("../../fixtures/mainnet.block.json")).unwrap();
        block["result"]["withdrawals"] = withdrawals;
        block["result"]["withdrawalsRoot"] = json!(root);
        block["result"]["transactions"][0]["type"] = json!(tx_type);
        decode(block.to_string().as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_withdrawal_is_proven_by_its_root() {
        let one =
            json!([{"index": "0x1", "validatorIndex": "0x2", "address": Address::repeat_byte(3), "amount": "0x4"}]);
        let encoded = encode(&block(one.clone(), EMPTY_ROOT_HASH, "0x0").withdrawals.unwrap()[0]);
        assert_eq!(alloy_primitives::hex::encode(&encoded), format!("d8010294{}04", "03".repeat(20)));
        let root = ordered_trie_root_encoded(&[encoded]);
        let proven = block(one.clone(), root, "0x0");
        assert_eq!(check(&proven), Ok(()));
        let paid: Vec<CreditEvent> = credits(&proven).collect();
        assert_eq!(paid, [CreditEvent::withdrawal(1, 2, Address::repeat_byte(3), 4)]);
        let other = b256!("0x1111111111111111111111111111111111111111111111111111111111111111");
        assert!(check(&block(one, other, "0x0")).is_err());
    }

    #[test]
    fn withdrawals_that_a_node_leaves_out_are_noticed() {
        let root = alloy_primitives::B256::repeat_byte(9);
        for none in [json!([]), json!(null)] {
            assert!(check(&block(none.clone(), root, "0x2")).is_err());
            assert_eq!(check(&block(none.clone(), root, "0x7e")), Ok(()), "a rollup has another root there");
            assert_eq!(check(&block(none, EMPTY_ROOT_HASH, "0x2")), Ok(()));
        }
    }
}
