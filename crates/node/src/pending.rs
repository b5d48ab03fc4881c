//! Transactions that are not in an indexed block.

use domain::{B256, PendingTransaction};
use serde::Deserialize;

use crate::{
    NodeError,
    decode::{Account20, Hash, HexBytes, Price, Quantity, Wide},
    upstream::{Call, Upstream},
};

const TRANSACTION: &str = "eth_getTransactionByHash";

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
    form: Option<Quantity>,
    input: HexBytes,
}

/// None: the node does not know the transaction.
pub(crate) async fn fetch_pending(upstream: &Upstream, hash: B256) -> Result<Option<PendingTransaction>, NodeError> {
    let call = Call::new(TRANSACTION, format!(r#"["{hash:#x}"]"#));
    let Some(found) = upstream.call::<RawPending>(&call).await? else { return Ok(None) };
    if found.hash.0 != hash {
        return Err(NodeError::invalid_response(TRANSACTION, "another transaction"));
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
        form: found.form.map_or(0, |form| form.0),
        input: found.input.0,
    }))
}
