//! Topics of the supported events.

use alloy_primitives::{B256, b256};

/// `Transfer(address,address,uint256)`, of BEP20 and BEP721.
pub(super) const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// `TransferSingle(address,address,address,uint256,uint256)`
pub(super) const TRANSFER_SINGLE: B256 = b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");
/// `TransferBatch(address,address,address,uint256[],uint256[])`
pub(super) const TRANSFER_BATCH: B256 = b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb");
/// `Approval(address,address,uint256)`, of BEP20 and BEP721.
pub(super) const APPROVAL: B256 = b256!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925");
/// `ApprovalForAll(address,address,bool)`, of BEP721 and BEP1155.
pub(super) const APPROVAL_FOR_ALL: B256 = b256!("17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31");
/// `Swap(address,uint256,uint256,uint256,uint256,address)`, of Uniswap v2 and its forks.
pub(super) const SWAP_V2: B256 = b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822");
/// `Swap(address,address,int256,int256,uint160,uint128,int24)`, of Uniswap v3 and its forks.
pub(super) const SWAP_V3: B256 = b256!("c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67");
/// `Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)`, of PancakeSwap v3.
pub(super) const SWAP_V3_WITH_FEES: B256 = b256!("19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83");
/// `Deposit(address,uint256)`, of the wrapped coin.
pub(super) const DEPOSIT: B256 = b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c");
/// `Withdrawal(address,uint256)`, of the wrapped coin.
pub(super) const WITHDRAWAL: B256 = b256!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65");

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn each_is_the_hash_of_its_signature() {
        for (hash, signature) in [
            (TRANSFER, "Transfer(address,address,uint256)"),
            (TRANSFER_SINGLE, "TransferSingle(address,address,address,uint256,uint256)"),
            (TRANSFER_BATCH, "TransferBatch(address,address,address,uint256[],uint256[])"),
            (APPROVAL, "Approval(address,address,uint256)"),
            (APPROVAL_FOR_ALL, "ApprovalForAll(address,address,bool)"),
            (SWAP_V2, "Swap(address,uint256,uint256,uint256,uint256,address)"),
            (SWAP_V3, "Swap(address,address,int256,int256,uint160,uint128,int24)"),
            (SWAP_V3_WITH_FEES, "Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)"),
            (DEPOSIT, "Deposit(address,uint256)"),
            (WITHDRAWAL, "Withdrawal(address,uint256)"),
        ] {
            assert_eq!(hash, keccak256(signature), "{signature}");
        }
    }
}
