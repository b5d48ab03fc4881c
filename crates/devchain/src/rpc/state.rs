//! Account state at a block.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, U64, U256};

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
};
use crate::{DevChain, state::Account};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_getBalance", typed(get_balance));
    methods.insert("eth_getCode", typed(get_code));
    methods.insert("eth_getStorageAt", typed(get_storage_at));
    methods.insert("eth_getTransactionCount", typed(get_transaction_count));
}

fn get_balance(chain: &DevChain, mut params: Params) -> Result<U256, RpcError> {
    let address = params.required(0, "address")?;
    let at = block_param(&mut params, 1)?;
    account(chain, at, address, |account| account.balance)
}

fn get_code(chain: &DevChain, mut params: Params) -> Result<Bytes, RpcError> {
    let address = params.required(0, "address")?;
    let at = block_param(&mut params, 1)?;
    account(chain, at, address, |account| account.code().original_bytes())
}

fn get_storage_at(chain: &DevChain, mut params: Params) -> Result<B256, RpcError> {
    let address = params.required(0, "address")?;
    let slot: U256 = params.required(1, "storage slot")?;
    let at = block_param(&mut params, 2)?;
    account(chain, at, address, |account| B256::from(account.storage(slot)))
}

fn get_transaction_count(chain: &DevChain, mut params: Params) -> Result<U64, RpcError> {
    let address = params.required(0, "address")?;
    let at = block_param(&mut params, 1)?;
    if at == BlockId::pending() {
        return Ok(U64::from(chain.next_nonce(address)));
    }
    account(chain, at, address, |account| U64::from(account.nonce))
}

/// The block parameter; the latest block by default.
pub(super) fn block_param(params: &mut Params, index: usize) -> Result<BlockId, RpcError> {
    let given = params.optional(index, "block")?;
    Ok(given.unwrap_or(BlockId::Number(BlockNumberOrTag::Latest)))
}

fn account<T: Default>(
    chain: &DevChain,
    at: BlockId,
    address: Address,
    of: impl FnOnce(&Account) -> T,
) -> Result<T, RpcError> {
    let snapshot = chain.snapshot(at)?;
    Ok(snapshot.world.account(address).map(of).unwrap_or_default())
}
