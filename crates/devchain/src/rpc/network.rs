//! Network and client information.

use alloy_primitives::{Address, U64};

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
};
use crate::{DevChain, Signer};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_chainId", typed(chain_id));
    methods.insert("eth_syncing", typed(syncing));
    methods.insert("eth_accounts", typed(accounts));
    methods.insert("net_version", typed(version));
    methods.insert("net_listening", typed(listening));
    methods.insert("web3_clientVersion", typed(client_version));
}

fn chain_id(chain: &DevChain, _: Params) -> Result<U64, RpcError> {
    Ok(U64::from(chain.chain_id()))
}

fn syncing(_: &DevChain, _: Params) -> Result<bool, RpcError> {
    Ok(false)
}

fn accounts(chain: &DevChain, _: Params) -> Result<Vec<Address>, RpcError> {
    let signers = chain.accounts().iter();
    Ok(signers.map(Signer::address).collect())
}

fn version(chain: &DevChain, _: Params) -> Result<String, RpcError> {
    Ok(chain.chain_id().to_string())
}

fn listening(_: &DevChain, _: Params) -> Result<bool, RpcError> {
    Ok(true)
}

fn client_version(_: &DevChain, _: Params) -> Result<String, RpcError> {
    Ok(concat!("devchain/v", env!("CARGO_PKG_VERSION"), "/rust").to_owned())
}
