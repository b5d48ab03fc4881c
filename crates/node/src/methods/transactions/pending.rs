//! Transactions that are not in an indexed block.

use domain::{B256, PendingTransaction};
use serde::Deserialize;

use crate::{
    decode::{Account20, Hash, HexBytes, Price, Quantity, Wide},
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPending {
    hash: Hash,
    block_number: Option<Quantity>,
    from: Account20,
    to: Option<Account20>,
    value: Wide,
    nonce: Quantity,
    gas: Quantity,
    gas_price: Option<Price>,
    max_fee_per_gas: Option<Price>,
    max_priority_fee_per_gas: Option<Price>,
    #[serde(rename = "type")]
    tx_type: Option<Quantity>,
    input: HexBytes,
}

/// None: the node does not know the transaction.
pub(crate) async fn fetch_pending(upstream: &Upstream, hash: B256) -> Result<Option<PendingTransaction>, NodeError> {
    let call = Call::new(RpcMethod::GetTransactionByHash, format!(r#"["{hash:#x}"]"#));
    let Some(found) = upstream.call::<RawPending>(&call).await? else { return Ok(None) };
    if found.hash.0 != hash {
        return Err(NodeError::invalid_response(RpcMethod::GetTransactionByHash, "another transaction"));
    }
    let max_fee_per_gas = found.max_fee_per_gas.map(|price| price.0);
    Ok(Some(PendingTransaction {
        hash,
        block_number: found.block_number.map(|number| number.0),
        from: found.from.0,
        to: found.to.map(|to| to.0),
        value: found.value.0,
        nonce: found.nonce.0,
        gas_limit: found.gas.0,
        gas_price: max_fee_per_gas.or(found.gas_price.map(|price| price.0)),
        max_fee_per_gas,
        max_priority_fee_per_gas: found.max_priority_fee_per_gas.map(|price| price.0),
        tx_type: found.tx_type.map_or(0, |tx_type| tx_type.0),
        input: found.input.0,
    }))
}
