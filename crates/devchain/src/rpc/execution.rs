//! Calls and gas estimates.

use alloy_primitives::{Bytes, TxKind, U64};
use alloy_rpc_types_eth::TransactionRequest;
use serde_json::Value;

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
    state::block_param,
};
use crate::{Call, DevChain};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_call", typed(call));
    methods.insert("eth_estimateGas", typed(estimate_gas));
}

fn call(chain: &DevChain, mut params: Params) -> Result<Bytes, RpcError> {
    let call = call_param(&mut params)?;
    let at = block_param(&mut params, 1)?;
    Ok(chain.call_at(&call, at)?)
}

fn estimate_gas(chain: &DevChain, mut params: Params) -> Result<U64, RpcError> {
    let call = call_param(&mut params)?;
    let at = block_param(&mut params, 1)?;
    Ok(U64::from(chain.estimate_gas_at(&call, at)?))
}

fn call_param(params: &mut Params) -> Result<Call, RpcError> {
    let request: TransactionRequest = params.required(0, "call")?;
    let overrides: Option<Value> = params.optional(2, "state overrides")?;
    if overrides.is_some_and(|given| given.as_object().is_none_or(|fields| !fields.is_empty())) {
        let message = "state overrides are not supported";
        return Err(RpcError::invalid_params(message));
    }
    Ok(Call {
        from: request.from.unwrap_or_default(),
        to: request.to.unwrap_or(TxKind::Create),
        value: request.value.unwrap_or_default(),
        data: request.input.into_input().unwrap_or_default(),
        gas: request.gas,
        access_list: request.access_list.unwrap_or_default(),
        authorizations: request.authorization_list.unwrap_or_default(),
    })
}
